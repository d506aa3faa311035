"""Writes small GGUF files for tests."""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gguf.constants import GGMLQuantizationType
from gguf.quants import quantize

ALIGNMENT = 32
U32, F32, BOOL, STRING, ARRAY, I32 = 4, 6, 7, 8, 9, 5


def gguf_bytes(
    metadata: Mapping[str, Any], tensors: Mapping[str, tuple[np.ndarray, str]], *, version: int = 3
) -> bytes:
    """A whole file. Each tensor is its values and the name of its block format."""
    header = [b"GGUF", struct.pack("<IQQ", version, len(tensors), len(metadata))]
    header += [_string(key) + _value(value) for key, value in metadata.items()]
    data = b""
    for name, (values, block_format) in tensors.items():
        number = GGMLQuantizationType[block_format]
        shape = values.shape[::-1]
        header.append(_string(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape))
        header.append(struct.pack("<IQ", number.value, len(data)))
        data += _aligned(quantize(np.ascontiguousarray(values, dtype=np.float32), number).tobytes())
    return _aligned(b"".join(header)) + data


def write_gguf(path: Path, metadata: Mapping[str, Any], tensors: Mapping[str, tuple[np.ndarray, str]]) -> Path:
    """Write the file and give its path back."""
    path.write_bytes(gguf_bytes(metadata, tensors))
    return path


def _string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(value: Any) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", BOOL, value)
    if isinstance(value, int):
        return struct.pack("<II", U32, value)
    if isinstance(value, float):
        return struct.pack("<If", F32, value)
    if isinstance(value, str):
        return struct.pack("<I", STRING) + _string(value)
    if isinstance(value, np.ndarray):
        return struct.pack("<IIQ", ARRAY, I32, value.size) + value.astype("<i4").tobytes()
    return struct.pack("<IIQ", ARRAY, STRING, len(value)) + b"".join(map(_string, value))


def _aligned(raw: bytes) -> bytes:
    return raw + bytes(-len(raw) % ALIGNMENT)
