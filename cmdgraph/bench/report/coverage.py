"""On what was measured, and on what it was not: a contributed file fills a row."""

from __future__ import annotations

from collections.abc import Callable

from cmdgraph.bench.report.captions import where
from cmdgraph.bench.report.claims import NOT_MEASURED
from cmdgraph.bench.report.document import Table, plain
from cmdgraph.bench.report.evidence import Evidence, Result
from cmdgraph.bench.report.figures import among

__all__ = ["platforms", "sources"]


def platforms(evidence: Evidence) -> Table:
    """The platforms of the paper and those that we can run on, and what was measured on each."""
    rows = []
    for name, belongs in PLATFORMS.items():
        found = [result for result in evidence.results if belongs(result)]
        adapters = dict.fromkeys(plain(result.environment.adapter) for result in found)
        experiments = sorted({result.experiment for result in found})
        rows.append(
            [name, "measured", among(list(adapters)), ", ".join(f"`{each}`" for each in experiments)]
            if found
            else [name, NOT_MEASURED, "-", "-"]
        )
    return Table.of("", ["platform", "state", "adapters", "experiments"], rows)


def sources(evidence: Evidence) -> Table:
    """Every file, machine by machine: what it holds, and by which command it was made."""
    found = sorted(evidence.results, key=lambda result: (result.machine, _machine(result), result.path))
    rows = [
        [
            _machine(result),
            f"`{_code(result.path)}`",
            result.experiment,
            result.environment.date[:16].replace("T", " "),
            f"`{_code(result.environment.command)}`",
        ]
        for result in found
    ]
    return Table.of("", ["measured on", "file", "experiment", "date", "command"], rows, merged=1, grouped=True)


def _code(text: str) -> str:
    """`text` from a file inside a code span."""
    return " ".join(text.replace("`", "'").split())


def _machine(result: Result) -> str:
    environment = result.environment
    cores = f", {environment.cores} cores" if environment.cores else ""
    return f"{where(result)}; Python {environment.python}, {plain(environment.os)}; {plain(environment.cpu)}{cores}"


def _by_vendor(vendor: str, backend: str) -> Callable[[Result], bool]:
    def belongs(result: Result) -> bool:
        environment = result.environment
        text = f"{environment.vendor} {environment.adapter}".lower()
        return vendor.lower() in text and environment.backend == backend and not environment.software_adapter

    return belongs


def _by_system(system: str, backend: str) -> Callable[[Result], bool]:
    return lambda result: system in result.environment.os and result.environment.backend == backend


def _by_implementation(name: str) -> Callable[[Result], bool]:
    return lambda result: result.environment.implementation.name == name


def _by_software(name: str) -> Callable[[Result], bool]:
    return lambda result: result.environment.software_adapter and name.lower() in result.environment.adapter.lower()


PLATFORMS: dict[str, Callable[[Result], bool]] = {
    "NVIDIA, Vulkan": _by_vendor("NVIDIA", "Vulkan"),
    "AMD, Vulkan": _by_vendor("AMD", "Vulkan"),
    "Intel, Vulkan": _by_vendor("Intel", "Vulkan"),
    "Apple, Metal": _by_vendor("Apple", "Metal"),
    "Windows, D3D12": _by_system("Windows", "D3D12"),
    "Windows, Vulkan": _by_system("Windows", "Vulkan"),
    "wgpu-native": _by_implementation("wgpu-native"),
    "Dawn": _by_implementation("Dawn"),
    "Chromium": _by_implementation("Chromium"),
    "Firefox": _by_implementation("Firefox"),
    "Safari": _by_implementation("Safari"),
    "**software adapter** lavapipe": _by_software("llvmpipe"),
    "**software adapter** SwiftShader": _by_software("swiftshader"),
}
