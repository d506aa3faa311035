"""Experiments with a model, one file each: by the method and in the JSON of `cmdgraph.bench`.

A file defines ``measure`` and, at its end, an `Experiment` of `cmdgraph.bench.experiments` whose ``measure`` takes the
choice of a model where others take a device. Each is a command of `python -m llm`; `NAMES` gives their modules.
"""

from collections.abc import Mapping
from importlib import import_module

from cmdgraph.bench.experiments import Experiment

NAMES: Mapping[str, str] = {
    "bench": "decode",
    "fusion": "fusion",
    "count": "count",
    "kernel": "kernel",
    "batch": "batch",
}


def load(name: str) -> Experiment:
    """The experiment that a command of `NAMES` runs."""
    found: Experiment = import_module(f"{__name__}.{NAMES[name]}").EXPERIMENT
    return found
