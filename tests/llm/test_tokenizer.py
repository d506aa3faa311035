"""Golden token ids, round trips, and text that comes in pieces."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm.errors import UnsupportedModelError, UsageError
from llm.gguf_file import open_gguf
from llm.golden import golden_prompts
from llm.tokenizer import Tokenizer, tokenizer_from_gguf
from tests.llm import tiny
from tests.llm.gguf_writer import write_gguf

GOLDEN = golden_prompts("smollm2-135m")


@pytest.mark.parametrize("prompt", GOLDEN.values(), ids=GOLDEN)
def test_golden_ids(tokenizer: Tokenizer, prompt: Any) -> None:
    assert tokenizer.encode(prompt.text) == list(prompt.ids)
    assert tokenizer.decode(prompt.greedy) == prompt.greedy_text


def test_digits_are_split(tokenizer: Tokenizer) -> None:
    assert [tokenizer.decode([token]) for token in tokenizer.encode("in 2024")] == ["in", " ", "2", "0", "2", "4"]


def test_chat_prompt(tokenizer: Tokenizer) -> None:
    assert tokenizer.chat_prompt("What is gravity? Answer in one sentence.") == GOLDEN["p3"].text
    assert tokenizer.stop_tokens == {0, 2}


# The vocabulary lacks some control characters, and the lead bytes of the planes behind.
@given(text=st.text(st.characters(codec="utf-8", max_codepoint=0x3FFFF, exclude_categories=["Cc"])))
def test_round_trip(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.decode(tokenizer.encode(text)) == text


@given(text=st.text(alphabet="aé€🌍🏽 "))
def test_pieces_are_whole_characters(tokenizer: Tokenizer, text: str) -> None:
    pieces = list(tokenizer.stream(tokenizer.encode(text)))
    assert "".join(pieces) == text
    assert all(pieces)


def test_half_a_character_at_the_end(tokenizer: Tokenizer) -> None:
    globe = tokenizer.encode("🌍")
    assert len(globe) > 1
    assert list(tokenizer.stream(globe[:-1])) == ["�"]


def test_ids_outside_the_vocabulary_are_silent(tokenizer: Tokenizer) -> None:
    assert tokenizer.decode([-1, 10**9]) == ""


@pytest.mark.parametrize("cut", ["smollm", "qwen2"])
def test_tiny(tmp_path: Path, cut: str) -> None:
    tokenizer = _tiny(tmp_path, {"tokenizer.ggml.pre": cut})
    assert tokenizer.decode(tokenizer.encode("héllo 12 <|im_end|>")) == "héllo 12 <|im_end|>"
    assert tokenizer.encode("<|im_end|>") == [2]
    assert tokenizer.chat_prompt("Hi").startswith("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<")


def test_no_chat_template(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--no-chat"):
        _tiny(tmp_path, {"tokenizer.chat_template": "[INST]"}).chat_prompt("Hi")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tokenizer.ggml.model": "llama"}, "tokenizer 'llama' is not supported"),
        ({"tokenizer.ggml.pre": "jais"}, "pre-tokenizer 'jais' is not supported"),
        ({"tokenizer.ggml.tokens": 3}, "'tokenizer.ggml.tokens' is missing"),
        ({"tokenizer.ggml.token_type": np.ones(3)}, "gives no type"),
        ({"tokenizer.ggml.merges": ["zz yy"]}, "merges do not fit"),
        ({"tokenizer.ggml.merges": ["zz"]}, "merges do not fit"),
    ],
)
def test_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    with pytest.raises(UnsupportedModelError, match=words):
        _tiny(tmp_path, change)


def _tiny(folder: Path, change: dict[str, Any]) -> Tokenizer:
    metadata = tiny.metadata(tiny.LLAMA) | change
    return tokenizer_from_gguf(open_gguf(write_gguf(folder / "m.gguf", metadata, {"x": (np.ones(4), "F32")})))
