"""Dispatch counts of the plans, category by category, and what every plan must hold to."""

from typing import Any

import attrs
import pytest

from llm.config import ModelConfig
from llm.errors import UsageError
from llm.experiments.count import NOTHING
from llm.plans import KERNEL_SETS, PLANS, KernelSet, Op, Plan, Target, make_plan
from llm.plans.barriers import barriers
from llm.plans.plan import MAX_WORKGROUPS, workgroup_grid
from llm.plans.prefill import prefill
from llm.shaders import FOLDER, PARTS
from llm.tensors import expected_shapes
from tests.llm import tiny

SMOLLM2 = attrs.evolve(
    tiny.LLAMA, layers=30, hidden=576, heads=9, kv_heads=3, head_dim=64, ffn=1536, vocab=49152, context=8192
)
QWEN = attrs.evolve(
    tiny.QWEN2, layers=24, hidden=896, heads=14, kv_heads=2, head_dim=64, ffn=4864, vocab=151936, tied_output=True
)
# The K formats have blocks of 256 columns.
WIDE = attrs.evolve(tiny.QWEN2, name="wide", hidden=512, heads=8, head_dim=64, ffn=768)
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
# The three fusions: 48 norms for 288 operations, gate + up + silu for 72, k + v for 48.
PAPER = {
    "linear": 169 - 24 - 24,
    "mul": 220 - 96,
    "add": 145 - 48,
    "cat": 97,
    "pow": 1,
    "mean": 1,
    "rsqrt": 1,
    "neg": 48,
    "sdpa": 24,
    "norm": 48,
    "embedding": 1,
    "matmul": 1,
}
SCRATCH_LIKE = {"state", "prompt", "stops", "tokens", "rotary.table", "sampling"}
EVERY_PLAN = pytest.mark.parametrize(
    ("name", "kernels", "config"),
    [(n, k, c) for n in (*PLANS, "prefill") for k in KERNEL_SETS for c in (SMOLLM2, QWEN, tiny.LLAMA, tiny.QWEN2)],
    ids=lambda value: getattr(value, "name", value),
)


def plan_of(name: str, config: ModelConfig, kernels: KernelSet, **options: Any) -> Plan:
    target = Target(kernels=kernels, capacity=128, **{"binding_limit": 1 << 30, **options})
    return prefill(config, target, 32) if name == "prefill" else make_plan(name, config, target)


@pytest.mark.parametrize("kernels", KERNEL_SETS)
def test_unfused_is_the_papers(kernels: KernelSet) -> None:
    plan = plan_of("unfused", QWEN, kernels)
    assert plan.counts() == PUBLISHED
    assert len(plan.forward) == 876
    assert len(plan.sampling) == 2


@pytest.mark.parametrize("kernels", KERNEL_SETS)
def test_the_papers_fusions(kernels: KernelSet) -> None:
    plan = plan_of("paper", QWEN, kernels)
    assert plan.counts() == PAPER
    assert len(plan.forward) == 564
    assert len(plan_of("paper", SMOLLM2, kernels).forward) == 702


@pytest.mark.parametrize(("kernels", "layer", "outside"), [("gpu", 5, 2), ("gpu-subgroups", 5, 2), ("cpu", 8, 3)])
def test_fused_is_small(kernels: KernelSet, layer: int, outside: int) -> None:
    for config in (QWEN, SMOLLM2):
        assert len(plan_of("fused", config, kernels).forward) == layer * config.layers + outside


@pytest.mark.parametrize(("name", "levels", "outside"), [("unfused", 26, 11), ("paper", 15, 11), ("fused", 5, 2)])
def test_only_what_depends_waits(name: str, levels: int, outside: int) -> None:
    """A layer has as many barriers as its longest chain of operations has links."""
    plan = plan_of(name, QWEN, "gpu")
    assert barriers(plan.ops) == levels * QWEN.layers + outside


def test_barriers_follow_the_state_of_buffers() -> None:
    def op(*buffers: str, early: tuple[str, ...] = ()) -> Op:
        return Op("add", "add", "add", (), (), buffers, (1, 1, 1), early)

    # The kernel reads two buffers and writes the third.
    assert barriers([op("a", "b", "c"), op("a", "b", "d")]) == 0
    assert barriers([op("a", "b", "c"), op("c", "b", "d")]) == 1
    assert barriers([op("a", "b", "c"), op("c", "b", "d"), op("c", "b", "e")]) == 1
    assert barriers([op("a", "b", "c"), op("a", "b", "c")]) == 1
    assert barriers([op("a", "b", "c"), op("d", "e", "a")]) == 1
    two = [op("a", "b", "c"), op("a", "b", "d")]
    assert barriers([*two, op("c", "b", "e"), op("d", "b", "f")]) == 2
    assert barriers([*two, op("c", "b", "e", early=("d",)), op("d", "b", "f")]) == 1


