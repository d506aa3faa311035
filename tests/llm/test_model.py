"""Whole decoders against numpy and the golden values; what the model code may not do."""

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pytest
from attrs import evolve

from llm.config import ModelConfig
from llm.device import HALF_FEATURE, open_device, subgroup_size
from llm.errors import ContextError, DeviceError, UsageError
from llm.golden import golden_prompts
from llm.loading import LoadedModel
from llm.model import DEFAULT_CONTEXT, Model
from llm.plans import PLANS, KernelSet
from llm.plans.shapes import BY_VENDOR, DEFAULT, Shape, Shapes, shapes_for
from llm.store import WeightStore
from tests.llm import tiny

GOLDEN = golden_prompts("smollm2-135m")
PROMPT = [7, 3, 250, 99, 4]
# Odd sizes, an output matrix of its own, a vocabulary that fills no vec4.
UNTIED_LLAMA = attrs.evolve(tiny.LLAMA, tied_output=False, heads=2, kv_heads=1, head_dim=12, vocab=261)


@pytest.fixture(scope="session")
def subgroup_device() -> Any:
    """A device with subgroups; skips where there are none."""
    device = open_device()
    if not subgroup_size(device):
        pytest.skip("this adapter has no regular subgroups")
    return device


@pytest.mark.parametrize("kernels", ["gpu", "cpu"])
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("config", [tiny.LLAMA, tiny.QWEN2, UNTIED_LLAMA], ids=["llama", "qwen2", "untied"])
def test_tiny_models_match_numpy(device: Any, config: ModelConfig, plan: str, kernels: KernelSet) -> None:
    _assert_like_numpy(device, config, plan, kernels)


@pytest.mark.parametrize(("plan", "kernels"), [("unfused", "cpu"), ("fused", "gpu")])
def test_on_dawn(dawn_device: Any, plan: str, kernels: KernelSet) -> None:
    _assert_like_numpy(dawn_device, tiny.QWEN2, plan, kernels)


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("config", [tiny.LLAMA, tiny.QWEN2], ids=["llama", "qwen2"])
def test_subgroups_match_numpy(subgroup_device: Any, config: ModelConfig, plan: str) -> None:
    _assert_like_numpy(subgroup_device, config, plan, "gpu-subgroups")


@pytest.mark.parametrize("half", [True, False], ids=["f16", "packed"])
@pytest.mark.parametrize("kernels", ["gpu", "cpu"])
def test_f16_as_a_type_or_packed(kernels: KernelSet, half: bool) -> None:
    """Weights of f16, by kernels that have the type where the device has it, and by those that unpack it."""
    device = open_device()
    if half and HALF_FEATURE not in device.features:
        pytest.skip("this adapter has no shader-f16")
    weights = tiny.random_weights(tiny.QWEN2)
    rounded = {n: v.astype(np.float16).astype(np.float32) if v.ndim == 2 else v for n, v in weights.items()}
    store, shapes = WeightStore(device, weights, "f16"), evolve(DEFAULT, half=half)
    model = Model(device, tiny.QWEN2, store, "fused", kernels=kernels, shapes=shapes)
    assert any("_half" in part for op in model.plan.ops for part in op.parts) == half
    reference = tiny.Reference(tiny.QWEN2, rounded)
    model.start(PROMPT)
    for token in PROMPT:
        model()
        np.testing.assert_allclose(model.read_logits(), reference.logits(token), atol=2e-5, rtol=1e-4)


@pytest.mark.long
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("vendor", BY_VENDOR)
def test_shapes_of_vendors_match_numpy(device: Any, vendor: str, plan: str) -> None:
    """Software drivers take seconds to compile large workgroups."""
    _assert_like_numpy(device, tiny.QWEN2, plan, "gpu", BY_VENDOR[vendor])


def test_an_adapter_gets_the_shapes_of_its_vendor(device: Any) -> None:
    shapes = shapes_for("NVIDIA Corporation NVIDIA H200")
    model = Model(device, tiny.QWEN2, tiny.random_weights(tiny.QWEN2), "fused", kernels="gpu", shapes=shapes)
    assert (shapes.splits, shapes.half) == (1, False)
    assert {op.kernel for op in model.plan.ops} >= {"sdpa", "matvec_add"}, "a head's cache is not shared"
    assert shapes_for("llvmpipe") == DEFAULT


def test_a_device_without_f16_unpacks(device: Any) -> None:
    """The tests' plain device asks for no features."""
    store = WeightStore(device, tiny.random_weights(tiny.LLAMA), "f16")
    model = Model(device, tiny.LLAMA, store)
    assert not model.target.half


def test_subgroups_are_refused_where_there_are_none(device: Any) -> None:
    with pytest.raises(UsageError, match="--kernels gpu-subgroups: this device has no subgroups"):
        Model(device, tiny.LLAMA, {}, kernels="gpu-subgroups")


