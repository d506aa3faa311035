"""Files and folders: in place all at once or not at all, and readable by other tools."""

from __future__ import annotations

import errno
import os
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest

import cmdgraph
from cmdgraph import FileLimits, SaveError
from cmdgraph.container.archive import CONTENTS, MANIFEST, opened, writing
from cmdgraph.container.zip_directory import read_directory
from cmdgraph.container.zip_writer import ZipWriter
from tests.kit import INC, Kit, captured

NAMES = ["graph.zip", "graph"]


def put(path: Path, contents: bytes, digest: str = "0" * 64) -> None:
    with writing(path) as target:
        target.write(contents)
        target.finish(digest, lambda name: name.encode())


def got(path: Path) -> bytes:
    with opened(path, FileLimits()) as archive:
        span = archive.contents(archive.manifest.decode())
        return span.read(0, span.size)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_read_and_replaces_what_was_there(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    for n, digest in enumerate(["a" * 64, "b" * 64, "b" * 64]):
        put(path, b"contents %d" % n, digest)
        assert got(path) == b"contents %d" % n

    files = sorted(p.name for p in tmp_path.rglob("*") if p.is_file())
    assert files == (["graph.zip"] if name == "graph.zip" else [f"contents-{'b' * 16}.safetensors", MANIFEST])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("stage", ["contents", "manifest", "disk"])
def test_a_failed_save_leaves_what_was_there(
    name: str, stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name
    put(path, b"old", "a" * 64)

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def manifest(file: str) -> bytes:
        if stage == "manifest":
            full()
        return file.encode()

    if stage == "disk":
        monkeypatch.setattr(os, "fsync", full)

    def save() -> None:
        with writing(path) as target:
            target.write(b"new")
            if stage == "contents":
                full()
            target.finish("b" * 64, manifest)

    with pytest.raises(OSError, match="No space"):
        save()

    assert got(path) == b"old"
    assert not list(tmp_path.rglob(".saving-*"))


@pytest.mark.parametrize("name", NAMES)
def test_a_failed_first_save_leaves_nothing(name: str, tmp_path: Path) -> None:
    def save() -> None:
        with writing(tmp_path / name) as target:
            target.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save()

    assert list(tmp_path.iterdir()) == []


def test_other_things_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder.zip").mkdir()

    for path, words in ((tmp_path, "other things"), (tmp_path / "file", "is a file"), (tmp_path / "folder.zip", "zip")):
        with pytest.raises(SaveError, match=words):
            put(path, b"")
    with pytest.raises(FileNotFoundError):
        put(tmp_path / "no" / "such" / "folder", b"")
    assert (tmp_path / "notes").read_text() == (tmp_path / "file").read_text() == "mine"


def test_a_reader_meanwhile_sees_the_old_graph_or_the_new_one(native: Kit, tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    x = native.buffer([0] * 4, "x")
    graph = captured(native.device, native.call(INC, x))
    graph.save(folder)
    found: set[float] = set()
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            try:
                again = cmdgraph.load(folder, native.device)
            except cmdgraph.GraphFormatError as error:  # the contents of the manifest it has read are gone
                assert error.place.startswith("contents-")  # noqa: PT017
                continue
            found.add(native.read(again.outputs[0])[0])
            again.release()

    thread = threading.Thread(target=read)
    thread.start()
    for _ in range(20):
        graph.replay()
        graph.save(folder)
    stop.set()
    thread.join()

    assert found <= {float(n) for n in range(21)}


def test_directories_of_large_files_are_read(tmp_path: Path) -> None:
    """ZIP64: a sparse file of more than 4 GiB, and more entries' fields than 32 bits hold."""
    path = tmp_path / "large.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("small", b"123")
    with open(path, "r+b") as raw:  # the same after 5 GiB of nothing, which zip files allow
        data = raw.read()
        raw.seek(0)
        raw.truncate()
        raw.seek(5 << 30)
        raw.write(data)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("behind", b"4567")

    with open(path, "rb") as raw:
        found = read_directory(raw, path.stat().st_size)
        raw.seek(found["behind"].start)
        assert raw.read(found["behind"].size) == b"4567"
        raw.seek(found["small"].start)
        assert raw.read(found["small"].size) == b"123"
    assert found["small"].start > 1 << 32


def test_zip_tools_read_what_is_written_of_any_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "large.zip"
    large = bytes(range(256)) * 1000
    with open(path, "w+b") as file:
        archive = ZipWriter(file)
        archive.begin("large")
        archive.write(large)
        archive.write(memoryview(large)[:9])
        archive.begin("empty")
        file.seek(5 << 30)  # a hole, as if much had been written
        archive.begin("behind")
        archive.write(b"4567")
        archive.close()

    with zipfile.ZipFile(path) as found:
        assert found.namelist() == ["large", "empty", "behind"]
        assert found.read("large") == large + large[:9]
        assert found.read("behind") == b"4567"
        assert found.getinfo("behind").header_offset == 5 << 30
    with open(path, "rb") as file:
        mine = read_directory(file, path.stat().st_size)
        file.seek(mine["behind"].start)
        assert file.read(4) == b"4567"


def test_the_manifest_is_limited_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "graph.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(CONTENTS, b"")
        archive.writestr(MANIFEST, b" " * 1000)

    with (
        pytest.raises(cmdgraph.GraphFormatError, match="1000 bytes are over the limit of 999"),
        opened(path, FileLimits(manifest_bytes=999)),
    ):
        pass
