"""Others on the same work in the same run: what a dispatch costs with them and with our strategies.

All peers are prepared and checked, then timed in rounds, each once in each round. One that cannot run, raises, crashes,
hangs or computes something else than numpy is named in ``left_out`` with the reason, and costs the others nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import attrs

from cmdgraph.bench import environment, trial
from cmdgraph.bench.experiments import Experiment, Option, OptionError
from cmdgraph.bench.method import Arm, MeasurementError, Plan, Samples, Series
from cmdgraph.bench.peers import registry, verdict
from cmdgraph.bench.peers.arm import Clock, PeerArm, taken
from cmdgraph.bench.peers.base import Peer
from cmdgraph.bench.peers.elementwise import ELEMENTS, OPERANDS, Elementwise
from cmdgraph.bench.peers.process import Process
from cmdgraph.bench.peers.table import to_markdown
from cmdgraph.bench.results import Report
from cmdgraph.bench.statistics import summary

__all__ = ["DISPATCHES", "EXPERIMENT", "measure"]

DISPATCHES = (300, 900)
PATIENCE_S = 120
"""So long may a peer take to prepare, and for a sample."""

TIMED_REGION = (
    "a sample is `runs_per_sample` runs of the chain, called one after the other, and one wait for the GPU at their "
    "end. Everything that a user calls for a run is inside, and what was encoded ahead is encoded again inside. Making "
    "buffers, pipelines, bind groups, sessions and graphs is outside, as is sending the request to the peer's process. "
    "`host_cpu` is the calling thread's CPU time with the wait, `call_cpu` the part of it until the last call has "
    "returned; `other_cpu` is that of all other threads, the driver's and on a software adapter the kernels among them"
)
SYNC = "once a sample, with what the peer offers: a read of the result, or a call that waits"

_Rows = dict[str, tuple[dict[str, Any], Series]]


def measure(
    device: Any,
    plan: Plan,
    *,
    dispatches: Sequence[int] = DISPATCHES,
    peers: str = "*",
    patience: int = PATIENCE_S,
) -> Report:
    """Measures the peers whose names match with chains of each number of dispatches. `device` only says on what: each
    peer opens its own.

    Raises:
        OptionError: no peer matches, or a chain of fewer than 1 dispatch.
        MeasurementError: none of the peers can run here.
    """
    if min(dispatches) < 1:
        raise OptionError(f"dispatches: needs numbers of at least 1, got {list(dispatches)}")
    try:
        names = registry.choose(peers)
    except KeyError as error:
        raise OptionError(error.args[0]) from error
    clock = Clock()
    plan = attrs.evolve(plan, timers=clock.timers)
    with ExitStack() as stack:
        arms, left_out = _start(names, sorted(set(dispatches)), plan, clock, patience, stack)
        ready = {arm.name: Arm(arm.run, worker_cpu=arm.worker_cpu) for arm in arms if arm.reason is None}
        samples = plan.run(ready) if ready else Samples({})
        for arm in arms:
            arm.check()
    left_out += [{"row": arm.name, "reason": arm.reason, "failed": arm.failed} for arm in arms if arm.reason]
    good = [arm for arm in arms if arm.reason is None]
    if not good:
        reasons = "; ".join(f"{each['row']}: {each['reason']}" for each in left_out)
        raise MeasurementError(f"no peer can run here: {reasons}")
    return _report(device, plan, good, samples, left_out)


def _start(
    names: Sequence[str], dispatches: Sequence[int], plan: Plan, clock: Clock, patience: int, stack: ExitStack
) -> tuple[list[PeerArm], list[dict[str, Any]]]:
    """A process for each peer that is installed, with all its chains prepared and checked."""
    arms: list[PeerArm] = []
    left_out = []
    for name in names:
        module, peer = registry.peers()[name]
        if (reason := peer.available()) is not None:
            left_out.append({"row": name, "reason": reason, "failed": False})
            continue
        process = Process(module, peer, patience)
        stack.callback(process.close)
        own = [PeerArm(peer, Elementwise(count, plan.seed), process, clock, plan.rounds) for count in dispatches]
        for arm in own:
            arm.prepare()
        arms += own
    return arms, left_out


def _report(
    device: Any, plan: Plan, arms: Sequence[PeerArm], samples: Samples, left_out: list[dict[str, Any]]
) -> Report:
    rows: _Rows = {arm.name: (_row(arm, samples[arm.name]), samples[arm.name]) for arm in arms}
    for name in list(samples):
        if name in rows:
            samples[name] = taken(samples[name])
        else:
            del samples[name]
    dispatches = sorted({arm.chain.dispatches for arm in arms})
    return trial.report(
        "peers",
        device,
        plan,
        samples,
        workload={
            "dispatches": dispatches,
            "operations": "additions and multiplications in turn",
            "elements_per_buffer": ELEMENTS,
            "operands": 2 * OPERANDS,
            "dtype": "f32",
        },
        timed_region=TIMED_REGION,
        sync=SYNC,
        rows=[row for row, _ in rows.values()],
        left_out=left_out,
        ratios=verdict.ratios(rows),
        findings=verdict.findings(rows, dispatches),
        notes=_notes(device, arms),
    )


def _row(arm: PeerArm, series: Series) -> dict[str, Any]:
    peer, count = arm.peer, arm.chain.dispatches
    measured = taken(series)
    per_sample = count * arm.runs
    return {
        "name": arm.name,
        "series": peer.name,
        "about": peer.about,
        "ours": peer.ours,
        "dispatches": count,
        "dispatches_per_sample": per_sample,
        "submits_per_sample": None,  # theirs to know
        "runs_per_sample": arm.runs,
        "dependent": peer.dependent,
        "software": _software(peer),
        "adapter": arm.facts.get("adapter"),
        "settings": ", ".join(f"{key} {value}" for key, value in arm.facts.items() if key != "adapter"),
        "checked": trial.EXACT,
        **trial.figures(measured, "dispatch", per_sample),
        "call_cpu_us_per_dispatch": summary([1e6 * s / per_sample for s in measured.returned], "us"),
    }


def _software(peer: Peer) -> str:
    versions = {name: environment.package_version(name) for name in peer.packages}
    return ", ".join(f"{name} {version}" for name, version in versions.items() if version is not None)


def _notes(device: Any, arms: Sequence[PeerArm]) -> list[str]:
    """Peers choose their adapter themselves: says who took another one."""
    ours = environment.adapter_facts(device.adapter)["adapter"]
    others = {arm.peer.name: found for arm in arms if (found := arm.facts.get("adapter")) not in (None, ours)}
    return [
        f"{name} ran on {found}, not on {ours}; VK_DRIVER_FILES can name one driver" for name, found in others.items()
    ]


EXPERIMENT = Experiment(
    measure,
    help="Others on the same work in the same run: ONNX Runtime, tinygrad, PyTorch, Vulkan, wgpu-py, and ours.",
    options={
        "dispatches": Option(DISPATCHES, "Lengths of the chain."),
        "peers": Option("*", "Names or patterns with commas between them; all by default."),
        "patience": Option(PATIENCE_S, "Seconds after which a peer that does not answer is given up."),
    },
    quick={"rounds": 10, "dispatches": (300,)},
    to_markdown=to_markdown,
)
