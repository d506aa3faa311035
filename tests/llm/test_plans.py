"""Dispatch counts of the plans, category by category, and what every plan must hold to."""

from typing import Any

import attrs
import pytest

from llm.config import ModelConfig
from llm.errors import UsageError
from llm.plans import KERNEL_SETS, PLANS, KernelSet, make_plan
from llm.plans.plan import MAX_WORKGROUPS, workgroup_grid
from llm.shaders import FOLDER
from llm.weights import expected_shapes
from tests.llm import tiny

SMOLLM2 = attrs.evolve(
    tiny.LLAMA, layers=30, hidden=576, heads=9, kv_heads=3, head_dim=64, ffn=1536, vocab=49152, context=8192
)
QWEN = attrs.evolve(
    tiny.QWEN2, layers=24, hidden=896, heads=14, kv_heads=2, head_dim=64, ffn=4864, vocab=151936, tied_output=True
)
# The paper's categories for Qwen2.5-0.5B.
PUBLISHED = {
    "linear": 169,
    "mul": 220,
    "add": 145,
    "cat": 97,
    "pow": 49,
    "mean": 49,
    "rsqrt": 49,
    "neg": 48,
    "sdpa": 24,
    "silu": 24,
    "embedding": 1,
    "matmul": 1,
}
EVERY_PLAN = pytest.mark.parametrize(
    ("name", "kernels", "config"),
    [(n, k, c) for n in PLANS for k in KERNEL_SETS for c in (SMOLLM2, QWEN, tiny.LLAMA, tiny.QWEN2)],
    ids=lambda value: getattr(value, "name", value),
)


@pytest.mark.parametrize("kernels", KERNEL_SETS)
def test_unfused_is_the_papers(kernels: KernelSet) -> None:
    plan = make_plan("unfused", QWEN, kernels, 128)
    assert plan.counts() == PUBLISHED
    assert len(plan.forward) == 876
    assert len(plan.sampling) == 2


def test_unfused_smollm2() -> None:
    assert len(make_plan("unfused", SMOLLM2, "gpu", 128).forward) == 1092


@EVERY_PLAN
def test_buffers_are_all_known(name: str, kernels: KernelSet, config: ModelConfig) -> None:
    plan = make_plan(name, config, kernels, 128)
    known = {*expected_shapes(config), *plan.scratch, "state", "prompt", "tokens", "rotary.table"}
    used = {buffer for op in plan.ops for buffer in op.buffers}
    assert used <= known
    assert used >= set(expected_shapes(config))


@EVERY_PLAN
def test_nothing_is_bound_twice_in_an_op(name: str, kernels: KernelSet, config: ModelConfig) -> None:
    for op in make_plan(name, config, kernels, 128).ops:
        assert len(set(op.buffers)) == len(op.buffers), op


@EVERY_PLAN
def test_names_and_sizes(name: str, kernels: KernelSet, config: ModelConfig) -> None:
    plan = make_plan(name, config, kernels, 128)
    assert len({op.name for op in plan.ops}) == len(plan.ops)
    for op in plan.ops:
        assert (FOLDER / f"{op.kernel}.wgsl").is_file()
        assert all(1 <= count <= MAX_WORKGROUPS for count in op.workgroups), op


@pytest.mark.parametrize("count", [1, 65535, 65536, 70001, 10_000_000])
def test_workgroup_grid_covers(count: int) -> None:
    x, y, z = workgroup_grid(count)
    assert z == 1
    assert count <= x * y < count + y
    assert x <= MAX_WORKGROUPS


def test_unknown_plan() -> None:
    with pytest.raises(UsageError, match="no plan 'best'; there are: unfused"):
        make_plan("best", tiny.LLAMA, "gpu", 8)


def test_every_shader_says_what_it_does() -> None:
    for path in FOLDER.glob("*.wgsl"):
        assert path.read_text().startswith("// "), path


def test_every_shader_is_used() -> None:
    configs: list[Any] = [SMOLLM2, QWEN, tiny.QWEN2]
    used = {op.kernel for n in PLANS for k in KERNEL_SETS for c in configs for op in make_plan(n, c, k, 64).ops}
    assert used == {path.stem for path in FOLDER.glob("*.wgsl")}
