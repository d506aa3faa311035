"""Reads safetensors files, one or the shards that an index names: headers at once, tensors when asked for.

A file is hostile input: the header's size, shapes and offsets are held against the bytes that are there. Format:
https://huggingface.co/docs/safetensors
"""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from attrs import field, frozen

from llm.errors import ModelFileError, UnsupportedModelError

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
MAX_HEADER = 100 << 20
_DTYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "BF16": np.dtype("<u2")}


@frozen(eq=False)
class Tensor:
    """A tensor in a mapped file. `shape` is row-major."""

    path: Path
    name: str
    kind: str
    shape: tuple[int, ...]
    _raw: np.ndarray = field(repr=False)

    def values(self) -> np.ndarray:
        """As float32. Raises ModelFileError where a value is not finite."""
        raw = self._raw.view(_DTYPES[self.kind])
        values = (raw.astype(np.uint32) << 16).view(np.float32) if self.kind == "BF16" else raw.astype(np.float32)
        if not np.isfinite(values).all():
            raise ModelFileError(f"{self.path}: tensor '{self.name}' holds values that are not finite")
        return values.reshape(self.shape)


def open_directory(folder: Path) -> dict[str, Tensor]:
    """The tensors of a model's directory by name: of `model.safetensors`, or of the shards that the index names.

    Raises ModelFileError where a file is missing or damaged, UnsupportedModelError for another dtype.
    """
    index = folder / INDEX
    if not index.is_file():
        return _open(folder / SINGLE)
    named = read_json(index).get("weight_map")
    if not isinstance(named, dict) or not all(isinstance(shard, str) for shard in named.values()):
        raise ModelFileError(f"{index}: no 'weight_map' from tensor to shard; fetch the model again")
    tensors: dict[str, Tensor] = {}
    for shard in sorted(set(named.values())):
        if Path(shard).name != shard:
            raise ModelFileError(f"{index}: '{shard}' is no file name in the same directory")
        found = _open(folder / shard)
        tensors |= {name: tensor for name, tensor in found.items() if named.get(name) == shard}
    missing = [name for name in named if name not in tensors]
    if missing:
        raise ModelFileError(
            f"{folder / named[missing[0]]}: tensor '{missing[0]}' is not in the shard that the index names"
        )
    return tensors


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file. Raises ModelFileError where there is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelFileError(
            f"no file {path}; the directory must hold config.json, tokenizer.json and safetensors"
        ) from None
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{path} is no readable JSON file: {error}") from error
    if not isinstance(value, dict):
        raise ModelFileError(f"{path} holds no JSON object")
    return value


def _open(path: Path) -> dict[str, Tensor]:
    try:
        data = np.memmap(path, dtype=np.uint8, mode="r")
    except FileNotFoundError:
        raise ModelFileError(f"the shard {path} is missing; fetch the model again") from None
    except (OSError, ValueError) as error:
        raise ModelFileError(f"cannot read {path}: {error}") from error
    size = int.from_bytes(data[:8].tobytes(), "little") if data.size >= 8 else -1
    if not 2 <= size <= min(MAX_HEADER, data.size - 8):
        raise ModelFileError(f"{path} is no safetensors file, or it is truncated: its header has no valid size")
    try:
        header = json.loads(data[8 : 8 + size].tobytes())
    except ValueError as error:
        raise ModelFileError(f"{path} is no safetensors file: its header is no JSON ({error})") from error
    if not isinstance(header, dict):
        raise ModelFileError(f"{path} is no safetensors file: its header is no JSON object")
    body = data[8 + size :]
    return {name: _tensor(path, name, entry, body) for name, entry in header.items() if name != "__metadata__"}


def _tensor(path: Path, name: str, entry: Any, body: np.ndarray) -> Tensor:
    try:
        kind, shape, (start, end) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
    except (TypeError, KeyError, ValueError):
        raise ModelFileError(f"{path}: tensor '{name}' has no dtype, shape and data_offsets") from None
    if kind not in _DTYPES:
        raise UnsupportedModelError(f"{path}: tensor '{name}' is of dtype {kind}; supported are {', '.join(_DTYPES)}")
    whole = all(isinstance(number, int) and number >= 0 for number in (*shape, start, end))
    if not whole or end - start != math.prod(shape) * _DTYPES[kind].itemsize:
        raise ModelFileError(f"{path}: tensor '{name}' has a size that does not match its shape {shape}")
    if end > body.size:
        raise ModelFileError(f"{path} is truncated: tensor '{name}' ends at byte {end} of {body.size}")
    return Tensor(path, name, kind, shape, body[start:end])
