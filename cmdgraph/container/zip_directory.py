"""Reads the directory of a zip file that holds a graph: where its files lie.

Stricter than zip files may be, so that a short reader is enough and nothing can hide: files are stored as they are,
none is encrypted or split, no name appears twice, no comment follows the directory, nothing overlaps. Source:
https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT (sections 4.3.7 to 4.3.16).
"""

from __future__ import annotations

import struct
from typing import BinaryIO

from attrs import frozen

__all__ = ["DirectoryError", "Stored", "read_directory"]

MOST_FILES = 16
MOST_BYTES = 1 << 16
_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_ENCRYPTED = 0x2041
_U16, _U32 = 0xFFFF, 0xFFFFFFFF


class DirectoryError(Exception):
    """What is wrong with a zip file, in words."""


@frozen
class Stored:
    """A file within a zip file: where its bytes begin, and how many there are."""

    start: int
    size: int


def read_directory(file: BinaryIO, size: int) -> dict[str, Stored]:
    """The files of a zip file of ``size`` bytes, by name.

    Raises:
        DirectoryError: it is damaged, or not as described above.
    """
    at, length, count = _directory_place(file, size)
    if count > MOST_FILES or length > MOST_BYTES:
        raise DirectoryError(f"it holds {count} files in a directory of {length} bytes; a graph has two files")
    if at + length > size:
        raise DirectoryError("its directory reaches past its end; it is truncated")
    directory = _read(file, at, length)
    found: dict[str, Stored] = {}
    position = 0
    for _ in range(count):
        name, stored, position = _entry(directory, position, file, at)
        if name in found:
            raise DirectoryError(f"the name {name!r} appears twice")
        found[name] = stored
    end = 0
    for stored in sorted(found.values(), key=lambda s: s.start):
        if stored.start < end or stored.start + stored.size > at:
            raise DirectoryError("its files overlap or reach into its directory; it is damaged")
        end = stored.start + stored.size
    return found


def _directory_place(file: BinaryIO, size: int) -> tuple[int, int, int]:
    """Offset and length of the directory, and the number of files."""
    if size < _END.size:
        raise DirectoryError("it is too short for a zip file; it is truncated, or something else")
    mark, disk, start_disk, here, count, length, at, comment = _END.unpack(_read(file, size - _END.size, _END.size))
    if mark != b"PK\5\6" or comment:
        raise DirectoryError("no zip directory at its end; it is truncated, or something else")
    if disk or start_disk or here != count:
        raise DirectoryError("it is one part of several; a graph is one file")
    if count == _U16 or _U32 in (length, at):
        before = size - _END.size - _LOCATOR.size
        mark, _, end64, _ = _LOCATOR.unpack(_read(file, before, _LOCATOR.size)) if before > 0 else (b"", 0, 0, 0)
        if mark != b"PK\6\7" or end64 + _END64.size > size:
            raise DirectoryError("its ZIP64 record is missing; it is damaged")
        mark, _, _, _, _, _, _, count, length, at = _END64.unpack(_read(file, end64, _END64.size))
        if mark != b"PK\6\6":
            raise DirectoryError("its ZIP64 record is missing; it is damaged")
    return at, length, count


def _entry(directory: bytes, position: int, file: BinaryIO, end: int) -> tuple[str, Stored, int]:
    """A file of the directory at `position`: its name, its place, and where the next one begins."""
    if position + _ENTRY.size > len(directory):
        raise DirectoryError("its directory ends early; it is damaged")
    fields = _ENTRY.unpack_from(directory, position)
    mark, flags, method, packed, size = fields[0], fields[3], fields[4], fields[8], fields[9]
    name_length, extra_length, comment_length, at = fields[10], fields[11], fields[12], fields[16]
    if mark != b"PK\1\2":
        raise DirectoryError("its directory is damaged")
    position += _ENTRY.size
    raw = directory[position : position + name_length]
    extra = directory[position + name_length : position + name_length + extra_length]
    size, packed, at = _wide(extra, size, packed, at)
    name = raw.decode("ascii", "replace")
    if flags & _ENCRYPTED:
        raise DirectoryError(f"{name!r} is encrypted; a graph's files are not")
    if method or packed != size:
        raise DirectoryError(f"{name!r} is compressed; a graph's files are stored as they are (zip -0)")
    return name, Stored(_data_start(file, at, raw, end), size), position + name_length + extra_length + comment_length


def _wide(extra: bytes, *numbers: int) -> list[int]:
    """The same numbers, from the ZIP64 field where they do not fit into 32 bits."""
    values: list[int] = []
    position = 0
    while position + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, position)
        if kind == 1 and position + 4 + length <= len(extra):
            values = list(struct.unpack_from(f"<{length // 8}Q", extra, position + 4))
        position += 4 + length
    return [values.pop(0) if number == _U32 and values else number for number in numbers]


def _data_start(file: BinaryIO, at: int, name: bytes, end: int) -> int:
    """Where the bytes of a file begin: behind its local header, which repeats the name."""
    if at + _LOCAL.size > end:
        raise DirectoryError("a file lies behind its directory; it is damaged")
    fields = _LOCAL.unpack(_read(file, at, _LOCAL.size))
    mark, name_length, extra_length = fields[0], fields[9], fields[10]
    if mark != b"PK\3\4" or _read(file, at + _LOCAL.size, name_length) != name:
        raise DirectoryError(f"no file {name.decode('ascii', 'replace')!r} where the directory says; it is damaged")
    return at + _LOCAL.size + name_length + extra_length


def _read(file: BinaryIO, at: int, length: int) -> bytes:
    file.seek(at)
    data = file.read(length)
    if len(data) != length:
        raise DirectoryError("it ends early; it is truncated")
    return data
