"""What the core's tests work with: kernels, and a device with short names for what plain wgpu-py programs do.

`Kit` makes the calls that an ordinary program makes (an encoder, a pass and a submit per operation) and nothing of
cmdgraph's, so whatever runs through it can be captured.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

import cmdgraph
from cmdgraph import native
from cmdgraph.objects import BufferUsage
from cmdgraph.replay import STRATEGIES as _BY_NAME
from cmdgraph.replay import walker

STORAGE = BufferUsage.STORAGE | BufferUsage.COPY_SRC | BufferUsage.COPY_DST
UNIFORM = BufferUsage.UNIFORM | BufferUsage.COPY_DST
INDIRECT = STORAGE | BufferUsage.INDIRECT
READBACK = BufferUsage.MAP_READ | BufferUsage.COPY_DST
UPLOAD = BufferUsage.MAP_WRITE | BufferUsage.COPY_SRC

WALKERS = ["c", "python"]
STRATEGIES = [name for name in _BY_NAME if name != "native" or native.enabled()]

IN = "@group(0) @binding(0) var<storage, read> src: array<f32>;"
OUT = "@group(0) @binding(1) var<storage, read_write> dst: array<f32>;"
MAIN = "@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3u)"

ADD1 = f"{IN} {OUT} {MAIN} {{ dst[id.x] = src[id.x] + 1; }}"
MUL2 = f"{IN} {OUT} {MAIN} {{ dst[id.x] = src[id.x] * 2; }}"
INC = f"@group(0) @binding(0) var<storage, read_write> b: array<f32>; {MAIN} {{ b[id.x] = b[id.x] + 1; }}"
PUT = (
    "@group(0) @binding(0) var<storage, read_write> kv: array<u32>; "
    f"@group(0) @binding(1) var<uniform> pos: u32; {MAIN} {{ kv[pos] = pos + 100; }}"
)
ADD1_UNIFORM = f"@group(0) @binding(0) var<uniform> v: f32; {OUT} {MAIN} {{ dst[id.x] = v + 1; }}"
TEXTURE = f"@group(0) @binding(0) var t: texture_2d<f32>; {OUT} {MAIN} {{ dst[id.x] = textureLoad(t, vec2u(0), 0).x; }}"
IMMEDIATE = f"var<immediate> shift: vec2f; {OUT} {MAIN} {{ dst[id.x] = shift.x + shift.y; }}"


class Kit:
    """A device with its kernels and the calls of a naive program."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self.queue = device.queue
        self.kernel: Callable[[str], Any] = cache(self._kernel)

    def buffer(self, data: Any = None, label: str = "", *, usage: int = STORAGE, size: int | None = None) -> Any:
        """A buffer of `size` bytes, or one that holds `data` (f32 where it has no dtype)."""
        if data is None:
            return self.device.create_buffer(size=16 if size is None else size, usage=usage, label=label)
        array = f32(data)
        buffer = self.device.create_buffer(
            size=array.nbytes if size is None else size, usage=usage | BufferUsage.COPY_DST, label=label
        )
        self.queue.write_buffer(buffer, 0, array)
        return buffer

    def group(self, pipeline: Any, *resources: Any, index: int = 0, label: str = "") -> Any:
        """A bind group with `resources` at bindings 0, 1, 2, ..."""
        entries = [
            {"binding": i, "resource": r if isinstance(r, dict) or not hasattr(r, "map_state") else {"buffer": r}}
            for i, r in enumerate(resources)
        ]
        return self.device.create_bind_group(layout=pipeline.get_bind_group_layout(index), entries=entries, label=label)

    def run(self, pipeline: Any, *groups: Any, count: int | Sequence[int] = 4) -> None:
        """One dispatch, the naive way: an encoder, a pass and a submit of its own."""
        self.submit(self.encode(pipeline, *groups, count=count))

    def encode(self, pipeline: Any, *groups: Any, count: int | Sequence[int] = 4) -> Any:
        """The command buffer with one dispatch."""
        encoder = self.device.create_command_encoder()
        dispatch(encoder, pipeline, *groups, count=count)
        return encoder.finish()

    def submit(self, *command_buffers: Any) -> None:
        self.queue.submit(list(command_buffers))

    def call(self, code: str, *buffers: Any, count: int = 4) -> Callable[[], None]:
        """A model in the small: calling it runs the kernel `code` on `buffers`."""
        pipeline = self.kernel(code)
        group = self.group(pipeline, *buffers)
        return lambda: self.run(pipeline, group, count=count)

    def copy(self, source: Any, target: Any, size: int | None = None, *, at: int = 0, to: int = 0) -> None:
        encoder = self.device.create_command_encoder()
        encoder.copy_buffer_to_buffer(source, at, target, to, source.size if size is None else size)
        self.submit(encoder.finish())

    def clear(self, buffer: Any) -> None:
        encoder = self.device.create_command_encoder()
        encoder.clear_buffer(buffer)
        self.submit(encoder.finish())

    def write(self, buffer: Any, data: Any, offset: int = 0) -> None:
        self.queue.write_buffer(buffer, offset, f32(data))

    def read(self, buffer: Any, dtype: Any = np.float32) -> list[Any]:
        return np.frombuffer(self.queue.read_buffer(buffer), dtype).tolist()

    def texture(self, label: str = "") -> Any:
        """A texture of one texel that holds 0.5."""
        texture = self.device.create_texture(size=(1, 1, 1), format="r32float", usage=2 | 4, label=label)
        self.queue.write_texture(
            {"texture": texture}, np.array([0.5], np.float32), {"bytes_per_row": 4, "rows_per_image": 1}, (1, 1, 1)
        )
        return texture

    def explicit(self, code: str, *groups: list[dict[str, Any]], **layout: Any) -> Any:
        """A pipeline with an explicit layout: for each group the entries of its bind group layout."""
        layouts = [self.device.create_bind_group_layout(entries=entries) for entries in groups]
        return self.device.create_compute_pipeline(
            layout=self.device.create_pipeline_layout(bind_group_layouts=layouts, **layout),
            compute={"module": self.device.create_shader_module(code=code), "entry_point": "main"},
        )

    def _kernel(self, code: str) -> Any:
        module = self.device.create_shader_module(code=code)
        return self.device.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "main"})


