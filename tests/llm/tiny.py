"""Tiny random models of both kinds, in memory and as GGUF files, and a numpy decoder to hold them against."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from llm.config import ModelConfig
from llm.tensors import expected_shapes
from llm.tokenizer import SPECIAL_TOKEN_TYPE, byte_characters
from llm.weights import gguf_name
from tests.llm.gguf_writer import write_gguf

LLAMA = ModelConfig(
    name="tiny llama",
    architecture="llama",
    layers=2,
    hidden=32,
    heads=4,
    kv_heads=2,
    head_dim=8,
    ffn=48,
    vocab=259,
    context=64,
    rope_theta=10000.0,
    norm_eps=1e-5,
    tied_output=True,
    interleaved_rope=True,
)
QWEN2 = ModelConfig(
    name="tiny qwen2",
    architecture="qwen2",
    layers=2,
    hidden=64,
    heads=6,
    kv_heads=2,
    head_dim=16,
    ffn=96,
    vocab=259,
    context=300,
    rope_theta=1e6,
    norm_eps=1e-6,
    qkv_bias=True,
    tied_output=False,
)
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = "{{ '<|im_start|>system\nBe brief.<|im_end|>\n' }}{{ '<|im_start|>' + message['role'] }}"


def random_weights(config: ModelConfig, seed: int = 0) -> dict[str, np.ndarray]:
    """Weights for every name of the config, in sizes that keep the logits apart."""
    rng = np.random.default_rng(seed)
    return {name: _random(rng, name, shape) for name, shape in expected_shapes(config).items()}


def _random(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    values = rng.standard_normal(shape)
    if name.endswith("norm"):
        return (1 + 0.1 * values).astype(np.float32)
    return (values / np.sqrt(shape[-1]) if len(shape) == 2 else 0.3 * values).astype(np.float32)


class Reference:
    """The decoder in float64, a token at a time."""

    def __init__(self, config: ModelConfig, weights: dict[str, np.ndarray]) -> None:
        self.config = config
        self.weights = {name: values.astype(np.float64) for name, values in weights.items()}
        self.cache: list[tuple[list[np.ndarray], list[np.ndarray]]] = [([], []) for _ in range(config.layers)]
        self.position = 0

    def logits(self, token: int) -> np.ndarray:
        """The logits after `token` at the present position, (vocab,) float64."""
        x = self.weights["embedding"][token]
        for layer in range(self.config.layers):
            x = x + self._attention(layer, self._norm(f"layer.{layer}.attn_norm", x))
            x = x + self._mlp(layer, self._norm(f"layer.{layer}.mlp_norm", x))
        self.position += 1
        head = "embedding" if self.config.tied_output else "lm_head"
        return self.weights[head] @ self._norm("final_norm", x)

    def greedy(self, prompt: Sequence[int], tokens: int) -> list[int]:
        """The `tokens` most likely tokens after the prompt."""
        for token in prompt[:-1]:
            self.logits(token)
        made = [int(np.argmax(self.logits(prompt[-1])))]
        while len(made) < tokens:
            made.append(int(np.argmax(self.logits(made[-1]))))
        return made

    def _norm(self, name: str, x: np.ndarray) -> np.ndarray:
        return x / np.sqrt(np.mean(x * x) + self.config.norm_eps) * self.weights[name]

    def _linear(self, name: str, x: np.ndarray) -> np.ndarray:
        return self.weights[name] @ x + self.weights.get(f"{name}.bias", 0.0)

    def _rope(self, x: np.ndarray) -> np.ndarray:
        half = self.config.head_dim // 2
        angles = self.position * self.config.rope_theta ** -(np.arange(half) / half)
        a, b = x[:, :half], x[:, half:]
        return np.concatenate(
            [a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles)], axis=1
        )

    def _attention(self, layer: int, x: np.ndarray) -> np.ndarray:
        config = self.config
        q, k, v = (self._linear(f"layer.{layer}.attn.{part}", x).reshape(-1, config.head_dim) for part in "qkv")
        keys, values = self.cache[layer]
        keys.append(self._rope(k))
        values.append(v)
        group = config.heads // config.kv_heads
        rows = [
            attend(query, np.stack(keys)[:, head // group], np.stack(values)[:, head // group], config.head_dim**-0.5)
            for head, query in enumerate(self._rope(q))
        ]
        return self._linear(f"layer.{layer}.attn.o", np.concatenate(rows))

    def _mlp(self, layer: int, x: np.ndarray) -> np.ndarray:
        gate, up = (self._linear(f"layer.{layer}.mlp.{part}", x) for part in ("gate", "up"))
        return self._linear(f"layer.{layer}.mlp.down", gate / (1 + np.exp(-gate)) * up)


def attend(query: np.ndarray, keys: np.ndarray, values: np.ndarray, scale: float) -> np.ndarray:
    """softmax(keys @ query * scale) @ values for one head; keys and values are (positions, head_dim)."""
    scores = keys @ query * scale
    weights = np.exp(scores - scores.max())
    return weights / weights.sum() @ values


def metadata(config: ModelConfig) -> dict[str, Any]:
    """GGUF metadata for the config, with a tokenizer of the 256 bytes and three special tokens."""
    kind = config.architecture
    tokens = [*SPECIALS, *byte_characters()]
    return {
        "general.architecture": kind,
        "general.name": config.name,
        f"{kind}.block_count": config.layers,
        f"{kind}.context_length": config.context,
        f"{kind}.embedding_length": config.hidden,
        f"{kind}.feed_forward_length": config.ffn,
        f"{kind}.attention.head_count": config.heads,
        f"{kind}.attention.head_count_kv": config.kv_heads,
        f"{kind}.attention.key_length": config.head_dim,
        f"{kind}.rope.freq_base": config.rope_theta,
        f"{kind}.attention.layer_norm_rms_epsilon": config.norm_eps,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": np.array([SPECIAL_TOKEN_TYPE] * len(SPECIALS) + [1] * 256),
        "tokenizer.ggml.merges": [],
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.chat_template": TEMPLATE,
    }


def tensors(config: ModelConfig, block_format: str = "F32", seed: int = 0) -> dict[str, tuple[np.ndarray, str]]:
    """The random weights under their GGUF names; matrices in `block_format`."""
    return {
        gguf_name(name): (values, block_format if values.ndim == 2 else "F32")
        for name, values in random_weights(config, seed).items()
    }


def write_model(path: Path, config: ModelConfig, block_format: str = "F32") -> Path:
    """A whole model file."""
    return write_gguf(path, metadata(config), tensors(config, block_format))
