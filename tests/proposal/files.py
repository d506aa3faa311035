"""What stands in spec_proposal: the sentences of the text, the tests that name them, the rules of the polyfill."""

from __future__ import annotations

import re
from pathlib import Path

from attrs import frozen

PROPOSAL = Path(__file__).resolve().parents[2] / "spec_proposal"
SPECS = sorted((PROPOSAL / "conformance" / "tests").glob("*.spec.js"))


@frozen
class ConformanceTest:
    file: str
    name: str
    covers: tuple[str, ...]
    beyond: str

    @property
    def id(self) -> str:
        return f"{self.file}:{self.name}"


@frozen
class Sentence:
    id: str
    text: str
    part: str


def conformance_tests() -> list[ConformanceTest]:
    """All conformance tests in the order of their files."""
    return [test for path in SPECS for test in _tests_of(path)]


def sentences() -> list[Sentence]:
    """The sentences of the text that bind, in its order; ``part`` is A or B."""
    text = (PROPOSAL / "index.bs").read_text()
    names = re.findall(r"<pre class=include>path: (sections/\w+\.bs)</pre>", text)
    return [
        Sentence(found[1], _plain(found[2]), "B" if name.endswith("graphs.bs") else "A")
        for name in names
        for found in re.finditer(r"<span class=rule id=([\w-]+)>(.*?)</span>", (PROPOSAL / name).read_text(), re.DOTALL)
    ]


def rules() -> list[str]:
    """The names of the polyfill's rules."""
    text = (PROPOSAL / "polyfill" / "rules.js").read_text()
    return re.findall(r"^  '([\w-]+)':", text, re.MULTILINE)


def _tests_of(path: Path) -> list[ConformanceTest]:
    parts = path.read_text().split("g.test('")[1:]
    return [
        ConformanceTest(
            file=path.name.removesuffix(".spec.js"),
            name=part.partition("'")[0],
            covers=tuple(re.findall(r"'([\w-]+)'", _between(part, ".covers(", ")\n"))),
            beyond=_between(part, ".beyondPolyfills('", "')"),
        )
        for part in parts
    ]


def _between(text: str, start: str, end: str) -> str:
    return text.partition(start)[2].partition(end)[0]


def _plain(markup: str) -> str:
    """The words of a sentence without Bikeshed's markup."""
    words = re.sub(r"\s+", " ", markup)
    words = re.sub(r"\{\{(?:[^|}]*\|)?(?:[^/}|]*/)?([^}|]*)\}\}", r"\1", words)
    words = re.sub(r"\[[=$](?:[^|\]]*\|)?(?:[^/\]|]*/)?([^\]|]*?)[=$]\]", r"\1", words)
    return (
        re.sub(r"</?\w+[^>]*>", "", words)
        .replace("|", "")
        .replace("&le;", "≤")
        .replace("&lt;", "<")
        .replace("&ge;", "≥")
        .replace("&gt;", ">")
    )
