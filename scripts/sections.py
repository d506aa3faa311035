"""Parts of Markdown pages that are made, not typed: between `<!-- MARK NAME -->` and `<!-- end -->`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

__all__ = ["filled", "put"]


def filled(text: str, make: Callable[[str], str], mark: str = "") -> str:
    """`text` with what `make` gives for each section's name, of those that begin with `mark`."""
    return re.sub(
        rf"(<!-- {mark}([\w-]+) -->\n).*?(<!-- end -->)",
        lambda match: f"{match[1]}\n{make(match[2])}\n\n{match[3]}",
        text,
        flags=re.DOTALL,
    )


def put(page: Path, rendered: Callable[[str], str], remedy: str) -> None:
    """Writes the page anew; with `--check` on the command line it only compares.

    Raises:
        SystemExit: the page differs and was only to be compared.
    """
    before = page.read_text()
    after = rendered(before)
    if "--check" not in sys.argv[1:]:
        page.write_text(after)
    elif after != before:
        raise SystemExit(f"{page.name}: its tables differ from what they are made from; {remedy} writes them")
