"""From samples to a report: figures by thread, how it was measured, and what makes it doubtful."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from cmdgraph.bench import environment, method, results
from cmdgraph.bench.method import Plan, Samples, Series
from cmdgraph.bench.statistics import NOISY, summary

__all__ = ["EXACT", "figures", "report"]

EXACT = "equal to numpy, to the bit"
COARSE = 100
"""A sample must be longer than so many steps of the clock."""


def figures(series: Series, per: str = "", count: float = 1) -> dict[str, dict[str, Any]]:
    """Wall time, CPU time by thread, and GPU time where it was taken, of a sample divided by `count`, in us."""
    taken = {
        "host_cpu_us": series.cpu_s,
        "worker_cpu_us": series.worker_s,
        "other_cpu_us": series.other_s,
        "wall_us": series.wall_s,
        "gpu_us": series.gpu_s,
    }
    behind = f"_per_{per}" if per else ""
    return {name + behind: summary([1e6 * s / count for s in values], "us") for name, values in taken.items() if values}


def report(
    experiment: str,
    device: Any,
    plan: Plan,
    samples: Samples,
    *,
    workload: Mapping[str, Any],
    timed_region: str,
    sync: str,
    rows: Sequence[Mapping[str, Any]],
    how: Mapping[str, Any] | None = None,
    **others: Any,
) -> results.Report:
    """The report of a run. `how` are further keys of ``method``, `others` further keys of the report."""
    surroundings = environment.describe(device)
    return results.make(
        experiment,
        environment=surroundings,
        workload=workload,
        method={
            "description": method.DESCRIPTION,
            "timed_region": timed_region,
            "sync": sync,
            "rounds": samples.rounds,
            "rounds_wanted": plan.rounds,
            "time_limit_s": plan.limit_s,
            "warmup": plan.warmup,
            "warmup_runs": samples.warmup_runs,
            "seed": plan.seed,
            **(how or {}),
        },
        rows=rows,
        interrupted=samples.interrupted,
        noise=_noise(samples, rows, surroundings),
        **others,
    )


def _noise(samples: Samples, rows: Sequence[Mapping[str, Any]], surroundings: Mapping[str, Any]) -> list[str]:
    """What a reader should doubt."""
    found = []
    noisy = [row["name"] for row in rows if any(each["noisy"] for each in _judged(row))]
    if noisy:
        found.append(
            f"{len(noisy)} of {len(rows)} rows spread by more than {100 * NOISY:.0f} % of their median between p10 and "
            f"p90: {_some(noisy)}"
        )
    resolution = surroundings["timer_resolution_s"]["wall"]
    short = [name for name, series in samples.items() if summary(series.wall_s)["median"] < COARSE * resolution]
    if short:
        found.append(f"samples of fewer than {COARSE} steps of the clock: {_some(short)}")
    if samples.unsteady:
        found.append(f"still getting faster when the warm-up ended: {_some(samples.unsteady)}")
    busy = surroundings["load_average"]
    if busy is not None and busy > 0.5 * (os.cpu_count() or 1) + 1:
        found.append(f"the machine was busy: load average {busy:.1f} on {os.cpu_count()} cores")
    return found


def _judged(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The figures whose spread tells of noise: those of other threads are small and spread by nature."""
    return [each for name, each in results.figures(row).items() if name.startswith(("wall", "host_cpu", "gpu"))]


def _some(names: Sequence[str]) -> str:
    return "; ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
