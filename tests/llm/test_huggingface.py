"""Directories as Hugging Face lays them out: read like the same model in a GGUF file, refused where damaged."""

import json
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from llm.config import ModelConfig
from llm.errors import LLMError
from llm.huggingface import DirectoryWeights, config_from_directory
from llm.loading import load_model, open_source
from llm.safetensors_file import INDEX, SINGLE
from tests.llm import tiny
from tests.llm.hf_writer import write_directory

LLAMA = attrs.evolve(tiny.LLAMA, interleaved_rope=False)
PROMPT = [7, 3, 250, 99, 4]


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("config", [LLAMA, tiny.QWEN2], ids=["llama", "qwen2"])
def test_reads_what_was_written(tmp_path: Path, config: ModelConfig, shards: int) -> None:
    weights = tiny.random_weights(config)
    folder = write_directory(tmp_path / "m", config, weights, shards=shards)
    found = config_from_directory(folder)
    assert attrs.evolve(found, name=config.name) == config
    read = DirectoryWeights(folder, found)
    assert list(read) == list(weights)
    for name, values in weights.items():
        np.testing.assert_array_equal(read[name], values)


@pytest.mark.parametrize(("kind", "tolerance"), [("F16", 1e-3), ("BF16", 1e-2)])
def test_halves(tmp_path: Path, kind: str, tolerance: float) -> None:
    weights = tiny.random_weights(LLAMA)
    folder = write_directory(tmp_path / "m", LLAMA, weights, kind=kind)
    read = DirectoryWeights(folder, LLAMA)
    np.testing.assert_allclose(read["embedding"], weights["embedding"], rtol=tolerance, atol=1e-6)
    assert read.kept_formats()["embedding"] == ("f16" if kind == "F16" else "f32")


def test_runs(device: Any, tmp_path: Path) -> None:
    weights = tiny.random_weights(tiny.QWEN2)
    loaded = load_model(str(write_directory(tmp_path / "m", tiny.QWEN2, weights, shards=2)), device=device)
    reference = tiny.Reference(tiny.QWEN2, weights)
    loaded.model.start(PROMPT)
    for token in PROMPT:
        loaded.model.step()
        np.testing.assert_allclose(loaded.model.read_logits(), reference.logits(token), atol=2e-5, rtol=1e-4)


def test_tokenizer(tmp_path: Path) -> None:
    tokenizer = open_source(str(write_directory(tmp_path / "m", LLAMA, tiny.random_weights(LLAMA)))).tokenizer
    text = "Héllo <|im_end|>"
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.encode("<|im_end|>") == list(tokenizer.stop_tokens)
    assert tokenizer.chat_prompt("hi").startswith("<|im_start|>user")


def _edit(path: Path, **changes: Any) -> None:
    values = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({key: value for key, value in values.items() if value is not None}))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda folder: (folder / "config.json").unlink(), "no file .*config.json"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "no file .*tokenizer.json"),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), "tokenizer.json describes no tokenizer"),
        (lambda folder: (folder / "model-1.safetensors").unlink(), "shard .*model-1.safetensors is missing"),
        (lambda folder: (folder / INDEX).write_text("{}"), "no 'weight_map'"),
        (lambda folder: (folder / INDEX).write_text('{"weight_map": {"a": "../b"}}'), "'../b' is no file name"),
        (lambda folder: (folder / INDEX).write_text("["), "is no readable JSON"),
        (lambda folder: _edit(folder / "config.json", model_type="gpt2"), "model_type 'gpt2' is not supported"),
        (lambda folder: _edit(folder / "config.json", hidden_size=None), "'hidden_size' is missing"),
        (lambda folder: _edit(folder / "config.json", hidden_size="8"), "'hidden_size' is of the wrong type"),
        (lambda folder: _edit(folder / "config.json", rope_scaling={"factor": 2}), "scaled RoPE"),
        (
            lambda folder: _edit(folder / "config.json", intermediate_size=44),
            r"mlp.*has shape .*, config.json asks for",
        ),
        (lambda folder: _edit(folder / "config.json", tie_word_embeddings=False), "tensor 'lm_head.weight' is missing"),
        (
            lambda folder: (folder / "model-0.safetensors").write_bytes(
                (folder / "model-0.safetensors").read_bytes()[:-9]
            ),
            "model-0.safetensors is truncated: tensor",
        ),
        (lambda folder: (folder / "model-0.safetensors").write_bytes(b"\xff" * 80), "no safetensors file"),
    ],
)
def test_damaged_directories(tmp_path: Path, damage: Any, words: str) -> None:
    folder = write_directory(tmp_path / "m", LLAMA, tiny.random_weights(LLAMA), shards=2)
    damage(folder)
    with pytest.raises(LLMError, match=words) as raised:
        open_source(str(folder))
    assert raised.value.exit_code == 2


def test_values_that_are_not_finite(tmp_path: Path) -> None:
    weights = tiny.random_weights(LLAMA)
    weights["layer.1.mlp.up"][3, 5] = np.inf
    read = DirectoryWeights(write_directory(tmp_path / "m", LLAMA, weights), LLAMA)
    with pytest.raises(LLMError, match="tensor 'model.layers.1.mlp.up_proj.weight' holds values that are not finite"):
        _ = read["layer.1.mlp.up"]


def test_dtype_that_is_not_supported(tmp_path: Path) -> None:
    folder = write_directory(tmp_path / "m", LLAMA, tiny.random_weights(LLAMA))
    raw = (folder / SINGLE).read_bytes()
    (folder / SINGLE).write_bytes(raw.replace(b'"F32"', b'"I32"', 1))
    with pytest.raises(LLMError, match="is of dtype I32; supported are F32, F16, BF16"):
        open_source(str(folder))
