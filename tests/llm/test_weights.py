"""Weights by name, in the order the kernels want."""

from pathlib import Path

import numpy as np
import pytest

from llm.errors import UnsupportedModelError
from llm.gguf_file import open_gguf
from llm.weights import GGUFWeights, expected_shapes, halves_from_pairs
from tests.llm import tiny
from tests.llm.gguf_writer import write_gguf


def test_qwen2_weights_come_back(tmp_path: Path) -> None:
    weights = GGUFWeights(open_gguf(tiny.write_model(tmp_path / "m.gguf", tiny.QWEN2)), tiny.QWEN2)
    expected = tiny.random_weights(tiny.QWEN2)
    assert set(weights) == set(expected)
    assert len(weights) == len(expected_shapes(tiny.QWEN2))
    for name, values in expected.items():
        np.testing.assert_array_equal(weights[name], values)


def test_llama_query_rows_are_reordered(tmp_path: Path) -> None:
    weights = GGUFWeights(open_gguf(tiny.write_model(tmp_path / "m.gguf", tiny.LLAMA)), tiny.LLAMA)
    stored = tiny.random_weights(tiny.LLAMA)["layer.0.attn.q"]
    np.testing.assert_array_equal(weights["layer.0.attn.q"][:8], stored[[0, 2, 4, 6, 1, 3, 5, 7]])
    np.testing.assert_array_equal(weights["layer.0.attn.v"], tiny.random_weights(tiny.LLAMA)["layer.0.attn.v"])


def test_halves_from_pairs_of_two_heads() -> None:
    assert halves_from_pairs(np.arange(8), 2).tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


def test_unknown_name(tmp_path: Path) -> None:
    weights = GGUFWeights(open_gguf(tiny.write_model(tmp_path / "m.gguf", tiny.LLAMA)), tiny.LLAMA)
    assert "layer.9.attn.q" not in weights


@pytest.mark.parametrize(
    ("values", "words"), [(None, "'blk.1.ffn_up.weight' is missing"), (np.ones((2, 32)), r"has shape \(2, 32\)")]
)
def test_missing_and_misshapen(tmp_path: Path, values: np.ndarray | None, words: str) -> None:
    tensors = tiny.tensors(tiny.LLAMA)
    if values is None:
        del tensors["blk.1.ffn_up.weight"]
    else:
        tensors["blk.1.ffn_up.weight"] = (values, "F32")
    file = open_gguf(write_gguf(tmp_path / "m.gguf", tiny.metadata(tiny.LLAMA), tensors))
    with pytest.raises(UnsupportedModelError, match=words):
        GGUFWeights(file, tiny.LLAMA)
