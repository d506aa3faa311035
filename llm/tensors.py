"""The weights that a model has, by this program's own names."""

from llm.config import ModelConfig


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
