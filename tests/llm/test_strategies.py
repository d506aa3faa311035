"""The real model by every strategy, against the golden values."""

import numpy as np
import pytest

from llm.generate import Generation
from llm.golden import golden_prompts
from llm.loading import LoadedModel
from llm.plans import PLANS
from llm.strategies import AHEAD, REPLAYED, STRATEGIES, runner

GOLDEN = golden_prompts("smollm2-135m")
every_strategy = pytest.mark.parametrize("strategy", STRATEGIES)


@every_strategy
def test_counts(smollm2: LoadedModel, strategy: str) -> None:
    with runner(smollm2.model, strategy) as run:
        passes = 1094 if strategy in ("eager", "per-op") else 1
        assert (run.dispatches, run.passes) == (1094, passes)
        # Replays also copy the tokens to where they can be read.
        assert run.submits in (passes, passes + 1)


@pytest.mark.parametrize("strategy", REPLAYED)
def test_replayed_text_is_golden(smollm2: LoadedModel, strategy: str) -> None:
    _assert_golden(smollm2, strategy, "p1", tokens=4)


@pytest.mark.parametrize(("plan", "counts"), [("paper", 702), ("fused", 243)])
def test_counts_of_captured_plans(smollm2: LoadedModel, plan: str, counts: int) -> None:
    """The paper's numbers, from a real graph; its text is the golden one."""
    mine = smollm2.with_plan(plan)
    with runner(mine.model, AHEAD) as run:
        assert run.dispatches == counts + 2
    _assert_golden(mine, AHEAD, "p1", tokens=6)


@pytest.mark.long
@every_strategy
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("name", GOLDEN)
def test_whole_texts_are_golden(smollm2: LoadedModel, plan: str, strategy: str, name: str) -> None:
    _assert_golden(smollm2.with_plan(plan), strategy, name, tokens=len(GOLDEN[name].greedy))


def _assert_golden(loaded: LoadedModel, strategy: str, name: str, tokens: int) -> None:
    golden, model = GOLDEN[name], loaded.model
    with runner(model, strategy) as run:
        assert list(Generation(model, run, golden.ids, 1)) == [golden.greedy[0]]
        np.testing.assert_allclose(model.read_logits()[::64], golden.last_logits, atol=1e-3)
        assert list(run.stream(len(golden.ids), tokens - 1)) == list(golden.greedy[1:tokens])
