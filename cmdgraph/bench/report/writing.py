"""Puts the files of a report into a folder: all of them or none."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from cmdgraph.bench.results import ResultError

__all__ = ["write_folder"]


def write_folder(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Writes `files`, text by name below `folder`; other files that are there stay.

    All are written under a temporary name first, so that a full disk leaves nothing half done.

    Raises:
        ResultError: the folder cannot be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".report-") as name:
            new = Path(name)
            for path, text in files.items():
                (new / path).parent.mkdir(parents=True, exist_ok=True)
                (new / path).write_text(text, encoding="utf-8")
            for path in files:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                os.replace(new / path, folder / path)
    except OSError as error:
        raise ResultError(f"cannot write the report into {folder}: {error.strerror or error}") from error
    return [folder / path for path in files]
