"""Each claim of the paper beside what we measured; `ours` has a function for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from cmdgraph.bench.report import ours, paper
from cmdgraph.bench.report.document import Table, plain
from cmdgraph.bench.report.evidence import Evidence, Machine
from cmdgraph.bench.report.figures import percent, times
from cmdgraph.bench.report.ours import Ours

__all__ = ["CLAIMS", "NOT_MEASURED", "OPPOSITE", "SAME", "Claim", "table"]

SAME, OPPOSITE, NOT_MEASURED = "same", "opposite", "not measured"


@attrs.frozen
class Claim:
    """`measured_by`: the command whose results answer it. `ours` gives None where a machine has no such results."""

    text: str
    theirs: str
    measured_by: str
    ours: Callable[[Evidence, Machine], Ours | None]


def table(evidence: Evidence) -> Table:
    """A row for each claim and machine that has an answer; one that says so for a claim without any."""
    rows = []
    for claim in CLAIMS:
        found = [
            (machine, ours) for machine in evidence.machines if (ours := claim.ours(evidence, machine)) is not None
        ]
        rows += [
            [
                claim.text,
                claim.theirs,
                plain(machine.short),
                ours.text,
                SAME if ours.same else OPPOSITE,
                ours.why or "-",
            ]
            for machine, ours in found
        ]
        if not found:
            rows.append([claim.text, claim.theirs, "-", "-", NOT_MEASURED, f"{claim.measured_by} would tell"])
    header = ["the paper's claim", "theirs", "machine", "ours", "direction", "why, or why it differs"]
    return Table.of("Theirs are the paper's own numbers, on its machines.", header, rows, merged=2)


def _range(low: float, high: float) -> str:
    return f"{low:g}–{high:g}"


CLAIMS: Sequence[Claim] = (
    Claim(
        "timing single operations overstates a dispatch",
        f"about {paper.SINGLE_OP_FACTOR:g}x too high",
        "`cmdgraph bench dispatch`",
        ours.single_op,
    ),
    *(
        Claim(
            f"what a dispatch costs in the API alone, {backend}",
            f"{_range(*paper.BACKENDS[backend])} us",
            f"`cmdgraph bench strategies` on a machine with {backend}",
            ours.api_cost(backend),
        )
        for backend in paper.BACKENDS
    ),
    Claim(
        "what an operation costs with Python included",
        f"about {paper.OPERATION_US:g} us",
        "`python -m llm bench --strategies eager`",
        ours.operation_cost,
    ),
    Claim(
        "most of a dispatch's CPU time goes to submit and to creating and finishing encoders",
        f"{percent(paper.SUBMIT_SHARE)} and {percent(paper.ENCODER_SHARE)}",
        "`cmdgraph bench phases`",
        ours.shares,
    ),
    Claim(
        f"dispatches of a forward pass of {paper.MODEL}, unfused and fused",
        f"{paper.DISPATCHES} and {paper.FUSED_DISPATCHES}",
        "`python -m llm bench --model qwen2.5-0.5b --plan unfused,paper`",
        ours.counts,
    ),
    Claim(
        "fusing dispatches raises tokens a second, Vulkan",
        f"by {percent(paper.THROUGHPUT_GAIN)} ({times(1 + paper.THROUGHPUT_GAIN)})",
        "`python -m llm bench --plan unfused,paper`",
        ours.fusion_gain,
    ),
    Claim(
        "fusing dispatches shortens the time to the first token",
        f"{paper.TTFT_MS[0]} to {paper.TTFT_MS[1]} ms, {times(paper.ttft_ratio())}; that is above what the count alone "
        f"allows, {paper.DISPATCHES}/{paper.FUSED_DISPATCHES} = {paper.allowed_by_count():.3f}",
        "`python -m llm bench --prefill`",
        ours.first_token,
    ),
    Claim(
        "at larger batches kernel time takes over",
        "overhead dominates at batch 1 only",
        "`cmdgraph bench batch`",
        ours.large_batches,
    ),
    Claim(
        "at batch 1 the cost per dispatch dominates, however good the kernels",
        "regardless of kernel quality",
        "the LLM experiments `count` and `kernel`",
        ours.per_dispatch_in_a_token,
    ),
    Claim("a dispatch on f16 costs what one on f32 costs", "no difference", "`cmdgraph bench dtype`", ours.types),
    Claim(
        "speed of an LLM by eager WebGPU calls from Python, against CUDA",
        f"{_range(*(100 * share for share in paper.CUDA_SHARE))} %",
        "`python -m llm bench --torch`",
        ours.share_of_cuda,
    ),
    Claim(
        "implementations of one backend differ in what a dispatch costs",
        f"{paper.IMPLEMENTATION_FACTOR:g}x on Metal",
        "`cmdgraph bench strategies --on wgpudawn` beside `--on wgpu`",
        ours.implementations,
    ),
    Claim("fusing gains nothing on CUDA", "no benefit", "a fused model in PyTorch", ours.never),
    Claim(
        "a small card by CUDA against a large one by WebGPU, f32",
        f"{paper.RTX_PRO_2000_FACTOR:g}x (RTX PRO 2000, RTX 5090)",
        "those two cards",
        ours.never,
    ),
)
