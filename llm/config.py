"""What a decoder of the llama or qwen2 kind is made of, read from the metadata of a GGUF file."""

import math
from typing import Any

from attrs import frozen

from llm.errors import UnsupportedModelError
from llm.gguf_file import GGUFFile

ARCHITECTURES = ("llama", "qwen2")

# Larger values than any model has; they keep a hostile file from asking for absurd buffers.
MAX_LAYERS = 1024
MAX_WIDTH = 1 << 20
# A workgroup of the attention kernel gathers this many elements.
MAX_HEAD_DIM = 256


@frozen
class ModelConfig:
    """Sizes and constants of one decoder. All sizes are counts of elements, `context` counts positions.

    `qkv_bias`: the q, k and v linears add a bias (qwen2). `tied_output`: the output matrix is the embedding.
    `interleaved_rope`: the rows of q and k are stored for RoPE over neighbouring pairs (llama files), not
    over halves.
    """

    name: str
    architecture: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    context: int
    rope_theta: float
    norm_eps: float
    qkv_bias: bool = False
    tied_output: bool = True
    interleaved_rope: bool = False

    def __attrs_post_init__(self) -> None:
        self._check(
            0 < self.layers <= MAX_LAYERS,
            f"{self.layers} layers",
            f"between 1 and {MAX_LAYERS} are supported",
        )
        for what in ("hidden", "heads", "kv_heads", "head_dim", "ffn", "vocab", "context"):
            size = getattr(self, what)
            limit = 1 << 24 if what == "context" else MAX_WIDTH
            self._check(0 < size <= limit, f"{what} = {size}", f"between 1 and {limit} is supported")
        for what in ("hidden", "head_dim", "ffn"):
            self._check(getattr(self, what) % 4 == 0, f"{what} = {getattr(self, what)}", "a multiple of 4 is needed")
        self._check(
            self.head_dim <= MAX_HEAD_DIM, f"head_dim = {self.head_dim}", f"at most {MAX_HEAD_DIM} is supported"
        )
        self._check(
            self.heads % self.kv_heads == 0,
            f"{self.heads} heads share {self.kv_heads} key/value heads",
            "they must divide evenly",
        )
        for what in ("rope_theta", "norm_eps"):
            value = getattr(self, what)
            self._check(math.isfinite(value) and value > 0, f"{what} = {value}", "a positive number is needed")

    def _check(self, holds: bool, found: str, wanted: str) -> None:
        if not holds:
            raise UnsupportedModelError(f"model '{self.name}': {found}; {wanted}")

    @property
    def q_width(self) -> int:
        """Elements of one token's query, all heads."""
        return self.heads * self.head_dim

    @property
    def kv_width(self) -> int:
        """Elements of one token's key or value, all key/value heads."""
        return self.kv_heads * self.head_dim


def config_from_gguf(file: GGUFFile) -> ModelConfig:
    """The config that the metadata of `file` describes.

    Raises UnsupportedModelError for another architecture, a missing key or a value that is out of range.
    """
    metadata = _Metadata(file)
    architecture = metadata.text("general.architecture")
    if architecture not in ARCHITECTURES:
        raise UnsupportedModelError(
            f"{file.path}: architecture '{architecture}' is not supported; {' and '.join(ARCHITECTURES)} models are"
        )
    metadata.prefix = architecture + "."
    _refuse_rope_scaling(file, architecture)
    heads, hidden = metadata.integer("attention.head_count"), metadata.integer("embedding_length")
    return ModelConfig(
        name=str(file.metadata.get("general.name", file.path.stem)),
        architecture=architecture,
        layers=metadata.integer("block_count"),
        hidden=hidden,
        heads=heads,
        kv_heads=metadata.integer("attention.head_count_kv", heads),
        head_dim=metadata.integer("attention.key_length", hidden // heads if heads > 0 else 0),
        ffn=metadata.integer("feed_forward_length"),
        vocab=_vocabulary(file),
        context=metadata.integer("context_length"),
        rope_theta=metadata.number("rope.freq_base", 10000.0),
        norm_eps=metadata.number("attention.layer_norm_rms_epsilon"),
        qkv_bias="blk.0.attn_q.bias" in file.tensors,
        tied_output="output.weight" not in file.tensors,
        interleaved_rope=architecture == "llama",
    )


class _Metadata:
    """Typed access to a file's metadata: the value under a key, or an error that names the key."""

    def __init__(self, file: GGUFFile) -> None:
        self.file = file
        self.prefix = ""

    def text(self, key: str) -> str:
        return self._value(key, str, None)

    def integer(self, key: str, default: int | None = None) -> int:
        return self._value(key, int, default)

    def number(self, key: str, default: float | None = None) -> float:
        return float(self._value(key, (int, float), default))

    def _value(self, key: str, kind: Any, default: Any) -> Any:
        key = self.prefix + key
        value = self.file.metadata.get(key, default)
        if value is None:
            raise UnsupportedModelError(f"{self.file.path}: metadata '{key}' is missing; convert the model again")
        if not isinstance(value, kind) or isinstance(value, bool):
            raise UnsupportedModelError(
                f"{self.file.path}: metadata '{key}' is of the wrong type ({type(value).__name__}); "
                "convert the model again"
            )
        return value


def _refuse_rope_scaling(file: GGUFFile, architecture: str) -> None:
    scaling = file.metadata.get(f"{architecture}.rope.scaling.type", "none")
    if scaling != "none" or "rope_freqs.weight" in file.tensors:
        raise UnsupportedModelError(f"{file.path}: models with scaled RoPE are not supported; name a plain one")


def _vocabulary(file: GGUFFile) -> int:
    embedding = file.tensors.get("token_embd.weight")
    if embedding is None:
        raise UnsupportedModelError(f"{file.path}: the model has no tensor 'token_embd.weight'")
    return embedding.shape[0]
