"""The encoders, passes and command buffers that captures and guards hand out in place of the implementation's own.

All are instances of subclasses of the implementation's classes, so `isinstance` holds. There are two families.
*Recorded* objects have no native handle at all: whoever takes one past the recorder gets an error instead of an abort.
*Live* objects are real ones that tell a recorder what they do before they do it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from cmdgraph.errors import CaptureError

__all__ = ["classes", "enliven", "recorded"]

_NO_NODES = (
    "begin_render_pass",
    "copy_buffer_to_texture",
    "copy_texture_to_buffer",
    "copy_texture_to_texture",
    "resolve_query_set",
    "_write_timestamp",
)
_classes: dict[tuple[str, bool], tuple[type, type, type]] = {}


def classes(api: Any, *, live: bool) -> tuple[type, type, type]:
    """Subclasses of one implementation's GPUCommandEncoder, GPUComputePassEncoder and GPUCommandBuffer.

    Their instances carry a recorder as ``_cmdgraph``. With ``live`` they do what their bases do, too.
    """
    key = (api.__name__, live)
    if key not in _classes:
        _classes[key] = _make_live(api) if live else _make_recorded(api)
    return _classes[key]


def recorded(cls: type, label: str, device: Any, recorder: Any) -> Any:
    """An instance of a recorded class: the attributes of a GPU object without a native handle."""
    obj: Any = object.__new__(cls)
    obj._label, obj._device, obj._cmdgraph = label, device, recorder
    return obj


def enliven(obj: Any, cls: type, recorder: Any) -> Any:
    """Makes a real encoder, pass or command buffer one that tells `recorder` what it does."""
    obj.__class__ = cls
    obj._cmdgraph = recorder
    return obj


class _NoHandle:
    """A GPU object without a native handle."""

    _label: str
    _cmdgraph: Any

    @property
    def _internal(self) -> Any:
        raise CaptureError(
            f"this {type(self).__name__} was recorded by a cmdgraph capture and has no native object behind it: use it "
            "inside that capture only, and not through methods that were looked up before the capture began"
        )

    @property
    def uid(self) -> int:
        return id(self)

    def __del__(self) -> None:
        """There is nothing to give back."""


def _make_recorded(api: Any) -> tuple[type, type, type]:
    class GPUCommandBuffer(_NoHandle, api.GPUCommandBuffer):
        pass

    class GPUComputePassEncoder(_NoHandle, api.GPUComputePassEncoder):
        def set_pipeline(self, pipeline: Any) -> None:
            self._cmdgraph.set_pipeline(pipeline)

        def set_bind_group(
            self,
            index: int,
            bind_group: Any,
            dynamic_offsets_data: Any = (),
            dynamic_offsets_data_start: int | None = None,
            dynamic_offsets_data_length: int | None = None,
        ) -> None:
            offsets = _offsets(dynamic_offsets_data, dynamic_offsets_data_start, dynamic_offsets_data_length)
            self._cmdgraph.set_bind_group(index, bind_group, offsets)

        def set_immediates(
            self, range_offset: int, data: Any, data_offset: int = 0, data_size: int | None = None
        ) -> None:
            self._cmdgraph.set_immediates(range_offset, _part(data, data_offset, data_size))

        def dispatch_workgroups(
            self, workgroup_count_x: int, workgroup_count_y: int = 1, workgroup_count_z: int = 1
        ) -> None:
            self._cmdgraph.dispatch(workgroup_count_x, workgroup_count_y, workgroup_count_z)

        def dispatch_workgroups_indirect(self, indirect_buffer: Any, indirect_offset: int) -> None:
            self._cmdgraph.dispatch_indirect(indirect_buffer, indirect_offset)

        def end(self) -> None:
            self._cmdgraph.end()

        def push_debug_group(self, group_label: str) -> None:
            self._cmdgraph.push_group(group_label)

        def pop_debug_group(self) -> None:
            self._cmdgraph.pop_group()

        def insert_debug_marker(self, marker_label: str) -> None:
            self._cmdgraph.mark(marker_label)

        def _write_timestamp(self, query_set: Any, query_index: int) -> None:
            del query_set, query_index
            self._cmdgraph.encoder.unsupported("write_timestamp")

        def _begin_pipeline_statistics_query(self, query_set: Any, query_index: int) -> None:
            del query_set, query_index
            self._cmdgraph.encoder.unsupported("begin_pipeline_statistics_query")

    class GPUCommandEncoder(_NoHandle, api.GPUCommandEncoder):
        def begin_compute_pass(self, *, label: str = "", timestamp_writes: Any = None) -> Any:
            return recorded(
                GPUComputePassEncoder, label, self._device, self._cmdgraph.begin_pass(label, timestamp_writes)
            )

        def copy_buffer_to_buffer(
            self,
            source: Any,
            source_offset: int,
            destination: Any,
            destination_offset: int,
            size: int | None = None,
        ) -> None:
            self._cmdgraph.copy(source, source_offset, destination, destination_offset, size)

        def clear_buffer(self, buffer: Any, offset: int = 0, size: int | None = None) -> None:
            self._cmdgraph.clear(buffer, offset, size)

        def finish(self, *, label: str = "") -> Any:
            self._cmdgraph.finish()
            return recorded(GPUCommandBuffer, label, self._device, self._cmdgraph)

        def push_debug_group(self, group_label: str) -> None:
            self._cmdgraph.push_group(group_label)

        def pop_debug_group(self) -> None:
            self._cmdgraph.pop_group()

        def insert_debug_marker(self, marker_label: str) -> None:
            self._cmdgraph.mark(marker_label)

    for name in _NO_NODES:
        setattr(GPUCommandEncoder, name, _refusing(name))
    return GPUCommandEncoder, GPUComputePassEncoder, GPUCommandBuffer


def _refusing(name: str) -> Callable[..., None]:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> None:
        del args, kwargs
        self._cmdgraph.unsupported(name.lstrip("_"))

    return refuse


def _make_live(api: Any) -> tuple[type, type, type]:
    recorded_encoder, recorded_pass, _ = classes(api, live=False)

    class GPUCommandBuffer(api.GPUCommandBuffer):
        pass

    class GPUComputePassEncoder(api.GPUComputePassEncoder):
        pass

    class GPUCommandEncoder(api.GPUCommandEncoder):
        def begin_compute_pass(self, *, label: str = "", timestamp_writes: Any = None) -> Any:
            recorder = self._cmdgraph.begin_pass(label, timestamp_writes)
            real = super().begin_compute_pass(label=label, timestamp_writes=timestamp_writes)
            return enliven(real, GPUComputePassEncoder, recorder)

        def finish(self, *, label: str = "") -> Any:
            self._cmdgraph.finish()
            return enliven(super().finish(label=label), GPUCommandBuffer, self._cmdgraph)

    _do_both(GPUComputePassEncoder, recorded_pass, api.GPUComputePassEncoder)
    _do_both(GPUCommandEncoder, recorded_encoder, api.GPUCommandEncoder)
    return GPUCommandEncoder, GPUComputePassEncoder, GPUCommandBuffer


def _do_both(live: type, recording: type, real: type) -> None:
    """Gives `live` the methods of `recording`, each followed by the one of `real` where there is one."""
    for name, method in vars(recording).items():
        if callable(method) and not name.startswith("__") and name not in vars(live) and hasattr(real, name):
            setattr(live, name, _both(method, getattr(real, name)))


def _both(record: Callable[..., Any], real: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(real)
    def both(self: Any, *args: Any, **kwargs: Any) -> Any:
        record(self, *args, **kwargs)
        return real(self, *args, **kwargs)

    return both


def _offsets(data: Any, start: int | None, length: int | None) -> list[int]:
    """The dynamic offsets of set_bind_group, as wgpu-py reads its three arguments."""
    if (start is None) != (length is None):
        raise ValueError("Dynamic offsets start and length must be both set or both None.")
    if start is None or length is None:
        return list(data)
    if start < 0 or length < 0:
        raise ValueError("Dynamic offsets start and length must not be negative.")
    return list(data[start : start + length])


def _part(data: Any, offset: int, size: int | None) -> bytes:
    """The bytes of `data` that set_immediates takes."""
    view = memoryview(data).cast("B")
    end = view.nbytes if size is None else offset + size
    if not 0 <= offset <= end <= view.nbytes:
        raise ValueError(f"set_immediates(): bytes {offset}..{end} are not within the {view.nbytes} bytes of the data")
    return bytes(view[offset:end])
