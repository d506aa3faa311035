"""Which adapters each WebGPU implementation offers on this machine.

An implementation may abort its process on a broken driver, so each is asked in a process of its own:
`python -m cmdgraph.adapters wgpu` prints what `probe("wgpu")` gives, as JSON.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from cmdgraph.bench import environment

__all__ = [
    "COMPUTE_FEATURES",
    "IMPLEMENTATIONS",
    "MAIN_LIMITS",
    "AdapterError",
    "UnknownAdapterError",
    "find",
    "open_device",
    "probe",
    "request_device",
]

#: Implementations by the package that brings them.
IMPLEMENTATIONS = {"wgpu": "wgpu-native", "wgpudawn": "Dawn"}

#: The limits that decide whether a compute workload fits.
MAIN_LIMITS = (
    "max-bind-groups",
    "max-storage-buffers-per-shader-stage",
    "max-storage-buffer-binding-size",
    "max-buffer-size",
    "max-compute-workgroups-per-dimension",
    "max-compute-invocations-per-workgroup",
    "max-compute-workgroup-storage-size",
)

#: The features that shaders and buffers of a compute workload may need, by the names of both implementations.
COMPUTE_FEATURES = (
    "immediates",
    "mappable-primary-buffers",
    "shader-f16",
    "shader-f64",
    "shader-int64",
    "subgroup",
    "subgroups",
    "timestamp-query",
)
_COMPUTE_LIMITS = (
    "max-bind",
    "max-buffer",
    "max-compute",
    "max-dynamic",
    "max-immediate",
    "max-storage-buffer",
    "max-uniform-buffer",
    "min-storage-buffer",
    "min-uniform-buffer",
)

PROBE_TIMEOUT_S = 60
# OpenGL adapters cannot run what cmdgraph measures (no timestamps, old compute); WebGPU names these three.
BACKENDS = ("Vulkan", "Metal", "D3D12")

NO_ADAPTER = (
    "no GPU adapter: no Vulkan driver works here; run `make setup`, or install your GPU's driver or Mesa "
    "(mesa-vulkan-drivers libvulkan1)"
)


class AdapterError(Exception):
    """No adapter, or an implementation that is not installed or does not start."""


class UnknownAdapterError(AdapterError):
    """There are adapters, but none of that name."""


def find(package: str) -> dict[str, Any]:
    """What the implementation in `package` offers, asked in a process of its own.

    Gives `implementation` and `adapters` (a list, maybe empty), or `error` with the reason.
    """
    if importlib.util.find_spec(package) is None:
        return {"error": f"the package {package} is not installed"}
    command = [sys.executable, "-m", "cmdgraph.adapters", package]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"no answer within {PROBE_TIMEOUT_S} s; the driver hangs"}
    if answer.returncode == 0:
        return json.loads(answer.stdout)
    words = answer.stderr.strip().splitlines() or ["no message"]
    if answer.returncode < 0:
        name = signal.Signals(-answer.returncode).name
        return {"error": f"the library ended its process ({name}): {words[-1]}"}
    return {"error": words[-1]}


def probe(package: str) -> dict[str, Any]:
    """What the implementation in `package` offers, asked in this process."""
    adapters = importlib.import_module(package).gpu.enumerate_adapters_sync()
    return {
        "implementation": environment.implementation(adapters[0]) if adapters else None,
        "adapters": [
            {
                **environment.adapter_facts(adapter),
                "limits": {name: adapter.limits.get(name) for name in MAIN_LIMITS},
                "features": sorted(adapter.features),
            }
            for adapter in adapters
            if adapter.info["backend_type"] in BACKENDS
        ],
    }


def open_device(
    package: str,
    name: str | None = None,
    features: Sequence[str] = (),
    limits: Sequence[str] = (),
    *,
    everything: bool = False,
) -> Any:
    """A device on the implementation's preferred adapter, or on the first whose name contains `name`, in whatever case.
    The implementation was seen to start in a process of its own. Of `features` the device has those that there are, of
    `limits` as much as the adapter allows.

    With `everything` it has all that the adapter offers for compute work, for a graph whose needs are not known.

    Raises:
        UnknownAdapterError: no adapter is called so.
        AdapterError: the package is not installed, or there is no adapter.
    """
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as error:
        raise AdapterError(f"{IMPLEMENTATIONS[package]} is not installed: pip install {package}") from error
    found = find(package)
    if "error" in found:
        raise AdapterError(f"{IMPLEMENTATIONS[package]}: {found['error']}")
    if not found["adapters"]:
        raise AdapterError(NO_ADAPTER)
    return request_device(package, name, features, limits, everything=everything)


def request_device(
    package: str,
    name: str | None = None,
    features: Sequence[str] = (),
    limits: Sequence[str] = (),
    *,
    everything: bool = False,
) -> Any:
    """The same device without a look beforehand: for a process that nobody minds to lose to a broken driver."""
    gpu = importlib.import_module(package).gpu
    adapter = gpu.request_adapter_sync(power_preference="high-performance") if name is None else _named(gpu, name)
    # Dawn's objects may be used from several threads only with this; wgpu-native's always may.
    wanted = ["implicit-device-synchronization", *features]
    if everything:
        wanted += COMPUTE_FEATURES
        limits = [each for each, value in adapter.limits.items() if each.startswith(_COMPUTE_LIMITS) and value]
    return adapter.request_device_sync(
        required_features=[each for each in wanted if each in adapter.features],
        required_limits={each: adapter.limits[each] for each in limits if adapter.limits.get(each)},
    )


def _named(gpu: Any, name: str) -> Any:
    usable = [adapter for adapter in gpu.enumerate_adapters_sync() if adapter.info["backend_type"] in BACKENDS]
    for adapter in usable:
        if name.lower() in adapter.info["device"].lower():
            return adapter
    there = ", ".join(adapter.info["device"] for adapter in usable)
    raise UnknownAdapterError(f"no adapter is called {name!r}; there are: {there}")


if __name__ == "__main__":
    json.dump(probe(sys.argv[1]), sys.stdout)
