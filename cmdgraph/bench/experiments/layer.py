"""What the native layer costs those who do not use it: encoding with and without it, in two processes side by side.

The loader puts a layer under a whole process or not at all, so the arms are two processes that take turns.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from cmdgraph.backends import backend_of
from cmdgraph.bench import trial
from cmdgraph.bench.chain import BINDINGS, BUFFERS
from cmdgraph.bench.experiments import Experiment, Option, OptionError
from cmdgraph.bench.method import MeasurementError, Plan, ratio
from cmdgraph.bench.results import Report
from cmdgraph.bench.statistics import summary
from cmdgraph.native.places import LIBRARY

__all__ = ["EXPERIMENT", "WITH", "WITHOUT", "measure"]

WITHOUT, WITH = "without the layer", "with the layer"
SWITCH = {WITHOUT: "0", WITH: "1"}
ABSENT = "the native layer is not built: make native"
TARGET_PERCENT = 5
TIMED_REGION = (
    "a sample is encoding and submitting the chain once by the C loop, in a process of its own: CPU time of its "
    "thread, without the wait that follows"
)
SYNC = "a read of 4 bytes after each sample, outside"


def measure(device: Any, plan: Plan, *, dispatches: int = 900) -> Report:
    """Measures a chain of `dispatches` with and without the layer, on the preferred adapter of the implementation.

    Raises:
        OptionError: `dispatches` is below 1.
        MeasurementError: a process ended, or computed something else than numpy.
    """
    if dispatches < 1:
        raise OptionError(f"needs at least one dispatch, got {dispatches}")
    names = [WITHOUT, *([WITH] if LIBRARY.exists() else [])]
    package = backend_of(device).api.__name__.partition(".")[0]
    with ExitStack() as stack:
        arms = {name: stack.enter_context(_Worker(name, package, dispatches, plan.seed)).encode for name in names}
        samples = plan.run(arms)
    taken = {name: samples[name].returned for name in names}
    compared = [ratio(taken[WITH], taken[WITHOUT])] if WITH in taken else []
    return trial.report(
        "layer",
        device,
        plan,
        samples,
        workload={"dispatches": dispatches, "bindings_per_dispatch": BINDINGS, "buffers": BUFFERS},
        timed_region=TIMED_REGION,
        sync=SYNC,
        rows=[
            {
                "name": name,
                "dispatches_per_sample": dispatches,
                "submits_per_sample": 1,
                "checked": trial.EXACT,
                "host_cpu_us_per_dispatch": summary([1e6 * s / dispatches for s in taken[name]], "us"),
            }
            for name in names
        ],
        left_out=[] if WITH in taken else [{"row": WITH, "reason": ABSENT}],
        ratios=[{"quantity": "host_cpu", "over": WITH, "under": WITHOUT, **each} for each in compared],
        findings=[
            {
                "name": "cost of the unused layer",
                "value": 100 * (each["ratio"] - 1),
                "unit": "%",
                "ci95_low": 100 * (each["ci95_low"] - 1),
                "ci95_high": 100 * (each["ci95_high"] - 1),
                "text": f"of the CPU time that encoding takes, where at most {TARGET_PERCENT} % are aimed at",
            }
            for each in compared
        ],
    )


class _Worker:
    """A process of `cmdgraph.bench.layer_worker`. A context manager."""

    def __init__(self, name: str, package: str, dispatches: int, seed: int) -> None:
        self._name = name
        self._command = [sys.executable, "-m", "cmdgraph.bench.layer_worker", package, str(dispatches), str(seed)]

    def __enter__(self) -> _Worker:
        environment: Mapping[str, str] = {**os.environ, "CMDGRAPH_NATIVE": SWITCH[self._name]}
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        try:
            self._answer()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def encode(self) -> float:
        """Has the chain encoded once; the CPU seconds that it took."""
        assert self._process.stdin is not None
        print(file=self._process.stdin, flush=True)
        return float(self._answer())

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise MeasurementError(f"{self._name}: the process has ended (exit status {self._process.wait()})")
        return line


EXPERIMENT = Experiment(
    measure,
    help="What the native layer costs where it is loaded and not used.",
    options={"dispatches": Option(900, "Length of the chain.")},
    quick={"rounds": 20},
    rounds=100,
)
