"""Prompts in batches: the same logits and tokens as one by one, whatever the length."""

from typing import Any

import numpy as np
import pytest

from llm.model import PREFILL_TOKENS, Model
from llm.plans import KernelSet
from llm.store import WeightStore
from tests.llm import tiny


@pytest.fixture(scope="module")
def store(device: Any) -> WeightStore:
    return WeightStore(device, tiny.random_weights(tiny.QWEN2))


@pytest.mark.parametrize("kernels", ["gpu", "cpu"])
@pytest.mark.parametrize("length", [1, 2, 9, 33, 47])
def test_like_one_by_one(device: Any, store: WeightStore, kernels: KernelSet, length: int) -> None:
    store = store if kernels == "cpu" else WeightStore(device, tiny.random_weights(tiny.QWEN2))
    model = Model(device, tiny.QWEN2, store, "fused", kernels=kernels)
    prompt = [int(token) for token in np.random.default_rng(length).integers(0, 259, length)]
    reference = tiny.Reference(tiny.QWEN2, tiny.random_weights(tiny.QWEN2))
    expected = [reference.logits(token) for token in prompt][-1]
    model.start(prompt)
    for tokens in model.batches(length):
        model.prefill(tokens)
    model.step()
    np.testing.assert_allclose(model.read_logits(), expected, atol=2e-5, rtol=1e-4)
    assert model.read_tokens(1, length)[: length - 1] == prompt[1:]


def test_near_the_end_of_the_context(device: Any, store: WeightStore) -> None:
    """A batch that reaches beyond the cache leaves what is there alone."""
    model = Model(device, tiny.QWEN2, store, "fused", kernels="cpu", max_context=20)
    prompt = list(range(20))
    model.start(prompt)
    for tokens in model.batches(20):
        model.prefill(tokens)
    model.step()
    reference = tiny.Reference(tiny.QWEN2, tiny.random_weights(tiny.QWEN2))
    expected = [reference.logits(token) for token in prompt][-1]
    np.testing.assert_allclose(model.read_logits(), expected, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("length", [1, 2, 8, 9, 10, 100, 513, 5000])
def test_batches_cover_the_prompt(device: Any, store: WeightStore, length: int) -> None:
    batches = Model(device, tiny.QWEN2, store, kernels="cpu").batches(length)
    assert sum(batches) >= length - 1
    assert sum(batches[:-1]) < max(1, length - 1)
    assert set(batches) <= set(PREFILL_TOKENS)
