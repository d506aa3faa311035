"""Opens the device a model runs on and says which kernels suit it."""

from typing import Any

import wgpu

from llm.errors import DeviceError
from llm.plans import KernelSet

# Model weights outgrow the default limits (128 MiB a binding, 256 MiB a buffer): ask for all there is.
WANTED_LIMITS = ("max-storage-buffer-binding-size", "max-buffer-size")

# OpenGL, which wgpu falls back to, is no basis for compute work.
BACKENDS = ("Vulkan", "Metal", "D3D12")

NO_ADAPTER = (
    "no WebGPU adapter: install a Vulkan driver for the GPU, or Mesa's software driver "
    "(package mesa-vulkan-drivers), and check VK_DRIVER_FILES if it is set"
)


def open_device() -> Any:
    """A wgpu device on the fastest adapter, with the largest buffers it offers.

    Raises DeviceError where there is no adapter or it gives no device.
    """
    adapter = _request_adapter()
    limits = {name: adapter.limits[name] for name in WANTED_LIMITS}
    try:
        return adapter.request_device_sync(label="llm", required_limits=limits)
    except (RuntimeError, wgpu.GPUError) as error:
        raise DeviceError(f"the adapter '{adapter.info['device']}' gives no device: {first_line(error)}") from error


def _request_adapter() -> Any:
    try:
        adapter = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
    except (RuntimeError, OSError) as error:
        raise DeviceError(f"{NO_ADAPTER} ({first_line(error)})") from error
    if adapter is None or adapter.info["backend_type"] not in BACKENDS:
        raise DeviceError(NO_ADAPTER)
    return adapter


def kernels_for(device: Any) -> KernelSet:
    """The kernel set for the device's adapter: software drivers get kernels with few or no barriers."""
    return "cpu" if device.adapter.info["adapter_type"] == "CPU" else "gpu"


def first_line(error: BaseException) -> str:
    """The first line of an error's text, which is the one that says what happened."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
