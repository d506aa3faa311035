"""The weights of a model on the GPU, made once and shared by all plans."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import wgpu

from llm.errors import DeviceError, UsageError
from llm.packing import pack
from llm.plans.plan import Format, Stored

UPLOAD_CHUNK = 16 << 20
Dtype = str
DTYPES = ("f32", "f16", "native")

Progress = Callable[[int, int], None]


class WeightStore:
    """Buffers of weights by name, uploaded when they are first asked for.

    `weights` maps the names of llm.weights to float32 arrays. `dtype` is what matrices are kept as on the GPU: f32,
    f16, or native, as the file has them: 4 and 8 bits stay so, where the weights have a method `kept_formats`.

    Raises UsageError for another dtype.
    """

    def __init__(self, device: Any, weights: Mapping[str, Any], dtype: Dtype = "f32") -> None:
        if dtype not in DTYPES:
            raise UsageError(f"no dtype '{dtype}'; there are: {', '.join(DTYPES)}")
        self.device = device
        self.dtype = dtype
        self.formats: Mapping[str, Format] = {}
        if dtype == "f16":
            self.formats = dict.fromkeys(weights, "f16")
        elif dtype == "native" and hasattr(weights, "kept_formats"):
            self.formats = weights.kept_formats()
        self._weights = weights
        self._made: dict[str, tuple[Stored, Any]] = {}

    def buffers(self, wanted: Mapping[str, Stored], progress: Progress | None = None) -> dict[str, Any]:
        """The buffers that `wanted` describes. `progress(done, total)` is called for each."""
        for done, (name, stored) in enumerate(wanted.items()):
            if name not in self._made or self._made[name][0] != stored:
                self._made[name] = (stored, self._upload(name, stored))
            if progress is not None:
                progress(done + 1, len(wanted))
        return {name: self._made[name][1] for name in wanted}

    @property
    def nbytes(self) -> int:
        """Bytes of all weights uploaded so far."""
        return sum(stored.nbytes for stored, _ in self._made.values())

    def _upload(self, name: str, stored: Stored) -> Any:
        check_size(self.device, name, stored.nbytes)
        return upload(self.device, name, pack(stored, self._weights))


def upload(device: Any, name: str, data: np.ndarray) -> Any:
    """A storage buffer with `data` in it, sent in chunks."""
    data = np.ascontiguousarray(data).view(np.uint8).reshape(-1)
    check_size(device, name, data.size)
    usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_DST
    buffer = device.create_buffer(label=name, size=max(16, -(-data.size // 16) * 16), usage=usage)
    for start in range(0, data.size, UPLOAD_CHUNK):
        device.queue.write_buffer(buffer, start, data[start : start + UPLOAD_CHUNK])
        device.queue.submit([])  # sends the chunk off, so that its staging memory can be used again
    return buffer


def binding_limit(device: Any) -> int:
    """Bytes that a storage buffer may have and be bound whole."""
    return min(device.limits["max-storage-buffer-binding-size"], device.limits["max-buffer-size"])


def check_size(device: Any, name: str, size: int) -> None:
    """Raises DeviceError where the device binds no buffer of that many bytes."""
    limit = binding_limit(device)
    if size > limit:
        raise DeviceError(
            f"'{name}' takes {size / 2**20:.0f} MiB, but this device binds at most {limit / 2**20:.0f}; "
            "use a smaller model, a shorter context, or an adapter with larger limits"
        )
