"""From the JSON files of any number of machines to one report: Markdown with plots, and one HTML page.

    make(Path("spec_proposal/results"), Path("build/report"))

`reading` checks the files, `evidence` answers questions about them, `claims` holds the paper's claims, `sections` has
a file for each experiment, `plots` one for each kind of plot, `assembly` puts the document together, `as_markdown` and
`as_html` write it. All sentences are templates that are filled from the results, with a branch for each outcome.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["make"]


def make(source: Path, target: Path, *, name: str = "report", mix: bool = False) -> list[Path]:
    """Reads all results below `source` and writes NAME.html, NAME.md and plots/*.svg into `target`.

    Gives the paths of what was written. The same results make the same bytes.

    Raises:
        ResultError: a file is no result, is damaged or of another version; the results are of several commits and `mix`
            is false; or `target` cannot be written.
    """
    # Not at the top: the command line must work where the packages of the extra `bench` are missing.
    from cmdgraph.bench.report import as_html, as_markdown, assembly, reading, writing

    document = assembly.document(reading.read_folder(source, mix=mix))
    files = {f"{name}.html": as_html.render(document), f"{name}.md": as_markdown.render(document)}
    files |= {f"plots/{drawing.name}.svg": as_markdown.plot(drawing) for drawing in document.drawings()}
    return writing.write_folder(target, files)
