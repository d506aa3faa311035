"""Writes spec_proposal/format.schema.json, the JSON Schema of a saved graph's manifest; `--check` only compares."""

from __future__ import annotations

import json
from pathlib import Path

from cmdgraph.container.manifest import schema
from scripts.sections import put

PATH = Path(__file__).resolve().parent.parent / "spec_proposal" / "format.schema.json"


def text(_: str = "") -> str:
    """The schema as it stands in the file."""
    return json.dumps(schema(), indent=1) + "\n"


if __name__ == "__main__":
    put(PATH, text, "python -m scripts.format_schema")
