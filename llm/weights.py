"""The weights of a model under this program's own names, each dequantised when it is asked for.

A mapping from name to float32 array: `embedding` (vocab, hidden), `layer.3.attn.q` (rows, columns),
`layer.3.attn.q.bias` (rows), `layer.3.attn_norm` (hidden), ... as `expected_shapes` lists them. A plain dict
of arrays serves as well, which is what the tests use. Only the tensor in hand lies in memory.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from llm.config import ModelConfig
from llm.errors import UnsupportedModelError
from llm.gguf_file import GGUFFile

_LAYER_TENSORS = {
    "attn_norm": "attn_norm.weight",
    "attn.q": "attn_q.weight",
    "attn.k": "attn_k.weight",
    "attn.v": "attn_v.weight",
    "attn.o": "attn_output.weight",
    "mlp_norm": "ffn_norm.weight",
    "mlp.gate": "ffn_gate.weight",
    "mlp.up": "ffn_up.weight",
    "mlp.down": "ffn_down.weight",
    "attn.q.bias": "attn_q.bias",
    "attn.k.bias": "attn_k.bias",
    "attn.v.bias": "attn_v.bias",
}
_OUTER_TENSORS = {
    "embedding": "token_embd.weight",
    "final_norm": "output_norm.weight",
    "lm_head": "output.weight",
}


def expected_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Name and shape of every weight that a model of this config has."""
    shapes: dict[str, tuple[int, ...]] = {
        "embedding": (config.vocab, config.hidden),
        "final_norm": (config.hidden,),
    }
    if not config.tied_output:
        shapes["lm_head"] = (config.vocab, config.hidden)
    for layer in range(config.layers):
        shapes |= {f"layer.{layer}.{name}": shape for name, shape in _layer_shapes(config).items()}
    return shapes


def _layer_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "attn_norm": (config.hidden,),
        "attn.q": (config.q_width, config.hidden),
        "attn.k": (config.kv_width, config.hidden),
        "attn.v": (config.kv_width, config.hidden),
        "attn.o": (config.hidden, config.q_width),
        "mlp_norm": (config.hidden,),
        "mlp.gate": (config.ffn, config.hidden),
        "mlp.up": (config.ffn, config.hidden),
        "mlp.down": (config.hidden, config.ffn),
    }
    if config.qkv_bias:
        shapes |= {f"{name}.bias": shapes[name][:1] for name in ("attn.q", "attn.k", "attn.v")}
    return shapes


class GGUFWeights(Mapping[str, np.ndarray]):
    """The weights in a GGUF file, rotate-half RoPE order throughout.

    Creating it checks that every tensor is there and has the right shape, and raises UnsupportedModelError
    where not. Reading a weight raises GGUFError where a value is not finite.
    """

    def __init__(self, file: GGUFFile, config: ModelConfig) -> None:
        self._file = file
        self._config = config
        self._shapes = expected_shapes(config)
        for name, shape in self._shapes.items():
            self._check(gguf_name(name), shape)

    def _check(self, name: str, shape: tuple[int, ...]) -> None:
        info = self._file.tensors.get(name)
        if info is None:
            raise UnsupportedModelError(f"{self._file.path}: tensor '{name}' is missing; convert the model again")
        if info.shape != shape:
            raise UnsupportedModelError(
                f"{self._file.path}: tensor '{name}' has shape {info.shape}, the metadata asks for {shape}; "
                "convert the model again"
            )

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._shapes:
            raise KeyError(name)
        values = self._file.tensor(gguf_name(name))
        heads = {"q": self._config.heads, "k": self._config.kv_heads}.get(name.removesuffix(".bias").rsplit(".", 1)[-1])
        if self._config.interleaved_rope and heads is not None:
            return halves_from_pairs(values, heads)
        return values

    def __iter__(self) -> Iterator[str]:
        return iter(self._shapes)

    def __len__(self) -> int:
        return len(self._shapes)


def gguf_name(name: str) -> str:
    """The name that GGUF files use for the weight `name`."""
    if not name.startswith("layer."):
        return _OUTER_TENSORS[name]
    _, layer, part = name.split(".", 2)
    return f"blk.{layer}.{_LAYER_TENSORS[part]}"


def halves_from_pairs(rows: np.ndarray, heads: int) -> np.ndarray:
    """Reorder each head's rows from (2i, 2i+1) RoPE pairs to (i, i + head_dim/2) ones; (heads * head_dim,
    ...).
    """
    return rows.reshape(heads, -1, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)
