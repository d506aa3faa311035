"""The demo page's tokenizer, in Node, held against PyPI's `tokenizers`."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from llm.assets import ensure_model
from llm.gguf_file import open_gguf
from llm.golden import golden_prompts
from llm.tokenizer import Tokenizer, stand_in_tokenizer, tokenizer_from_gguf
from tests.proposal.node import run_node

SCRIPT = Path(__file__).with_name("encode.mjs")
WRITTEN = [
    "",
    " ",
    "\n\n \t x  y   z \r\n",
    "It's I'LL we'Ve don't 'tis 'twas rock'n'roll",
    "in 2024, 3.14159; 1,000,000 x² ½ Ⅷ ٣٤",
    "a<|im_end|>b<|im_start|><|endoftext|>c <|im_end |> <|nothing|>",
    "def f(x: int) -> int:\n    return x ** 2  # square\n",
    "Straße naïve café Ελλάδα Привет мир 你好 世界 こんにちは עברית हिन्दी",
    "e\u0301 a\u0308 \u200d\u200b\ufeff\u0085\u00a0\u2003\u3000|\u2028\u2029",
    "🌍👩🏽‍🚀🏳️‍🌈 🙂 end",
    "\x00\x01\x07\x1b control",
    "a" * 300,
    "antidisestablishmentarianism internationalization " * 3,
]
ALPHABETS = [
    "abcdefghij klmnop qrstuvwxyz",
    "aeiouAEIOU'stremvdl  \n\t",
    "0123456789 .,-+%x",
    "{}[]()<>|_=+-*/\\\"'`~!@#$%^&",
    "äöüßéèñçøåæœ ŁŻЖдия αβγδ",
    "漢字かなカナ한글ไทย हिंदी",
    "🌍🎉👍🏽\u200d\u0301\ufe0f",
    " \u00a0\u2003\u0085\ufeff\u3000\n\r\t",
]


@pytest.fixture(scope="module")
def smollm2() -> Tokenizer:
    return tokenizer_from_gguf(open_gguf(ensure_model(progress=False)))


def test_ids_and_texts_are_those_of_tokenizers(smollm2: Tokenizer, tmp_path: Path) -> None:
    texts = [prompt.text for prompt in golden_prompts("smollm2-135m").values()] + WRITTEN + _made_up(400)

    found = _by_the_page(smollm2, texts, tmp_path)

    for text, ids, decoded in zip(texts, found["ids"], found["texts"], strict=True):
        assert ids == smollm2.encode(text), repr(text)
        assert decoded == smollm2.decode(ids), repr(text)


def test_text_of_any_ids(smollm2: Tokenizer, tmp_path: Path) -> None:
    """A vocabulary without merges, in which each byte is a token."""
    tokenizer = stand_in_tokenizer(300)
    texts = ["plain", "two words", "é🌍"]

    found = _by_the_page(tokenizer, texts, tmp_path)

    assert found["ids"] == [tokenizer.encode(text) for text in texts]
    assert found["texts"] == texts


def test_another_kind_of_tokenizer_is_refused(smollm2: Tokenizer, tmp_path: Path) -> None:
    description = json.loads(smollm2.to_json())
    description["pre_tokenizer"] = {"type": "Whitespace"}

    ended = _node(json.dumps(description), ["x"], tmp_path)

    assert ended.returncode != 0
    assert "cuts text up by Whitespace, which this page does not support" in ended.stderr


def _made_up(count: int) -> list[str]:
    rng = random.Random(0)
    return ["".join(rng.choices(_alphabet(rng), k=rng.randint(1, 60))) for _ in range(count)]


def _alphabet(rng: random.Random) -> str:
    return "".join(rng.sample(ALPHABETS, k=rng.randint(1, 3)))


def _by_the_page(tokenizer: Tokenizer, texts: list[str], folder: Path) -> Any:
    ended = _node(tokenizer.to_json(), texts, folder)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def _node(description: str, texts: list[str], folder: Path) -> Any:
    (folder / "tokenizer.json").write_text(description, encoding="utf-8")
    (folder / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    return run_node(str(SCRIPT), str(folder / "tokenizer.json"), str(folder / "texts.json"), gpu=False)
