"""Saved graphs for tests: taken apart, changed, and put together again with checksums that fit."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema

from cmdgraph.container.archive import CONTENTS, MANIFEST

__all__ = ["changed", "contents_of", "manifest_of", "packed", "sealed", "validate"]

_SCHEMA = jsonschema.Draft202012Validator(
    json.loads((Path(__file__).resolve().parents[2] / "spec_proposal" / "format.schema.json").read_text())
)


def validate(path: Path) -> None:
    """Holds the manifest of a zip file or a folder against the schema of spec_proposal."""
    _SCHEMA.validate(json.loads(_text(path)))


def manifest_of(path: Path) -> dict[str, Any]:
    """The manifest of a zip file or a folder, without its checksum."""
    manifest = json.loads(_text(path))
    del manifest["sha256"]
    return manifest


def _text(path: Path) -> bytes:
    return (path / MANIFEST).read_bytes() if path.is_dir() else zipfile.ZipFile(path).read(MANIFEST)


def contents_of(path: Path) -> bytes:
    """The contents file of a zip file."""
    return zipfile.ZipFile(path).read(CONTENTS)


def sealed(manifest: Any) -> bytes:
    """Any JSON object as a manifest with a checksum that fits."""
    body = json.dumps(manifest, separators=(",", ":")).encode()[:-1]
    return body + b',\n"sha256":"' + hashlib.sha256(body).hexdigest().encode() + b'"}\n'


def packed(path: Path, manifest: bytes, contents: bytes, **options: Any) -> Path:
    """A zip file of the two."""
    with zipfile.ZipFile(path, "w", **options) as archive:
        archive.writestr(CONTENTS, contents)
        archive.writestr(MANIFEST, manifest)
    return path


def changed(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """The file with another manifest: `change` edits it in place."""
    manifest = manifest_of(path)
    change(manifest)
    return packed(path.with_name("changed.zip"), sealed(manifest), contents_of(path))
