"""Opens the device a model runs on and says which kernels suit it."""

from typing import Any

import numpy as np
import wgpu

from llm.errors import DeviceError
from llm.plans import KernelSet
from llm.plans.shapes import Shapes, shapes_for

# Model weights outgrow the default limits (128 MiB a binding, 256 MiB a buffer): ask for all there is.
WANTED_LIMITS = ("max-storage-buffer-binding-size", "max-buffer-size")
# What subgroups are called by wgpu-native and by Dawn.
SUBGROUP_FEATURES = ("subgroup", "subgroups")
HALF_FEATURE = "shader-f16"
WANTED_FEATURES = (*SUBGROUP_FEATURES, HALF_FEATURE, "timestamp-query")

# OpenGL, which wgpu falls back to, is no basis for compute work.
BACKENDS = ("Vulkan", "Metal", "D3D12")

NO_ADAPTER = (
    "no WebGPU adapter: install a Vulkan driver for the GPU, or Mesa's software driver "
    "(package mesa-vulkan-drivers), and check VK_DRIVER_FILES if it is set"
)

_PROBE_LANES = 128
_PROBE = """
@group(0) @binding(0) var<storage, read_write> found: array<u32>;
@compute @workgroup_size(128)
fn main(@builtin(local_invocation_index) i: u32, @builtin(subgroup_size) size: u32,
        @builtin(subgroup_invocation_id) lane: u32) {
    found[i] = size;
    found[128u + i] = lane;
}
"""


def open_device() -> Any:
    """A wgpu device on the fastest adapter, with the largest buffers it offers, and subgroups where it has them.

    Raises DeviceError where there is no adapter or it gives no device.
    """
    adapter = _request_adapter()
    limits = {name: adapter.limits[name] for name in WANTED_LIMITS}
    features = [name for name in WANTED_FEATURES if name in adapter.features]
    try:
        return adapter.request_device_sync(label="llm", required_limits=limits, required_features=features)
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
    """The kernel set for the device's adapter: software drivers get kernels with few or no barriers, GPUs those with
    subgroups where they can be relied on.
    """
    if device.adapter.info["adapter_type"] == "CPU":
        return "cpu"
    return "gpu-subgroups" if subgroup_size(device) else "gpu"


def subgroup_size(device: Any) -> int:
    """Invocations of a subgroup; 0 where the device has none, or its size varies or does not divide workgroups, or
    neighbouring invocations do not make one up.
    """
    if not any(name in device.features for name in SUBGROUP_FEATURES):
        return 0
    module = device.create_shader_module(label="subgroup probe", code=subgroup_directive(device) + _PROBE)
    pipeline = device.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "main"})
    usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC
    found = device.create_buffer(size=2 * 4 * _PROBE_LANES, usage=usage)
    group = device.create_bind_group(
        layout=pipeline.get_bind_group_layout(0), entries=[{"binding": 0, "resource": {"buffer": found}}]
    )
    encoder = device.create_command_encoder()
    compute_pass = encoder.begin_compute_pass()
    compute_pass.set_pipeline(pipeline)
    compute_pass.set_bind_group(0, group)
    compute_pass.dispatch_workgroups(1)
    compute_pass.end()
    device.queue.submit([encoder.finish()])
    sizes, lanes = np.frombuffer(device.queue.read_buffer(found), np.uint32).reshape(2, _PROBE_LANES)
    size = int(sizes[0])
    regular = (sizes == size).all() and size > 0 and (lanes == np.arange(_PROBE_LANES) % size).all()
    return size if regular and size & (size - 1) == 0 else 0


def subgroup_directive(device: Any) -> str:
    """What WGSL with subgroups begins with: Dawn wants an `enable`, wgpu-native has no such extension."""
    return "enable subgroups;\n" if "subgroups" in device.features else ""


def half_directive(device: Any) -> str:
    """What WGSL with f16 begins with; empty where the device does not have that type."""
    return "enable f16;\n" if HALF_FEATURE in device.features else ""


def kernel_shapes(device: Any) -> Shapes:
    """The workgroup shapes for the device's adapter."""
    info = device.adapter.info
    return shapes_for(f"{info.get('vendor', '')} {info.get('device', '')}")


def first_line(error: BaseException) -> str:
    """The first line of an error's text, which is the one that says what happened."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
