"""Reads GGUF model files: metadata at once, tensors when asked for.

The header is parsed here because PyPI `gguf`'s reader builds an object for each vocabulary entry, which takes
seconds; the block formats are that package's. A file is hostile input: every count is held against the bytes
that are left before anything is allocated. Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import math
import os
import stat
import struct
from pathlib import Path
from typing import Any

import numpy as np
from attrs import field, frozen
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

from llm.blocks import Blocks, unpack_blocks
from llm.errors import GGUFError, ModelFileError, UnsupportedModelError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
DEFAULT_ALIGNMENT = 32
MAX_DIMENSIONS = 4

BLOCK_FORMATS = tuple(
    GGMLQuantizationType[name] for name in ("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q4_K", "Q6_K")
)

# Smallest encodings, to hold a count against the bytes left: key length + type + one byte of value, and
# name length + dimension count + one dimension + type + offset.
MIN_METADATA_BYTES = 8 + 4 + 1
MIN_TENSOR_INFO_BYTES = 8 + 4 + 8 + 4 + 8

_STRING, _ARRAY = 8, 9
_SCALARS: dict[int, np.dtype[Any]] = {
    0: np.dtype("<u1"),
    1: np.dtype("<i1"),
    2: np.dtype("<u2"),
    3: np.dtype("<i2"),
    4: np.dtype("<u4"),
    5: np.dtype("<i4"),
    6: np.dtype("<f4"),
    7: np.dtype("?"),
    10: np.dtype("<u8"),
    11: np.dtype("<i8"),
    12: np.dtype("<f8"),
}


@frozen
class TensorInfo:
    """Where a tensor lies. `shape` is row-major (rows, columns), GGUF's dimensions reversed; `offset` is in
    the file.
    """

    name: str
    shape: tuple[int, ...]
    block_format: GGMLQuantizationType
    offset: int
    nbytes: int


@frozen(eq=False)
class GGUFFile:
    """An opened GGUF file: `metadata` by key, `tensors` by name. Arrays of numbers are numpy arrays, of
    strings lists.
    """

    path: Path
    metadata: dict[str, Any]
    tensors: dict[str, TensorInfo]
    _data: np.ndarray = field(repr=False)

    def tensor(self, name: str) -> np.ndarray:
        """The tensor `name` dequantised to float32, row-major.

        Raises UnsupportedModelError where the file has no such tensor, GGUFError where a value is not finite.
        """
        info = self._info(name)
        values = _dequantised(self._raw(info), info)
        if not np.isfinite(values).all():
            raise self._not_finite(name)
        return values

    def blocks(self, name: str) -> Blocks:
        """The matrix `name` of a quantised format as it is. Raises as `tensor` does."""
        info = self._info(name)
        with np.errstate(over="ignore"):
            blocks = unpack_blocks(self._raw(info), info.block_format, info.shape[0])
        if not blocks.is_finite():
            raise self._not_finite(name)
        return blocks

    def _info(self, name: str) -> TensorInfo:
        info = self.tensors.get(name)
        if info is None:
            raise UnsupportedModelError(
                f"{self.path}: the model has no tensor '{name}'; convert it again, or name another model"
            )
        return info

    def _raw(self, info: TensorInfo) -> np.ndarray:
        return self._data[info.offset : info.offset + info.nbytes]

    def _not_finite(self, name: str) -> GGUFError:
        return GGUFError(f"{self.path}: tensor '{name}' holds values that are not finite; fetch the file again")


def open_gguf(path: str | os.PathLike[str]) -> GGUFFile:
    """Map the file and parse its header.

    Raises ModelFileError where there is no such file, GGUFError where it is not a whole, well-formed GGUF
    file.
    """
    path = Path(path)
    data = _map(path)
    cursor = _Cursor(path, data)
    tensor_count, metadata_count = _read_preamble(cursor)
    metadata = _read_metadata(cursor, metadata_count)
    infos = [_read_tensor_info(cursor) for _ in range(tensor_count)]
    start = _align(cursor.position, _alignment(cursor, metadata))
    return GGUFFile(path, metadata, _place(cursor, infos, start), data)


def _map(path: Path) -> np.ndarray:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ModelFileError(f"{path} is not a regular file; name a .gguf file")
        if status.st_size < len(MAGIC):
            raise GGUFError(f"{path} is not a GGUF file: it holds only {status.st_size} bytes")
        return np.memmap(path, dtype=np.uint8, mode="r")
    except FileNotFoundError:
        raise ModelFileError(f"no model file at {path}; name a .gguf file that exists") from None
    except (OSError, ValueError) as error:
        raise ModelFileError(f"cannot read the model file {path}: {error}") from error


class _Cursor:
    """Reads forward through the mapped file and refuses to step over its end."""

    def __init__(self, path: Path, data: np.ndarray) -> None:
        self.path = path
        self.position = 0
        self.size = data.size
        self._view = data.data

    def fail(self, what: str) -> GGUFError:
        return GGUFError(f"{self.path}: {what} (at byte {self.position}); fetch the file again or name another one")

    def take(self, count: int, what: str) -> memoryview:
        if count > self.size - self.position:
            raise self.fail(f"the file ends inside {what}: {count} bytes wanted, {self.size - self.position} left")
        start = self.position
        self.position += count
        return self._view[start : self.position]

    def u32(self, what: str) -> int:
        return struct.unpack("<I", self.take(4, what))[0]

    def u64(self, what: str) -> int:
        return struct.unpack("<Q", self.take(8, what))[0]

    def count(self, what: str, smallest: int) -> int:
        """A count of things that take at least `smallest` bytes each: more than the file could hold is
        refused.
        """
        count = self.u64(f"the count of {what}")
        if count * smallest > self.size - self.position:
            raise self.fail(f"{count} {what} are announced, more than the file could hold")
        return count

    def string(self, what: str) -> str:
        raw = self.take(self.u64(what), what)
        try:
            return str(raw, "utf-8")
        except UnicodeDecodeError:
            raise self.fail(f"{what} is not UTF-8 text") from None


def _read_preamble(cursor: _Cursor) -> tuple[int, int]:
    magic = bytes(cursor.take(4, "the magic number"))
    if magic != MAGIC:
        raise cursor.fail(f"not a GGUF file: it begins with {magic!r}, not {MAGIC!r}")
    version = cursor.u32("the version")
    if version not in VERSIONS:
        swapped = " (it looks like a big-endian file)" if version & 0xFFFF == 0 else ""
        raise cursor.fail(f"GGUF version {version} is not supported{swapped}; versions {VERSIONS} are")
    tensor_count = cursor.count("tensors", MIN_TENSOR_INFO_BYTES)
    metadata_count = cursor.count("metadata entries", MIN_METADATA_BYTES)
    return tensor_count, metadata_count


def _read_metadata(cursor: _Cursor, count: int) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    for _ in range(count):
        key = cursor.string("a metadata key")
        if key in metadata:
            raise cursor.fail(f"metadata key '{key}' occurs twice")
        kind = cursor.u32(f"the type of metadata '{key}'")
        metadata[key] = _read_value(cursor, key, kind)
    return metadata


def _read_value(cursor: _Cursor, key: str, kind: int) -> Any:
    if kind == _STRING:
        return cursor.string(f"metadata '{key}'")
    if kind == _ARRAY:
        return _read_array(cursor, key)
    dtype = _scalar(cursor, key, kind)
    return np.frombuffer(cursor.take(dtype.itemsize, f"metadata '{key}'"), dtype)[0].item()


def _read_array(cursor: _Cursor, key: str) -> Any:
    kind = cursor.u32(f"the element type of metadata '{key}'")
    if kind == _STRING:
        return [cursor.string(f"metadata '{key}'") for _ in range(cursor.count(f"strings in '{key}'", 8))]
    dtype = _scalar(cursor, key, kind)
    count = cursor.count(f"elements of '{key}'", dtype.itemsize)
    return np.frombuffer(cursor.take(count * dtype.itemsize, f"metadata '{key}'"), dtype)


def _scalar(cursor: _Cursor, key: str, kind: int) -> Any:
    dtype = _SCALARS.get(kind)
    if dtype is None:
        raise cursor.fail(f"metadata '{key}' has the unknown value type {kind}")
    return dtype


def _read_tensor_info(cursor: _Cursor) -> TensorInfo:
    name = cursor.string("a tensor name")
    dimensions = cursor.u32(f"the dimension count of tensor '{name}'")
    if not 1 <= dimensions <= MAX_DIMENSIONS:
        raise cursor.fail(f"tensor '{name}' has {dimensions} dimensions; 1 to {MAX_DIMENSIONS} are allowed")
    shape = tuple(reversed([cursor.u64(f"the shape of tensor '{name}'") for _ in range(dimensions)]))
    block_format = _block_format(cursor, name, cursor.u32(f"the block format of tensor '{name}'"))
    offset = cursor.u64(f"the offset of tensor '{name}'")
    return TensorInfo(name, shape, block_format, offset, _byte_count(cursor, name, shape, block_format))


def _block_format(cursor: _Cursor, name: str, number: int) -> GGMLQuantizationType:
    for known in BLOCK_FORMATS:
        if known.value == number:
            return known
    try:
        label = GGMLQuantizationType(number).name
    except ValueError:
        label = str(number)
    names = ", ".join(known.name for known in BLOCK_FORMATS)
    raise cursor.fail(f"tensor '{name}' has the block format {label}; supported are {names}")


def _byte_count(cursor: _Cursor, name: str, shape: tuple[int, ...], block_format: GGMLQuantizationType) -> int:
    elements = math.prod(shape)
    block, block_bytes = GGML_QUANT_SIZES[block_format]
    if elements == 0:
        raise cursor.fail(f"tensor '{name}' is empty: its shape is {shape}")
    if shape[-1] % block:
        raise cursor.fail(
            f"tensor '{name}' of shape {shape}: a row is no multiple of {block_format.name}'s block of {block}"
        )
    return elements // block * block_bytes


def _alignment(cursor: _Cursor, metadata: dict[str, Any]) -> int:
    alignment = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or alignment <= 0 or alignment % 8:
        raise cursor.fail(f"general.alignment is {alignment!r}; it must be a multiple of 8")
    return alignment


def _align(position: int, alignment: int) -> int:
    return -(-position // alignment) * alignment


def _place(cursor: _Cursor, infos: list[TensorInfo], start: int) -> dict[str, TensorInfo]:
    """The tensors by name, with offsets from the start of the file; every one lies inside it."""
    placed: dict[str, TensorInfo] = {}
    for info in infos:
        offset = start + info.offset
        if info.name in placed:
            raise cursor.fail(f"tensor '{info.name}' occurs twice")
        if info.offset % 4:
            raise cursor.fail(f"tensor '{info.name}' lies at the odd offset {info.offset}")
        if offset + info.nbytes > cursor.size:
            raise cursor.fail(
                f"the file is truncated: tensor '{info.name}' ends at byte {offset + info.nbytes}, "
                f"the file at {cursor.size}"
            )
        placed[info.name] = TensorInfo(info.name, info.shape, info.block_format, offset, info.nbytes)
    return placed


def _dequantised(raw: np.ndarray, info: TensorInfo) -> np.ndarray:
    # Damaged scales overflow quietly here; the caller looks for values that are not finite.
    with np.errstate(all="ignore"):
        values = dequantize(_as_long_rows(raw, info), info.block_format)
    return values.astype(np.float32, copy=False).reshape(info.shape)


def _as_long_rows(raw: np.ndarray, info: TensorInfo) -> np.ndarray:
    """Blocks do not depend on their row: `gguf` takes 16 rows a turn, so longer rows mean fewer turns (3
    times faster).
    """
    block_bytes = GGML_QUANT_SIZES[info.block_format][1]
    blocks = raw.size // block_bytes
    blocks_a_row = math.gcd(blocks, 512)
    return raw.reshape(blocks // blocks_a_row, blocks_a_row * block_bytes)
