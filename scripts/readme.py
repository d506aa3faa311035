"""Puts the tables of README.md in place, made from the JSON files of spec_proposal/results; `--check` only compares.

A table stands between `<!-- results: EXPERIMENT -->` and `<!-- end -->`, one for each file of that experiment.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import llm.bench
from cmdgraph.bench import markdown

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "spec_proposal" / "results"
RENDERERS = {"decode": llm.bench.to_markdown, "strategies": markdown.strategies}


def tables(experiment: str) -> str:
    """All results of one experiment as Markdown, real adapters first.

    Raises:
        SystemExit: there is no such result.
    """
    reports = [json.loads(path.read_text()) for path in sorted(RESULTS.glob(f"{experiment}-*.json"))]
    if not reports:
        raise SystemExit(f"readme: no {RESULTS.relative_to(ROOT)}/{experiment}-*.json; make results measures them")
    reports.sort(key=lambda report: report["environment"]["software_adapter"])
    return "\n\n".join(RENDERERS[experiment](report) for report in reports)


def rendered(text: str) -> str:
    """`text` with every table made anew."""
    return re.sub(
        r"(<!-- results: (\w+) -->\n).*?(<!-- end -->)",
        lambda match: f"{match[1]}\n{tables(match[2])}\n\n{match[3]}",
        text,
        flags=re.DOTALL,
    )


def main() -> None:
    readme = ROOT / "README.md"
    before = readme.read_text()
    after = rendered(before)
    if "--check" in sys.argv[1:]:
        if after != before:
            raise SystemExit("readme: the tables differ from spec_proposal/results; make readme writes them")
    else:
        readme.write_text(after)


if __name__ == "__main__":
    main()
