"""Weights kept as their file has them, and what f16 cannot hold."""

from pathlib import Path
from types import SimpleNamespace

import attrs
import numpy as np
import pytest
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

from llm.blocks import unpack_blocks
from llm.config import config_from_gguf
from llm.errors import UnsupportedModelError, UsageError
from llm.gguf_file import open_gguf
from llm.packing import pack
from llm.plans.plan import Format, Layout, Stored
from llm.presets import PRESETS, RandomWeights
from llm.store import WeightStore
from llm.weights import GGUFWeights
from tests.llm import tiny


@pytest.mark.parametrize("block_format", ["Q4_0", "Q4_1", "Q8_0"])
def test_kept_blocks_are_the_dequantised_values(tmp_path: Path, block_format: str) -> None:
    """q's rows, reordered for RoPE, among them."""
    file = open_gguf(tiny.write_model(tmp_path / "m.gguf", attrs.evolve(tiny.LLAMA, ffn=96), block_format))
    weights = GGUFWeights(file, config_from_gguf(file))
    kept = weights.kept_formats()
    assert kept["layer.0.attn.q"] == block_format[:2].lower()
    for name in ("layer.0.attn.q", "layer.1.attn.k", "embedding"):
        blocks = weights.blocks(name)
        values = blocks.numbers * np.repeat(blocks.scales.astype(np.float32), 32, axis=1)
        if blocks.minima is not None:
            values = values + np.repeat(blocks.minima.astype(np.float32), 32, axis=1)
        np.testing.assert_allclose(values, weights[name], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("block_format", "kind"), [("Q4_K", "q4k"), ("Q6_K", "q6k")])
@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_k_blocks_are_the_dequantised_values(block_format: str, kind: Format, layout: Layout) -> None:
    """Against what PyPI's gguf makes of random bytes; as large as announced."""
    rows, columns, number = 6, 512, GGMLQuantizationType[block_format]
    raw = np.random.default_rng(3).integers(0, 256, (rows * 2, GGML_QUANT_SIZES[number][1]), np.uint8)
    halves = slice(0, 4) if block_format == "Q4_K" else slice(-2, None)
    raw[:, halves] = np.frombuffer(np.array([0.01, 0.02], np.float16)[: len(raw[0, halves]) // 2].tobytes(), np.uint8)
    blocks = unpack_blocks(raw.reshape(-1), number, rows)
    assert blocks.part_scales is not None
    scales = np.repeat(blocks.scales.astype(np.float32), 256, axis=1)
    if blocks.minima is None or blocks.part_minima is None:
        values = (blocks.numbers - 32.0) * scales * np.repeat(blocks.part_scales, 16, axis=1)
    else:
        lows = np.repeat(blocks.minima.astype(np.float32), 256, axis=1) * np.repeat(blocks.part_minima, 32, axis=1)
        values = blocks.numbers * scales * np.repeat(blocks.part_scales, 32, axis=1) - lows
    np.testing.assert_allclose(values, dequantize(raw, number).reshape(rows, columns), rtol=1e-5, atol=1e-5)
    stored = Stored(("w",), layout, kind, 0, rows, columns)
    assert pack(stored, SimpleNamespace(blocks=lambda name: blocks)).nbytes == stored.nbytes  # type: ignore[arg-type]


@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize("kind", ["f32", "f16"])
def test_sizes_are_as_announced(layout: Layout, kind: str) -> None:
    weights = {"a": np.ones((6, 12), np.float32), "b": np.ones((3, 12), np.float32)}
    stored = Stored(("a", "b"), layout, kind, 2, 6, 12)  # type: ignore[arg-type]
    assert pack(stored, weights).nbytes == stored.nbytes


def test_values_too_large_for_f16() -> None:
    stored = Stored(("w",), "rows", "f16", 0, 1, 8)
    with pytest.raises(UnsupportedModelError, match="weight 'w' has values that f16 cannot hold; use --dtype f32"):
        pack(stored, {"w": np.full((1, 8), 1e5, np.float32)})


def test_unknown_dtype() -> None:
    with pytest.raises(UsageError, match="no dtype 'f8'; there are: f32, f16, native"):
        WeightStore(None, {}, "f8")


def test_random_weights_are_the_same_every_time() -> None:
    one, other = (RandomWeights(PRESETS["qwen2.5-0.5b"]) for _ in range(2))
    np.testing.assert_array_equal(one["layer.3.mlp.up"], other["layer.3.mlp.up"])
    assert not np.array_equal(one["layer.3.mlp.up"], one["layer.4.mlp.up"])
    assert one["layer.3.mlp.up"].shape == (4864, 896)
