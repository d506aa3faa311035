"""Several texts at once: each as if it were alone."""

from typing import Any

import numpy as np
import pytest

from llm.config import ModelConfig
from llm.errors import UsageError
from llm.model import Model
from llm.plans import KernelSet
from llm.sampling import Sampling
from tests.llm import tiny

PROMPTS = [[7, 3, 250, 99, 4], [5], [250, 250, 1, 2, 3, 4, 5]]


@pytest.mark.parametrize("kernels", ["gpu", "cpu"])
@pytest.mark.parametrize("config", [tiny.LLAMA, tiny.QWEN2], ids=["llama", "qwen2"])
def test_each_text_is_like_numpys(device: Any, config: ModelConfig, kernels: KernelSet) -> None:
    """Prompts of different lengths, so that the texts stand at different places of their prompts and caches."""
    weights = tiny.random_weights(config)
    model = Model(device, config, weights, "fused", kernels=kernels, texts=3, max_context=20)
    model.start_all(PROMPTS)
    for _ in range(12):
        model.step()
    for text, prompt in enumerate(PROMPTS):
        made = tiny.Reference(config, weights).greedy(prompt, 13 - len(prompt))
        assert model.read_tokens(1, 12, text) == [*prompt[1:], *made]
        reference = tiny.Reference(config, weights)
        for token in [*prompt, *made][:12]:
            logits = reference.logits(token)
        np.testing.assert_allclose(model.read_logits(text), logits, atol=2e-5, rtol=1e-4)


def test_texts_draw_apart_and_as_if_alone(device: Any) -> None:
    """Text k draws what a text alone draws with the k-th seed."""
    weights = tiny.random_weights(tiny.LLAMA)
    together = Model(device, tiny.LLAMA, weights, "fused", sampling=Sampling(1.5, 40, 0.9, seed=3), texts=2)
    together.start([5, 6])
    for _ in range(10):
        together.step()
    for text in (0, 1):
        alone = Model(device, tiny.LLAMA, weights, "fused", sampling=Sampling(1.5, 40, 0.9, seed=3 + text))
        alone.start([5, 6])
        for _ in range(10):
            alone.step()
        assert together.read_tokens(1, 10, text) == alone.read_tokens(1, 10)
    assert together.read_tokens(1, 10, 0) != together.read_tokens(1, 10, 1)


def test_a_stopped_text_stops_alone(device: Any) -> None:
    weights = tiny.random_weights(tiny.LLAMA)
    model = Model(device, tiny.LLAMA, weights, "fused", texts=2, max_context=20)
    first, second = (tiny.Reference(tiny.LLAMA, weights).greedy(prompt, 8) for prompt in ([9, 8], [1, 2]))
    stop = next(token for token in first if token not in second)
    model.start_all([[9, 8], [1, 2]], stops=[stop])
    for _ in range(9):
        model.step()
    kept = first.index(stop) + 1
    assert model.read_tokens(2, 8, 0) == [*first[:kept], *[0] * (8 - kept)]
    assert model.read_tokens(2, 8, 1) == second


def test_a_prompt_each(device: Any) -> None:
    model = Model(device, tiny.LLAMA, tiny.random_weights(tiny.LLAMA), "fused", texts=2)
    with pytest.raises(UsageError, match="1 prompts for 2 texts"):
        model.start_all([[1]])


def test_only_the_fused_plan_takes_several(device: Any) -> None:
    with pytest.raises(UsageError, match="go with the plan 'fused', not with 'paper'"):
        Model(device, tiny.LLAMA, {}, "paper", texts=2)
