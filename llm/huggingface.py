"""Models in a directory as Hugging Face lays them out: config.json, safetensors, tokenizer.json."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from llm.config import ARCHITECTURES, ModelConfig
from llm.errors import UnsupportedModelError
from llm.plans.plan import Format
from llm.safetensors_file import Tensor, open_directory, read_json
from llm.tensors import expected_shapes

CONFIG = "config.json"
_LAYER_TENSORS = {
    "attn_norm": "input_layernorm.weight",
    "attn.q": "self_attn.q_proj.weight",
    "attn.k": "self_attn.k_proj.weight",
    "attn.v": "self_attn.v_proj.weight",
    "attn.o": "self_attn.o_proj.weight",
    "mlp_norm": "post_attention_layernorm.weight",
    "mlp.gate": "mlp.gate_proj.weight",
    "mlp.up": "mlp.up_proj.weight",
    "mlp.down": "mlp.down_proj.weight",
    "attn.q.bias": "self_attn.q_proj.bias",
    "attn.k.bias": "self_attn.k_proj.bias",
    "attn.v.bias": "self_attn.v_proj.bias",
}
_OUTER_TENSORS = {
    "embedding": "model.embed_tokens.weight",
    "final_norm": "model.norm.weight",
    "lm_head": "lm_head.weight",
}


def config_from_directory(folder: Path, name: str | None = None) -> ModelConfig:
    """The config that `folder`'s config.json describes.

    Raises ModelFileError where there is no such file, UnsupportedModelError for another architecture, a missing key or
    a value that is out of range.
    """
    path = folder / CONFIG
    values = _Values(path, read_json(path))
    architecture = values.get("model_type", str)
    if architecture not in ARCHITECTURES:
        raise UnsupportedModelError(
            f"{path}: model_type '{architecture}' is not supported; {' and '.join(ARCHITECTURES)} models are"
        )
    if values.raw.get("rope_scaling") or values.raw.get("use_sliding_window"):
        raise UnsupportedModelError(f"{path}: models with scaled RoPE or a sliding window are not supported")
    if values.raw.get("hidden_act", "silu") != "silu" or values.raw.get("mlp_bias"):
        raise UnsupportedModelError(f"{path}: an MLP with hidden_act silu and without bias is needed")
    heads, hidden = values.get("num_attention_heads", int), values.get("hidden_size", int)
    qwen2 = architecture == "qwen2"
    if not qwen2 and values.raw.get("attention_bias"):
        raise UnsupportedModelError(f"{path}: attention_bias is only supported for qwen2 models")
    return ModelConfig(
        name=name or folder.resolve().name,
        architecture=architecture,
        layers=values.get("num_hidden_layers", int),
        hidden=hidden,
        heads=heads,
        kv_heads=values.get("num_key_value_heads", int, heads),
        head_dim=values.get("head_dim", int, hidden // heads if heads > 0 else 0),
        ffn=values.get("intermediate_size", int),
        vocab=values.get("vocab_size", int),
        context=values.get("max_position_embeddings", int),
        rope_theta=float(values.get("rope_theta", (int, float), _nested_theta(values.raw))),
        norm_eps=float(values.get("rms_norm_eps", (int, float))),
        qkv_bias=qwen2,
        tied_output=bool(values.raw.get("tie_word_embeddings", False)),
    )


def _nested_theta(raw: dict[str, Any]) -> Any:
    """Newer files keep rope_theta in an object of its own."""
    nested = raw.get("rope_parameters")
    return nested.get("rope_theta", 10000.0) if isinstance(nested, dict) else 10000.0


class _Values:
    """Typed access to a config's values."""

    def __init__(self, path: Path, raw: dict[str, Any]) -> None:
        self.path = path
        self.raw = raw

    def get(self, key: str, kind: Any, default: Any = None) -> Any:
        value = self.raw.get(key)
        value = default if value is None else value
        if value is None:
            raise UnsupportedModelError(f"{self.path}: '{key}' is missing")
        if not isinstance(value, kind) or isinstance(value, bool):
            raise UnsupportedModelError(f"{self.path}: '{key}' is of the wrong type ({type(value).__name__})")
        return value


class DirectoryWeights(Mapping[str, np.ndarray]):
    """The weights in a directory, float32 when asked for.

    Creating it checks that every tensor is there and has the right shape, and raises UnsupportedModelError where not.
    Reading a weight raises ModelFileError where a value is not finite.
    """

    def __init__(self, folder: Path, config: ModelConfig) -> None:
        tensors = open_directory(folder)
        self._shapes = expected_shapes(config)
        self._tensors: dict[str, Tensor] = {}
        for name, shape in self._shapes.items():
            tensor = tensors.get(directory_name(name))
            if tensor is None:
                raise UnsupportedModelError(
                    f"{folder}: tensor '{directory_name(name)}' is missing; fetch the model again"
                )
            if tensor.shape != shape:
                raise UnsupportedModelError(
                    f"{tensor.path}: tensor '{tensor.name}' has shape {tensor.shape}, config.json asks for {shape}"
                )
            self._tensors[name] = tensor

    def kept_formats(self) -> dict[str, Format]:
        """F16 stays; BF16 and F32 become f32."""
        return {name: "f16" if self._tensors[name].kind == "F16" else "f32" for name in self._shapes}

    def __getitem__(self, name: str) -> np.ndarray:
        return self._tensors[name].values()

    def __iter__(self) -> Iterator[str]:
        return iter(self._shapes)

    def __len__(self) -> int:
        return len(self._shapes)


def directory_name(name: str) -> str:
    """The name that Hugging Face gives the weight `name`."""
    if not name.startswith("layer."):
        return _OUTER_TENSORS[name]
    _, layer, part = name.split(".", 2)
    return f"model.layers.{layer}.{_LAYER_TENSORS[part]}"
