"""Writes zip files of stored entries, with the CRC of a part computed on another thread while the part is written.

`zipfile` does one after the other, which takes a third longer. The form is that of `zip_directory`.
"""

from __future__ import annotations

import struct
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO

from attrs import define

__all__ = ["ZipWriter"]

_LOCAL = struct.Struct("<4s5H3L2H")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")
_VERSION = 45  # ZIP64
_DATE = 0x21  # 1 January 1980: the same graph gives the same file
_U32 = 0xFFFFFFFF
_SMALL = 1 << 16


@define
class _Entry:
    name: bytes
    at: int
    size: int = 0
    crc: int = 0


class ZipWriter:
    """A zip file that is being written to a file that can be sought in. Close it, or nobody can read it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._entries: list[_Entry] = []
        self._aside = ThreadPoolExecutor(1)

    def begin(self, name: str) -> None:
        """Begins an entry; `write` adds to it until the next one begins."""
        self._end_entry()
        self._entries.append(_Entry(name.encode("ascii"), self._file.tell()))
        self._file.write(self._local_header(self._entries[-1]))

    def write(self, data: Any) -> None:
        entry, size = self._entries[-1], len(memoryview(data).cast("B"))
        if size <= _SMALL:
            self._file.write(data)
            entry.crc = zlib.crc32(data, entry.crc)
        else:
            crc = self._aside.submit(zlib.crc32, data, entry.crc)
            self._file.write(data)
            entry.crc = crc.result()
        entry.size += size

    def close(self) -> None:
        """Writes the directory."""
        self._end_entry()
        at = self._file.tell()
        for entry in self._entries:
            self._file.write(_directory_entry(entry))
        length, count = self._file.tell() - at, len(self._entries)
        if at + length > _U32:
            end64 = self._file.tell()
            record = (_END64.size - 12, _VERSION, _VERSION, 0, 0, count, count, length, at)
            self._file.write(_END64.pack(b"PK\6\6", *record))
            self._file.write(_LOCATOR.pack(b"PK\6\7", 0, end64, 1))
        self._file.write(_END.pack(b"PK\5\6", 0, 0, count, count, min(length, _U32), min(at, _U32), 0))
        self.abandon()

    def abandon(self) -> None:
        """Ends the thread; the file is left as it is."""
        self._aside.shutdown()

    def _end_entry(self) -> None:
        """Puts the size and CRC of the last entry into its header."""
        if self._entries:
            here = self._file.tell()
            self._file.seek(self._entries[-1].at)
            self._file.write(self._local_header(self._entries[-1]))
            self._file.seek(here)

    @staticmethod
    def _local_header(entry: _Entry) -> bytes:
        extra = struct.pack("<2H2Q", 1, 16, entry.size, entry.size)
        fields = (_VERSION, 0, 0, 0, _DATE, entry.crc, _U32, _U32, len(entry.name), len(extra))
        return _LOCAL.pack(b"PK\3\4", *fields) + entry.name + extra


def _directory_entry(entry: _Entry) -> bytes:
    wide = [number for number in (entry.size, entry.size, entry.at) if number >= _U32]
    extra = struct.pack(f"<2H{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
    size = min(entry.size, _U32)
    fields = (_VERSION, _VERSION, 0, 0, 0, _DATE, entry.crc, size, size, len(entry.name), len(extra), 0, 0, 0, 0)
    return _ENTRY.pack(b"PK\1\2", *fields, min(entry.at, _U32)) + entry.name + extra
