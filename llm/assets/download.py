"""One file over HTTP, resumable: what arrived is kept in `NAME.part`, the next attempt asks for the rest."""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import urllib.error
from pathlib import Path
from typing import BinaryIO

from llm.assets import http_client
from llm.assets.progress import Progress, Report, megabytes

CHUNK = 1 << 18
# A connection may break this often in a row without one new byte before we give up.
FRUITLESS_ATTEMPTS = 3


class DownloadError(Exception):
    """The file did not arrive, or is another one than expected."""


def resumable(url: str, target: Path, *, size: int, sha256: str, bar: Progress, report: Report) -> None:
    """Fetches `url` into `target`: `size` bytes with hash `sha256`, or nothing appears under that name.

    Raises:
        DownloadError: the server cannot be reached or refuses, the connection keeps breaking, or the bytes
            are wrong. Good bytes stay in `target.part`; a wrong file is discarded.
        OSError: the file cannot be written.
    """
    part = target.with_name(target.name + ".part")
    resumed = _length(part) > 0
    if resumed:
        report(f"going on with {part.name} at {megabytes(_length(part))}")
    _fill(url, part, size, bar)
    if resumed and sha256_of(part) != sha256:
        report(f"{part.name} was left wrong by an earlier attempt; discarded, fetching all of it again")
        part.unlink()
        _fill(url, part, size, bar)
    found = sha256_of(part)
    if found != sha256:
        part.unlink()
        raise DownloadError(
            f"{http_client.public(url)} sent another file than expected (sha256 {found[:12]}..., expected "
            f"{sha256[:12]}...); it was discarded"
        )
    os.replace(part, target)


def sha256_of(path: Path) -> str:
    """The file's sha256 in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fill(url: str, part: Path, size: int, bar: Progress) -> None:
    """Appends to `part` until it has `size` bytes."""
    if _length(part) > size:
        part.unlink()
    bar.start_at(_length(part))
    fruitless = 0
    while (have := _length(part)) < size:
        trouble = _attempt(url, part, have, size, bar)
        fruitless = 0 if _length(part) > have else fruitless + 1
        if fruitless == FRUITLESS_ATTEMPTS:
            kept = f"{megabytes(_length(part))} of {megabytes(size)} are kept, the next run goes on from there"
            raise DownloadError(f"{http_client.public(url)}: {trouble}; {kept}")


def _attempt(url: str, part: Path, have: int, size: int, bar: Progress) -> str:
    """One request; gives what ended it. An answer that no repetition would change raises DownloadError."""
    try:
        with (
            http_client.get(url, {"Range": f"bytes={have}-"} if have else {}) as answer,
            part.open("ab") as file,
        ):
            if have and not _continues_at(answer, have):
                # The server knows no ranges: it sends the whole file.
                file.truncate(0)
                bar.start_at(0)
                have = 0
            _copy(answer, file, size - have, bar)
    except urllib.error.HTTPError as error:
        if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.unlink()
            return "the server does not have that range"
        if error.code < http.client.INTERNAL_SERVER_ERROR:
            raise DownloadError(f"{http_client.public(url)}: {http_client.reason(error)}") from error
        return http_client.reason(error)
    except http_client.ERRORS as error:
        return http_client.reason(error)
    return "the connection ended early"


def _copy(answer: http_client.Answer, file: BinaryIO, left: int, bar: Progress) -> None:
    while left and (data := _receive(answer, min(CHUNK, left))):
        file.write(data)
        bar.advance(len(data))
        left -= len(data)


def _receive(answer: http_client.Answer, count: int) -> bytes:
    try:
        return answer.read(count)
    except OSError as error:
        # Any error here is the network's, whatever its class, and must not be taken for a full disk.
        raise ConnectionError(error) from error


def _continues_at(answer: http_client.Answer, have: int) -> bool:
    found = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range", ""))
    return found is not None and int(found[1]) == have


def _length(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
