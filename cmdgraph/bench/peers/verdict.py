"""What the rows say: how much more others cost than our best replay, and whether it meets its goal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cmdgraph.bench.method import Series
from cmdgraph.bench.statistics import ratio

__all__ = ["GOAL_BOTH", "GOAL_CALLER", "RIVAL", "findings", "ratios"]

RIVAL = "onnxruntime-capture"
"""The peer to beat: it replays on WebGPU, too."""
GOAL_CALLER, GOAL_BOTH = 0.5, 1.0
"""Of our best replay's CPU time to the rival's: the caller's, and the caller's with our worker's."""

NATIVE = "cmdgraph-native"
"""Rows of the native layer, which shows what an extension could give: the goal is for what there is today."""

Rows = Mapping[str, tuple[dict[str, Any], Series]]
"""Rows by name, each with the samples of all rounds."""


def ratios(rows: Rows) -> list[dict[str, Any]]:
    """Each row over the best of ours with the same number of dispatches."""
    found = []
    for best in _bests(rows):
        for name, (row, _) in rows.items():
            if name != best and row["dispatches"] == rows[best][0]["dispatches"]:
                found += [
                    {"quantity": quantity, "over": name, "under": best, **_ratio(rows, name, best, quantity)}
                    for quantity in ("host_cpu", "host_and_worker_cpu", "wall")
                ]
    return found


def findings(rows: Rows, dispatches: Sequence[int]) -> list[dict[str, Any]]:
    """For each number of dispatches whether the goal is met."""
    bests = {rows[best][0]["dispatches"]: best for best in _bests(rows)}
    natives = {rows[best][0]["dispatches"]: best for best in _bests(rows, native=True)}
    found = []
    for count in dispatches:
        for what, quantity, goal in (
            ("caller CPU, our best replay over ONNX Runtime's graph capture", "host_cpu", GOAL_CALLER),
            ("caller and worker CPU, the same", "host_and_worker_cpu", GOAL_BOTH),
        ):
            finding = _finding(rows, bests.get(count), count, quantity, goal)
            found.append({"name": f"{what}, {count} dispatches", "unit": "", **finding})
        if count in natives:
            name = f"caller CPU, the native layer over ONNX Runtime's graph capture, {count} dispatches"
            found.append({"name": name, "unit": "", **_finding(rows, natives[count], count, "host_cpu", GOAL_CALLER)})
    return found


def _finding(rows: Rows, best: str | None, count: int, quantity: str, goal: float) -> dict[str, Any]:
    rival = f"{RIVAL}/{count}"
    absent = rival if rival not in rows else None if best else "a strategy of ours"
    if absent or best is None:
        return {"value": None, "text": f"{absent} was not measured"}
    found = _ratio(rows, best, rival, quantity)
    met = "met" if found["ratio"] <= goal else "MISSED"
    return {"value": found.pop("ratio"), **found, "text": f"{best}; the goal of at most {goal:g} is {met}"}


def _bests(rows: Rows, *, native: bool = False) -> list[str]:
    """For each number of dispatches that one of our strategies which is nearest to the goal, of those that WebGPU has
    today or of the native layer's; without the rival, the one that costs the caller least.
    """
    best: dict[int, tuple[float, str]] = {}
    for name, (row, _) in rows.items():
        if row["ours"] and name.startswith(NATIVE) == native:
            count, cost = row["dispatches"], _cost(rows, name)
            best[count] = min(best.get(count, (cost, name)), (cost, name))
    return [name for _, name in best.values()]


def _cost(rows: Rows, name: str) -> float:
    row = rows[name][0]
    caller = row["host_cpu_us_per_dispatch"]["median"]
    rival = rows.get(f"{RIVAL}/{row['dispatches']}")
    if rival is None:
        return caller
    theirs = rival[0]["host_cpu_us_per_dispatch"]["median"]
    both = caller + row["worker_cpu_us_per_dispatch"]["median"]
    return max(caller / GOAL_CALLER, both / GOAL_BOTH) / theirs


def _ratio(rows: Rows, over: str, under: str, quantity: str) -> dict[str, float]:
    """Over the rounds in which both were measured."""
    both = [
        n
        for n, returned in enumerate(zip(rows[over][1].returned, rows[under][1].returned, strict=True))
        if None not in returned
    ]

    def values(name: str) -> list[float]:
        row, series = rows[name]
        seconds = {
            "host_cpu": series.cpu_s,
            "host_and_worker_cpu": [a + b for a, b in zip(series.cpu_s, series.worker_s, strict=True)],
            "wall": series.wall_s,
        }[quantity]
        return [seconds[n] / row["runs_per_sample"] for n in both]

    return ratio(values(over), values(under))