def _assert_like_numpy(
    device: Any, config: ModelConfig, plan: str, kernels: KernelSet, shapes: Shapes | None = None
) -> None:
    weights = tiny.random_weights(config)
    model = Model(device, config, weights, plan, kernels=kernels, shapes=shapes)
    reference = tiny.Reference(config, weights)
    model.start(PROMPT)
    for token in PROMPT:
        model()
        np.testing.assert_allclose(model.read_logits(), reference.logits(token), atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("kernels", ["gpu", "cpu"])
def test_longer_than_an_attention_block(device: Any, kernels: KernelSet) -> None:
    """Block by block softmax: the text is longer than the positions that a kernel takes at once."""
    weights = tiny.random_weights(tiny.QWEN2)
    model = Model(device, tiny.QWEN2, weights, kernels=kernels, shapes=evolve(DEFAULT, attention=Shape(64, 1)))
    prompt = [int(token) for token in np.random.default_rng(3).integers(0, 259, 150)]
    reference = tiny.Reference(tiny.QWEN2, weights)
    expected = [reference.logits(token) for token in prompt]
    model.start(prompt)
    for _ in prompt:
        model.step()
    np.testing.assert_allclose(model.read_logits(), expected[-1], atol=2e-5, rtol=1e-4)


def test_tokens_are_kept(device: Any) -> None:
    """Several steps can be read at once, the prompt's among them."""
    model = Model(device, tiny.LLAMA, tiny.random_weights(tiny.LLAMA))
    tokens = _greedy(model, PROMPT, 4)
    assert model.read_tokens(1, len(PROMPT) + 3) == [*PROMPT[1:], *tokens]


def test_seek_returns_to_a_position(device: Any) -> None:
    model = Model(device, tiny.LLAMA, tiny.random_weights(tiny.LLAMA))
    tokens = _greedy(model, PROMPT, 6)
    model.seek(len(PROMPT) + 1, tokens[1])
    model.step()
    assert model.read_token() == tokens[2]


def _greedy(model: Model, prompt: Sequence[int], count: int) -> list[int]:
    model.start(prompt)
    for _ in prompt[:-1]:
        model.step()
    made = []
    for _ in range(count):
        model.step()
        made.append(model.read_token())
    return made


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_logits_and_first_tokens(smollm2: LoadedModel, name: str) -> None:
    golden, model = GOLDEN[name], smollm2.model
    model.start(golden.ids)
    for _ in golden.ids:
        model.step()
    np.testing.assert_allclose(model.read_logits()[::64], golden.last_logits, atol=1e-3)
    assert model.read_token() == golden.greedy[0]


def test_golden_text(smollm2: LoadedModel) -> None:
    tokens = _greedy(smollm2.model, GOLDEN["p1"].ids, 8)
    assert tokens == list(GOLDEN["p1"].greedy[:8])


@pytest.mark.parametrize(
    ("prompt", "words"),
    [([], "empty"), ([1] * 65, "65 tokens, but the context holds 64"), ([1, 259], "token 259 is outside")],
)
def test_prompts_that_do_not_fit(device: Any, prompt: list[int], words: str) -> None:
    model = Model(device, tiny.LLAMA, tiny.random_weights(tiny.LLAMA))
    with pytest.raises(ContextError, match=words):
        model.start(prompt)


@pytest.mark.parametrize("position", [-1, 64])
def test_seek_outside_the_context(device: Any, position: int) -> None:
    model = Model(device, tiny.LLAMA, tiny.random_weights(tiny.LLAMA))
    with pytest.raises(ContextError, match="outside the context of 64"):
        model.seek(position, 1)


@pytest.mark.parametrize("context", [0, 65])
def test_context_of_another_size(device: Any, context: int) -> None:
    with pytest.raises(ContextError, match="takes 1 to 64"):
        Model(device, tiny.LLAMA, {}, max_context=context)


def test_context_is_short_unless_asked_for(device: Any) -> None:
    config = attrs.evolve(tiny.LLAMA, context=DEFAULT_CONTEXT * 4)
    assert Model(device, config, tiny.random_weights(config)).max_context == DEFAULT_CONTEXT


def test_unknown_plan(device: Any) -> None:
    with pytest.raises(UsageError, match="no plan 'best'"):
        Model(device, tiny.LLAMA, {}, "best")


def test_tensor_larger_than_a_binding(device: Any) -> None:
    limit = device.limits["max-storage-buffer-binding-size"]
    config = attrs.evolve(tiny.LLAMA, context=1 << 24)
    with pytest.raises(DeviceError, match=r"'layer\.0\.[kv]_cache' takes \d+ MiB, but this device binds at most"):
        Model(device, config, {}, max_context=limit // 64 + 1)


def test_progress_is_told(device: Any) -> None:
    told: list[tuple[int, int]] = []
    weights = tiny.random_weights(tiny.LLAMA)
    Model(device, tiny.LLAMA, weights, progress=lambda done, total: told.append((done, total)))
    assert told == [(n + 1, 14) for n in range(14)]


def test_the_model_does_not_know_cmdgraph() -> None:
    code = "import sys, llm.model, llm.generate, llm.device; sys.exit('cmdgraph' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
