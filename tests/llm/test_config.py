"""Configs from metadata, and the files that are refused."""

from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from llm.config import config_from_gguf
from llm.errors import UnsupportedModelError
from llm.gguf_file import GGUFFile, open_gguf
from tests.llm import tiny
from tests.llm.gguf_writer import write_gguf


@pytest.mark.parametrize("config", [tiny.LLAMA, tiny.QWEN2], ids=lambda config: config.architecture)
def test_both_kinds(tmp_path: Path, config: Any) -> None:
    found = config_from_gguf(open_gguf(tiny.write_model(tmp_path / "m.gguf", config)))
    close = {"norm_eps": pytest.approx(config.norm_eps), "rope_theta": pytest.approx(config.rope_theta)}
    assert attrs.asdict(found) == attrs.asdict(config) | close


def test_smollm2(model_file: GGUFFile) -> None:
    config = config_from_gguf(model_file)
    assert (config.layers, config.hidden, config.ffn, config.vocab) == (30, 576, 1536, 49152)
    assert (config.heads, config.kv_heads, config.head_dim) == (9, 3, 64)
    assert config.tied_output
    assert not config.qkv_bias


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"general.architecture": "mamba"}, "architecture 'mamba' is not supported"),
        ({"general.architecture": None}, "'general.architecture' is missing"),
        ({"llama.block_count": None}, "'llama.block_count' is missing"),
        ({"llama.block_count": "two"}, "wrong type"),
        ({"llama.block_count": 100000}, "100000 layers"),
        ({"llama.attention.head_count": 0}, "heads = 0"),
        ({"llama.attention.head_count_kv": 3}, "4 heads share 3"),
        ({"llama.attention.layer_norm_rms_epsilon": float("nan")}, "norm_eps = nan"),
        ({"llama.rope.scaling.type": "yarn"}, "scaled RoPE"),
        ({"llama.embedding_length": 30}, "multiple of 4"),
    ],
)
def test_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    metadata = tiny.metadata(tiny.LLAMA) | change
    metadata = {key: value for key, value in metadata.items() if value is not None}
    file = open_gguf(write_gguf(tmp_path / "m.gguf", metadata, tiny.tensors(tiny.LLAMA)))
    with pytest.raises(UnsupportedModelError, match=words) as caught:
        config_from_gguf(file)
    assert "\n" not in str(caught.value)


def test_no_embedding(tmp_path: Path) -> None:
    file = open_gguf(write_gguf(tmp_path / "m.gguf", tiny.metadata(tiny.LLAMA), {"x": (np.ones(4), "F32")}))
    with pytest.raises(UnsupportedModelError, match=r"token_embd\.weight"):
        config_from_gguf(file)
