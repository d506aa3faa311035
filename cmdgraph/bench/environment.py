"""On what something was measured: adapter, driver, versions, machine, commit and command."""

from __future__ import annotations

import datetime as dt
import functools
import os
import platform
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from cmdgraph.bench import method
from cmdgraph.replay import walker

__all__ = ["adapter_facts", "commit", "describe", "implementation", "machine", "package_version"]

ROOT = Path(__file__).resolve().parents[2]


def describe(device: Any) -> dict[str, Any]:
    """Everything that a reader needs to judge a figure measured on `device`. Times are in seconds."""
    return {
        **adapter_facts(device.adapter),
        "implementation": implementation(device),
        "wgpu_py": package_version("wgpu"),
        "walker": walker.available(),
        "timer_resolution_s": _timer_resolution(),
        **machine(),
    }


def machine() -> dict[str, Any]:
    """The part that does not depend on a device: versions, machine, commit and command."""
    revision, dirty = commit()
    return {
        "cmdgraph": package_version("cmdgraph"),
        "python": platform.python_version(),
        "os": _os_name(),
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "commit": revision,
        "dirty": dirty,
        "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "command": _command(),
        "load_average": _load(),
    }


def adapter_facts(adapter: Any) -> dict[str, Any]:
    """Name, driver and kind of an adapter.

    A software adapter runs kernels on the CPU: its kernel times say little of a GPU.
    """
    info = adapter.info
    return {
        "adapter": info["device"],
        "vendor": info["vendor"],
        "driver": info["description"],
        "backend": info["backend_type"],
        "adapter_type": info["adapter_type"],
        "software_adapter": info["adapter_type"] == "CPU",
    }


def implementation(obj: Any) -> dict[str, str]:
    """Name and version of the WebGPU implementation that a wgpu object comes from."""
    module = type(obj).__module__
    if module.startswith("wgpudawn."):
        return {"name": "Dawn", "version": f"wgpudawn {package_version('wgpudawn')}"}
    backend = sys.modules[module.removesuffix("._api")]
    if not hasattr(backend, "lib_version_info"):
        return {"name": module, "version": "unknown"}
    return {"name": "wgpu-native", "version": ".".join(str(part) for part in backend.lib_version_info)}


def package_version(name: str) -> str | None:
    """The version of an installed package, or None."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


@functools.cache
def _timer_resolution() -> dict[str, float]:
    timers = method.SYSTEM_TIMERS
    return {"wall": method.resolution(timers.wall), "cpu": method.resolution(timers.cpu)}


def _load() -> float | None:
    """How many threads wanted a processor during the last minute, ours included."""
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


def commit() -> tuple[str | None, bool | None]:
    """The checkout's commit, and whether files differ from it; None where this is no checkout."""
    if not (ROOT / ".git").exists():
        return None, None
    try:
        return _git("rev-parse", "HEAD"), bool(_git("status", "--porcelain"))
    except (OSError, subprocess.CalledProcessError):
        return None, None


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _command() -> str:
    program = Path(sys.argv[0])
    # `python -m package` leaves the path of the package's __main__.py there.
    name = f"python -m {program.parent.name}" if program.name == "__main__.py" else program.name
    return shlex.join([*name.split(), *sys.argv[1:]])


def _os_name() -> str:
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.platform()
    return f"{name}, {platform.system()} {platform.release()}"


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
