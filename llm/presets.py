"""Models by name: their shapes, and random weights for those whose real ones are not at hand."""

from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np
from attrs import evolve

from llm.config import ModelConfig
from llm.tensors import expected_shapes

SMOLLM2 = "smollm2-135m"

_QWEN = ModelConfig(
    name="qwen2.5-0.5b",
    architecture="qwen2",
    layers=24,
    hidden=896,
    heads=14,
    kv_heads=2,
    head_dim=64,
    ffn=4864,
    vocab=151936,
    context=32768,
    rope_theta=1e6,
    norm_eps=1e-6,
    qkv_bias=True,
    tied_output=True,
)
PRESETS = {
    "qwen2.5-0.5b": _QWEN,
    "qwen2.5-1.5b": evolve(
        _QWEN, name="qwen2.5-1.5b", layers=28, hidden=1536, heads=12, kv_heads=2, head_dim=128, ffn=8960
    ),
}
RANDOM = "random weights"

_POOL = 4_194_301  # a prime, so that tensors do not repeat each other


class RandomWeights(Mapping[str, np.ndarray]):
    """Weights of a config, the same ones every time: stretches of one pool of normal numbers, so that they are made as
    fast as memory is copied. Sizes keep the logits apart.
    """

    def __init__(self, config: ModelConfig, seed: int = 7) -> None:
        self._shapes = expected_shapes(config)
        self._offsets = dict(
            zip(self._shapes, np.random.default_rng(seed).integers(0, _POOL, len(self._shapes)).tolist(), strict=True)
        )

    def __getitem__(self, name: str) -> np.ndarray:
        shape = self._shapes[name]
        values = _stretch(self._offsets[name], int(np.prod(shape)))
        if name.endswith("norm"):
            return (1 + 0.1 * values).reshape(shape)
        scale = 0.05 if name in ("embedding", "lm_head") else shape[-1] ** -0.5 if len(shape) == 2 else 0.2
        return (values * np.float32(scale)).reshape(shape)

    def __iter__(self) -> Iterator[str]:
        return iter(self._shapes)

    def __len__(self) -> int:
        return len(self._shapes)


@cache
def _pool() -> np.ndarray:
    return np.random.default_rng(0).standard_normal(_POOL, dtype=np.float32)


def _stretch(start: int, count: int) -> np.ndarray:
    pool = _pool()
    whole = np.concatenate([pool[start:], pool[:start]])
    return whole[:count].copy() if count <= _POOL else np.resize(whole, count)
