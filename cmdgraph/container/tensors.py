"""The contents file: safetensors, written ahead of its data and read with every number checked.

The library of that name reads and writes whole files in memory, or maps them; contents here are streamed, into a zip
file too, and a file that shrinks while it is mapped kills its reader. The form is small: 8 bytes with the length of a
JSON header, the header, the data without gaps (https://huggingface.co/docs/safetensors#format).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Annotated

import msgspec
from attrs import frozen
from msgspec import Meta, Struct

from cmdgraph.container.archive import Span
from cmdgraph.errors import GraphFormatError

__all__ = ["WRITES", "Tensor", "header", "read_header"]

WRITES = "writes"
"""The tensor with the data of all write_buffer nodes."""
_DTYPES = {"U8": 1, "F16": 2, "F32": 4, "I32": 4, "U32": 4}
_LENGTH = 8


@frozen
class Tensor:
    """A tensor of one dimension: its dtype, and where its bytes are, counted from the beginning of the data."""

    dtype: str
    start: int
    end: int


class _Entry(Struct, frozen=True, forbid_unknown_fields=True):
    dtype: str
    shape: Annotated[tuple[Annotated[int, Meta(ge=0, le=2**53 - 1)], ...], Meta(max_length=8)]
    data_offsets: tuple[Annotated[int, Meta(ge=0, le=2**53 - 1)], Annotated[int, Meta(ge=0, le=2**53 - 1)]]


def header(tensors: Iterable[tuple[str, str, int]]) -> bytes:
    """What comes before the data of ``tensors``: name, dtype and number of bytes of each, in the order of the data."""
    entries, at = {}, 0
    for name, dtype, size in tensors:
        entries[name] = {"dtype": dtype, "shape": [size // _DTYPES[dtype]], "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(_LENGTH, "little") + text


def read_header(contents: Span, most_bytes: int, file: str, name: str) -> tuple[bytes, Mapping[str, Tensor], int]:
    """The header's bytes, the tensors by name, and where in `contents` the data begins.

    Raises:
        GraphFormatError: the header is damaged or longer than ``most_bytes``, or the tensors leave gaps or overlap.
    """
    if contents.size < _LENGTH:
        raise GraphFormatError.at(file, name, f"{contents.size} bytes are no safetensors file; it is truncated")
    length = int.from_bytes(contents.read(0, _LENGTH), "little")
    if length > most_bytes:
        raise GraphFormatError.at(
            file, name, f"a header of {length} bytes is over the limit of {most_bytes} (FileLimits.manifest_bytes)"
        )
    if length > contents.size - _LENGTH:
        raise GraphFormatError.at(
            file, name, f"a header of {length} bytes in a file of {contents.size}; it is truncated"
        )
    text = contents.read(0, _LENGTH + length)
    try:
        entries = msgspec.json.decode(text[_LENGTH:], type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as wrong:
        raise GraphFormatError.at(
            file, name, f"its header is no JSON object ({str(wrong)[:200]}); it is damaged"
        ) from None
    found = {tensor: _tensor(raw, file, tensor) for tensor, raw in entries.items()}
    at = 0
    for tensor, where in sorted(found.items(), key=lambda item: item[1].start):
        if where.start != at:
            raise GraphFormatError.at(
                file, f"{name}: {tensor}", f"begins at {where.start} of the data, expected {at}; no gaps"
            )
        at = where.end
    if at != contents.size - len(text):
        raise GraphFormatError.at(
            file, name, f"its tensors have {at} bytes, the file {contents.size - len(text)}; it is truncated or altered"
        )
    return text, found, len(text)


def _tensor(raw: msgspec.Raw, file: str, name: str) -> Tensor:
    place = f"tensor {name[:100]!r}"
    try:
        entry = msgspec.json.decode(raw, type=_Entry)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as wrong:
        raise GraphFormatError.at(file, place, f"{str(wrong)[:200]} in its header; it is damaged") from None
    if entry.dtype not in _DTYPES:
        raise GraphFormatError.at(file, place, f"dtype {entry.dtype[:20]!r}; expected one of {', '.join(_DTYPES)}")
    start, end = entry.data_offsets
    if len(entry.shape) != 1 or entry.shape[0] * _DTYPES[entry.dtype] != end - start:
        raise GraphFormatError.at(
            file, place, f"shape {list(entry.shape)} of {entry.dtype} does not fill bytes {start}..{end}"
        )
    return Tensor(entry.dtype, start, end)