def f32(data: Any) -> np.ndarray:
    """`data` as an array: f32 unless it has a dtype of its own."""
    return data if isinstance(data, np.ndarray) else np.asarray(data, np.float32)


def dispatch(encoder: Any, pipeline: Any, *groups: Any, count: int | Sequence[int] = 4) -> None:
    """A pass with one dispatch."""
    compute = encoder.begin_compute_pass()
    compute.set_pipeline(pipeline)
    for index, group in enumerate(groups):
        if group is not None:
            compute.set_bind_group(index, group)
    compute.dispatch_workgroups(*([count] if isinstance(count, int) else count))
    compute.end()


def captured(device: Any, model: Callable[[], Any], **options: Any) -> cmdgraph.CommandGraph:
    with cmdgraph.capture(device, **options) as graph:
        model()
    return graph


def ways() -> Iterator[tuple[str, str]]:
    """Every walker with every strategy, without the compiled walker where it is absent."""
    for kind in WALKERS:
        if kind == "python" or walker.available():
            yield from ((kind, strategy) for strategy in STRATEGIES)


def use(graph: cmdgraph.CommandGraph, way: tuple[str, str]) -> cmdgraph.CommandGraph:
    graph.walker, graph.strategy = way
    return graph


def open_device(package: str, features: Sequence[str] = (), limits: dict[str, int] | None = None) -> Any:
    """A new device of the implementation in `package` ("wgpu" or "wgpudawn")."""
    adapter = importlib.import_module(package).gpu.request_adapter_sync(power_preference="high-performance")
    return adapter.request_device_sync(required_features=list(features), required_limits=limits or {})


@contextmanager
def hooks_restored() -> Iterator[None]:
    """Checks that the block leaves no method of a loaded implementation replaced."""
    before = methods()
    yield
    assert methods() == before


def methods() -> dict[str, Any]:
    """Every method of the classes that captures and guards hook, by name."""
    from cmdgraph.backends import loaded

    classes = ("GPUDevice", "GPUQueue", "GPUBuffer", "GPUCommandEncoder", "GPUComputePassEncoder", "GPUCommandBuffer")
    return {
        f"{backend.name} {name}.{attribute}": value
        for backend in loaded()
        for name in classes
        for attribute, value in vars(getattr(backend.api, name)).items()
        if callable(value)
    }
