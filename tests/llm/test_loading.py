"""From a name to a model, and what is told on the way."""

import sys
from pathlib import Path
from typing import Any

import attrs
import pytest

from llm.errors import UnsupportedModelError
from llm.loading import load_model
from tests.llm import tiny
from tests.llm.gguf_writer import write_gguf


def test_quantised_file(device: Any, tmp_path: Path) -> None:
    loaded = load_model(str(tiny.write_model(tmp_path / "m.gguf", tiny.QWEN2, "Q8_0")), device=device)
    assert loaded.model.config.qkv_bias
    assert loaded.model.plan.weights["layer.0.attn.qkv"].format == "q8"
    assert loaded.golden == ""


def test_progress_on_a_terminal(
    device: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tiny.write_model(tmp_path / "m.gguf", tiny.LLAMA))
    load_model(path, device=device)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    load_model(path, device=device)
    assert "\rloading weights 14/14" in capsys.readouterr().err


def test_more_tokens_than_rows(tmp_path: Path) -> None:
    config = attrs.evolve(tiny.LLAMA, vocab=100)
    path = write_gguf(tmp_path / "m.gguf", tiny.metadata(config), tiny.tensors(config))
    with pytest.raises(UnsupportedModelError, match="259 tokens, but the embedding only 100 rows"):
        load_model(str(path))
