"""The weights of a model under this program's own names, each dequantised when it is asked for.

A mapping from name to float32 array: `embedding` (vocab, hidden), `layer.3.attn.q` (rows, columns),
`layer.3.attn.q.bias` (rows), `layer.3.attn_norm` (hidden), ... as `expected_shapes` lists them. A plain dict
of arrays serves as well, which is what the tests use. Only the tensor in hand lies in memory.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from llm.blocks import Blocks
from llm.config import ModelConfig
from llm.errors import UnsupportedModelError
from llm.gguf_file import GGUFFile
from llm.plans.plan import BLOCKS, Format
from llm.tensors import expected_shapes

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
_KEPT: dict[str, Format] = {"Q4_0": "q4", "Q4_1": "q4", "Q8_0": "q8", "Q4_K": "q4k", "Q6_K": "q6k"}
_OUTER_TENSORS = {
    "embedding": "token_embd.weight",
    "final_norm": "output_norm.weight",
    "lm_head": "output.weight",
}


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
        return self._in_halves(name, self._file.tensor(gguf_name(name)))

    def blocks(self, name: str) -> Blocks:
        """The matrix `name` as its file has it, for one that `kept_formats` keeps. Raises GGUFError where a
        scale is not finite.
        """
        return self._file.blocks(gguf_name(name)).changed(lambda values: self._in_halves(name, values))

    def kept_formats(self) -> dict[str, Format]:
        """For each matrix the format that keeps it as it is, or the smallest one that can hold it."""
        return {name: self._kept_format(name) for name, shape in self._shapes.items() if len(shape) == 2}

    def _kept_format(self, name: str) -> Format:
        kind = self._file.tensors[gguf_name(name)].block_format.name
        if kind in _KEPT and self._shapes[name][1] % BLOCKS[_KEPT[kind]][0] == 0:
            return _KEPT[kind]
        return "f32" if kind in ("F32", "BF16") else "f16"

    def _in_halves(self, name: str, values: np.ndarray) -> np.ndarray:
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
