"""The real model by every strategy, against the golden values."""

import numpy as np
import pytest

from llm.generate import Generation
from llm.golden import golden_prompts
from llm.loading import LoadedModel
from llm.strategies import REPLAYED, STRATEGIES, runner

GOLDEN = golden_prompts("smollm2-135m")
every_strategy = pytest.mark.parametrize("strategy", STRATEGIES)


@every_strategy
def test_counts(smollm2: LoadedModel, strategy: str) -> None:
    with runner(smollm2.model, strategy) as run:
        passes = 1 if strategy == "single-pass" else 1094
        assert (run.dispatches, run.passes, run.submits) == (1094, passes, passes)


@pytest.mark.parametrize("strategy", REPLAYED)
def test_replayed_text_is_golden(smollm2: LoadedModel, strategy: str) -> None:
    _assert_golden(smollm2, strategy, "p1", tokens=6)


@pytest.mark.long
@every_strategy
@pytest.mark.parametrize("name", GOLDEN)
def test_whole_texts_are_golden(smollm2: LoadedModel, strategy: str, name: str) -> None:
    _assert_golden(smollm2, strategy, name, tokens=len(GOLDEN[name].greedy))


def _assert_golden(loaded: LoadedModel, strategy: str, name: str, tokens: int) -> None:
    golden, model = GOLDEN[name], loaded.model
    with runner(model, strategy) as run:
        made = []
        for token in Generation(model, golden.ids, tokens, step=run.step):
            if not made:
                np.testing.assert_allclose(model.read_logits()[::64], golden.last_logits, atol=1e-3)
            made.append(token)
    assert made == list(golden.greedy[:tokens])