def test_unfused_smollm2() -> None:
    assert len(plan_of("unfused", SMOLLM2, "gpu").forward) == 1092


def test_a_table_larger_than_a_binding_is_cut() -> None:
    """Qwen's embedding, 151,936 rows of 3584 bytes, at the limit that every device has."""
    for name in PLANS:
        plan = plan_of(name, QWEN, "gpu", binding_limit=128 << 20)
        cut = [stored for stored in plan.weights.values() if stored.sources == ("embedding",)]
        assert len(cut) == 5
        assert sum(stored.rows for stored in cut) == QWEN.vocab
        assert all(stored.nbytes <= 128 << 20 and stored.first % 4 == 0 for stored in plan.weights.values())


def test_sampled_plans_draw() -> None:
    assert plan_of("fused", QWEN, "gpu", sampled=True).sampling[-1].kernel == "sample"


@EVERY_PLAN
def test_buffers_are_all_known(name: str, kernels: KernelSet, config: ModelConfig) -> None:
    plan = plan_of(name, config, kernels)
    used = {buffer for op in plan.ops for buffer in (*op.buffers, *op.early)}
    assert used <= {*plan.weights, *plan.scratch, *SCRATCH_LIKE}
    assert not set(plan.weights) & {*plan.scratch, *SCRATCH_LIKE}
    sources = {source for stored in plan.weights.values() for source in stored.sources}
    assert sources <= set(expected_shapes(config))
    if name != "prefill":
        assert sources == set(expected_shapes(config))


@EVERY_PLAN
def test_nothing_is_bound_twice_in_an_op(name: str, kernels: KernelSet, config: ModelConfig) -> None:
    for op in plan_of(name, config, kernels).ops:
        bound = (*op.buffers, *op.early)
        assert len(set(bound)) == len(bound) <= 8, op  # 8: what every device binds


@EVERY_PLAN
def test_names_and_sizes(name: str, kernels: KernelSet, config: ModelConfig) -> None:
    plan = plan_of(name, config, kernels)
    assert len({op.name for op in plan.ops}) == len(plan.ops)
    for op in plan.ops:
        assert (FOLDER / f"{op.kernel}.wgsl").is_file()
        assert all((PARTS / f"{part}.wgsl").is_file() for part in op.parts)
        assert all(1 <= count <= MAX_WORKGROUPS for count in op.workgroups), op


@pytest.mark.parametrize("count", [1, 65535, 65536, 70001, 10_000_000])
def test_workgroup_grid_covers(count: int) -> None:
    x, y, z = workgroup_grid(count)
    assert z == 1
    assert count <= x * y < count + y
    assert x <= MAX_WORKGROUPS


def test_unknown_plan() -> None:
    with pytest.raises(UsageError, match="no plan 'best'; there are: unfused, paper, fused"):
        plan_of("best", tiny.LLAMA, "gpu")


def test_every_shader_says_what_it_does() -> None:
    for path in (*FOLDER.glob("*.wgsl"), *PARTS.glob("*.wgsl")):
        assert path.read_text().startswith("// "), path


def test_every_shader_is_used() -> None:
    plans = [
        plan_of(name, config, kernels, sampled=sampled, half=half, formats=dict.fromkeys(expected_shapes(config), kind))
        for name in (*PLANS, "prefill")
        for kernels in KERNEL_SETS
        for config in (SMOLLM2, QWEN, tiny.QWEN2, WIDE)
        for sampled, half, kind in (
            (False, False, "f32"),
            (True, False, "f16"),
            (False, True, "f16"),
            (False, True, "q4"),
            (False, True, "q8"),
            (False, True, "q4k"),
            (False, True, "q6k"),
        )
        if config is WIDE or kind not in ("q4k", "q6k")
    ]
    ops = [NOTHING, *(op for plan in plans for op in plan.ops)]
    assert {op.kernel for op in ops} == {path.stem for path in FOLDER.glob("*.wgsl")}
    assert {part for op in ops for part in op.parts} == {path.stem for path in PARTS.glob("*.wgsl")}
