"""Code that would overflow a compiler's stack is told from code that people write."""

from __future__ import annotations

from pathlib import Path

import pytest

from cmdgraph.container.shader_text import too_deep
from tests.kit import MAIN

SHADERS = sorted((Path(__file__).resolve().parents[2] / "shaders").rglob("*.wgsl"))


def body(text: str) -> str:
    return f"{MAIN} {{ {text} }}"


@pytest.mark.parametrize("path", SHADERS, ids=lambda path: path.name)
def test_real_shaders_pass(path: Path) -> None:
    assert too_deep(path.read_text()) is None


@pytest.mark.parametrize(
    "code",
    [
        body("let x = " + "(" * 90 + "1" + ")" * 90 + ";"),
        body("let x = 1" + " + 1" * 500 + "; let y = 1" + " + 1" * 500 + ";"),
        f"const table = array<u32, 2000>({', '.join('1 + 2' for _ in range(2000))});" + body(""),
        body("if true {} " + "else if true {} " * 120 + "if true {} " + "else if true {} " * 120),
        body("".join(f"var a{n} = array<array<f32, 4>, 4>(); " for n in range(1000))),
        "/* " * 10 + "( " * 9999 + "*/ " * 10 + body("// " + "(" * 9999 + "\n"),
        body("let x = max(1, 2) " + "+ max(1, 2)" * 400 + ";"),
        body("} ) ] > ;"),
    ],
)
def test_what_is_long_but_not_deep_passes(code: str) -> None:
    assert too_deep(code) is None


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (body("let x = " + "(" * 101 + "1" + ")" * 101 + ";"), "brackets"),
        (body("let x = a" + "[a" * 101 + "]" * 101 + ";"), "brackets"),
        (body("{" * 101 + "}" * 101), "brackets"),
        (body("let x = 1" + "+1" * 513 + ";"), "operators"),
        (body("let x = " + "-" * 600 + "1;"), "operators"),
        (body("let x = a" + ".b" * 600 + ";"), "operators"),
        (body("let x = a" + "[0]" * 600 + ";"), "operators"),
        ("alias a = " + "array<" * 600 + "u32" + ", 2>" * 600 + ";" + body(""), "operators"),
        (body("let x = " + "(" + "1+" * 300 + "(" + "1+" * 300 + "1));"), "operators"),
        (body("if true {} " + "else if true {} " * 128), "else"),
        (body("if true {} " + "else if true {} " * 90 + "else { if true {} " + "else if true {} " * 90 + "}"), "else"),
    ],
)
def test_what_is_deep_is_told(code: str, words: str) -> None:
    assert words in (too_deep(code) or "")


def test_a_comment_that_does_not_end_is_an_error() -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - it has no words
        too_deep("/* /* */")
