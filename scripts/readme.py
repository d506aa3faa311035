"""Puts the tables of README.md in place, made from the JSON files of spec_proposal/results; `--check` only compares.

A table stands between `<!-- results: NAME -->` and `<!-- end -->` and is made from NAME.json.
"""

from __future__ import annotations

from pathlib import Path

import llm.bench
import llm.files
from cmdgraph.bench import markdown, results
from scripts import bundle_bench
from scripts.sections import filled, put

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "spec_proposal" / "results"
RENDERERS = {
    "bundles": bundle_bench.to_markdown,
    "decode": llm.bench.to_markdown,
    "endurance": markdown.endurance,
    "files": llm.files.to_markdown,
    "strategies": markdown.strategies,
}


def table(name: str) -> str:
    """One result as Markdown.

    Raises:
        SystemExit: there is no such result.
    """
    path = RESULTS / f"{name}.json"
    if not path.exists():
        raise SystemExit(f"readme: no {path.relative_to(ROOT)}; make bench measures it")
    report = results.read(path)
    return RENDERERS[report["experiment"]](report)


def rendered(text: str) -> str:
    """`text` with every table made anew."""
    return filled(text, table, "results: ")


def main() -> None:
    put(ROOT / "README.md", rendered, "make readme")


if __name__ == "__main__":
    main()
