"""The two ways a graph lies on disk: a zip file with stored entries, or a folder with the same two files.

Whichever it is, a save that fails leaves what was there before. A zip file is written under another name and put in
place at the end. In a folder the manifest is put in place at the end, and names the contents, whose name tells the
contents apart.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from attrs import define, frozen

from cmdgraph.container.limits import FileLimits
from cmdgraph.container.zip_directory import DirectoryError, read_directory
from cmdgraph.container.zip_writer import ZipWriter
from cmdgraph.errors import GraphFormatError, SaveError

__all__ = ["CONTENTS", "MANIFEST", "Archive", "Span", "Target", "opened", "writing"]

MANIFEST = "graph.json"
CONTENTS = "contents.safetensors"
_NAMED_CONTENTS = re.compile(r"contents-[0-9a-f]{16}\.safetensors")


# -- writing --------------------------------------------------------------------------------------------------------


class Target(Protocol):
    """What is being written: the contents first, in parts, then the manifest, once the contents have their name."""

    def write(self, data: Any) -> object: ...

    def finish(self, digest: str, manifest: Callable[[str], bytes]) -> None:
        """``digest`` tells these contents apart; ``manifest`` gives the manifest for the name they get."""


@contextmanager
def writing(path: Path) -> Iterator[Target]:
    """A target that becomes `path` when the block ends: a zip file if it ends in ".zip", else a folder.

    Raises:
        SaveError: `path` is a file without that ending, or a folder with other things in it.
        OSError: the disk is full, or may not be written to.
    """
    with _zip(path) if path.suffix == ".zip" else _folder(path) as target:
        yield target


@define
class _Zip:
    archive: ZipWriter

    def write(self, data: Any) -> None:
        self.archive.write(data)

    def finish(self, digest: str, manifest: Callable[[str], bytes]) -> None:
        del digest  # the two files are together already
        self.archive.begin(MANIFEST)
        self.archive.write(manifest(CONTENTS))
        self.archive.close()


@contextmanager
def _zip(path: Path) -> Iterator[_Zip]:
    if path.is_dir():
        raise SaveError(f"{path} is a folder; remove it, or save under a name that does not end in .zip")
    with _in_place_of(path) as file:
        archive = ZipWriter(file)
        try:
            archive.begin(CONTENTS)
            yield _Zip(archive)
        finally:
            archive.abandon()


@define
class _Folder:
    path: Path
    file: BinaryIO
    working: Path

    def write(self, data: Any) -> object:
        return self.file.write(data)

    def finish(self, digest: str, manifest: Callable[[str], bytes]) -> None:
        _sync(self.file)
        name = f"contents-{digest[:16]}.safetensors"
        os.replace(self.working, self.path / name)
        with _in_place_of(self.path / MANIFEST) as file:
            file.write(manifest(name))
        for other in self.path.iterdir():
            if _NAMED_CONTENTS.fullmatch(other.name) and other.name != name:
                other.unlink()


@contextmanager
def _folder(path: Path) -> Iterator[_Folder]:
    if path.exists() and not path.is_dir():
        raise SaveError(f"{path} is a file; save as a folder of another name, or under a name that ends in .zip")
    made = not path.exists()
    path.mkdir(exist_ok=True)
    if not made and any(path.iterdir()) and not (path / MANIFEST).exists():
        raise SaveError(f"{path} is a folder with other things in it; save under a new name")
    working = path / f".saving-{secrets.token_hex(8)}"
    try:
        with open(working, "xb") as file:
            yield _Folder(path, file, working)
    except BaseException:
        working.unlink(missing_ok=True)
        if made:
            with suppress(OSError):
                path.rmdir()
        raise


@contextmanager
def _in_place_of(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `path`, all of it on the disk, when the block ends well."""
    working = path.with_name(f".saving-{secrets.token_hex(8)}")
    try:
        with open(working, "xb") as file:
            yield file
            _sync(file)
        os.replace(working, path)
    except BaseException:
        working.unlink(missing_ok=True)
        raise


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


# -- reading --------------------------------------------------------------------------------------------------------


@frozen
class Span:
    """A part of a file."""

    file: BinaryIO
    start: int
    size: int

    def read(self, at: int, length: int) -> bytes:
        """Up to `length` bytes from `at`: fewer where the file has shrunk."""
        self.file.seek(self.start + at)
        return self.file.read(length)

    def read_into(self, at: int, part: memoryview) -> int:
        """Fills `part` with the bytes from `at`; the number of those that were there."""
        self.file.seek(self.start + at)
        done = 0
        while done < len(part) and (count := self.file.readinto(part[done:])):  # type: ignore[attr-defined]
            done += count
        return done


@frozen
class Archive:
    """An opened graph file: the bytes of its manifest, and a way to its contents by name."""

    manifest: bytes
    contents: Callable[[str], Span]


@contextmanager
def opened(path: Path, limits: FileLimits) -> Iterator[Archive]:
    """The graph file or folder at `path`, until the block ends.

    Raises:
        GraphFormatError: it is none, or its manifest is over the limit.
        OSError: it is not there, or cannot be read.
    """
    with ExitStack() as stack:
        spans = _files_of_folder(path, stack) if path.is_dir() else _files_of_zip(path, stack)
        manifest = spans(MANIFEST)
        if manifest.size > limits.manifest_bytes:
            raise GraphFormatError.at(
                path,
                MANIFEST,
                f"{manifest.size} bytes are over the limit of {limits.manifest_bytes} (FileLimits.manifest_bytes)",
            )
        yield Archive(manifest.read(0, manifest.size), spans)


def _files_of_folder(path: Path, stack: ExitStack) -> Callable[[str], Span]:
    def span(name: str) -> Span:
        try:
            file, size = _open(path / name, stack)
        except FileNotFoundError:
            raise GraphFormatError.at(path, name, "it is missing; copy the whole folder") from None
        return Span(file, 0, size)

    return span


def _files_of_zip(path: Path, stack: ExitStack) -> Callable[[str], Span]:
    file, size = _open(path, stack)
    try:
        directory = read_directory(file, size)
    except DirectoryError as wrong:
        raise GraphFormatError.at(path, "", f"this is no graph file: {wrong}") from None

    def span(name: str) -> Span:
        if name not in directory:
            raise GraphFormatError.at(path, name, f"no such file in it (it holds {str(list(directory))[:200]})")
        return Span(file, directory[name].start, directory[name].size)

    return span


def _open(path: Path, stack: ExitStack) -> tuple[BinaryIO, int]:
    """A plain file and its size. Devices and pipes, which may block or never end, are refused."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise GraphFormatError.at(path, "", "this is no plain file")
    file: Any = stack.enter_context(open(path, "rb", buffering=0, opener=_without_blocking))  # noqa: SIM115
    return file, os.fstat(file.fileno()).st_size


def _without_blocking(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
