"""On what a table or plot was measured: adapter, implementation, versions, commit, and what is doubtful."""

from __future__ import annotations

from collections.abc import Sequence

from cmdgraph.bench.report.document import plain
from cmdgraph.bench.report.evidence import Result
from cmdgraph.bench.report.figures import among

__all__ = ["caption", "where"]


def caption(text: str, results: Sequence[Result]) -> str:
    """`text` with where the results come from."""
    return f"{text} {'. '.join(dict.fromkeys(where(result) for result in results))}."


def where(result: Result) -> str:
    """Where one result comes from; a software adapter is marked first."""
    environment = result.environment
    implementation = environment.implementation
    mark = "**software adapter** " if environment.software_adapter else ""
    doubts = [
        *(["with changed files"] if environment.dirty else []),
        *(["interrupted: fewer samples than wanted"] if result.interrupted else []),
        *(["flagged as noisy"] if result.noise else []),
    ]
    return (
        f"{mark}{plain(environment.adapter)}, driver {plain(environment.driver)}, {plain(environment.backend)}; "
        f"{plain(implementation.name)} {plain(implementation.version)}, wgpu-py {plain(str(environment.wgpu_py))}; "
        f"commit {(environment.commit or 'none')[:12]}{f' ({among(doubts)})' if doubts else ''}"
    )
