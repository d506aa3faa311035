"""spec_proposal/evaluation.md: made from the results that are beside it."""

from __future__ import annotations

import re
from pathlib import Path

from cmdgraph.bench.report import as_markdown, assembly, reading

PROPOSAL = Path(__file__).resolve().parent.parent / "spec_proposal"
PAGE = (PROPOSAL / "evaluation.md").read_text()


def test_it_is_made_from_the_results() -> None:
    document = assembly.document(reading.read_folder(PROPOSAL / "results", mix=True))

    assert as_markdown.render(document) == PAGE, "make evaluation writes it"


def test_its_plots_are_there() -> None:
    plots = re.findall(r"\((plots/[\w-]+\.svg)\)", PAGE)

    assert plots
    assert [plot for plot in plots if not (PROPOSAL / plot).exists()] == []
