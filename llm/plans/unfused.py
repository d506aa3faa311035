"""The unfused plan: the decode step as a framework without fusion issues it, 36 dispatches a layer and 12
outside.

Qwen2.5-0.5B comes to 876 dispatches and SmolLM2-135M to 1092, category by category what "Measuring and
Reducing WebGPU Dispatch Overhead for LLM Inference" (arXiv 2608.08730) counts. Sampling adds two dispatches
that the paper leaves out.
"""

from llm.config import ModelConfig
from llm.plans.kernels import PlanBuilder
from llm.plans.plan import KernelSet, Plan


def unfused(config: ModelConfig, kernels: KernelSet, capacity: int) -> Plan:
    """The plan for `capacity` positions with one of the kernel sets."""
    builder = PlanBuilder("unfused", config, kernels, capacity)
    x = builder.embedding("embedding.out")
    cos, sin = _rotary(builder)
    for layer in range(config.layers):
        x = _attention(builder, f"layer.{layer}", x, cos, sin)
        x = _mlp(builder, f"layer.{layer}", x)
    x = _rms_norm(builder, "final_norm", x)
    head = "embedding" if config.tied_output else "lm_head"
    logits = builder.linear("logits", head, x, config.vocab, config.hidden)

    forward = len(builder.ops)
    best = builder.argmax("sample.argmax", logits)
    builder.advance("sample.advance", best)
    return builder.finish(sampling_from=forward)


def _rotary(builder: PlanBuilder) -> tuple[str, str]:
    angles = builder.rotary_matmul("rotary.matmul")
    both_halves = builder.rotary_cat("rotary.cat", angles)
    return builder.rotary_mul("rotary.cos", both_halves, 0), builder.rotary_mul("rotary.sin", both_halves, 1)


def _attention(builder: PlanBuilder, layer: str, x: str, cos: str, sin: str) -> str:
    config = builder.config
    normed = _rms_norm(builder, f"{layer}.attn_norm", x)
    q = _projection(builder, f"{layer}.attn.q", normed, config.q_width)
    k = _projection(builder, f"{layer}.attn.k", normed, config.kv_width)
    v = _projection(builder, f"{layer}.attn.v", normed, config.kv_width)
    q = _rope(builder, f"{layer}.q_rope", q, config.q_width, cos, sin)
    k = _rope(builder, f"{layer}.k_rope", k, config.kv_width, cos, sin)
    keys = builder.cache_append(f"{layer}.k_append", k, f"{layer}.k_cache")
    values = builder.cache_append(f"{layer}.v_append", v, f"{layer}.v_cache")
    attended = builder.sdpa(f"{layer}.sdpa", q, keys, values)
    projected = builder.linear(f"{layer}.attn.o", f"{layer}.attn.o", attended, config.hidden, config.q_width)
    return builder.add(f"{layer}.attn_residual", x, projected, config.hidden)


def _mlp(builder: PlanBuilder, layer: str, x: str) -> str:
    hidden, ffn = builder.config.hidden, builder.config.ffn
    normed = _rms_norm(builder, f"{layer}.mlp_norm", x)
    gate = builder.linear(f"{layer}.mlp.gate", f"{layer}.mlp.gate", normed, ffn, hidden)
    up = builder.linear(f"{layer}.mlp.up", f"{layer}.mlp.up", normed, ffn, hidden)
    activated = builder.silu(f"{layer}.mlp.silu", gate, ffn)
    product = builder.mul(f"{layer}.mlp.mul", activated, up, ffn)
    down = builder.linear(f"{layer}.mlp.down", f"{layer}.mlp.down", product, hidden, ffn)
    return builder.add(f"{layer}.mlp_residual", x, down, hidden)


def _rms_norm(builder: PlanBuilder, norm: str, x: str) -> str:
    n = builder.config.hidden
    squares = builder.pow(f"{norm}.pow", x, n)
    mean = builder.mean(f"{norm}.mean", squares, n)
    shifted = builder.add_eps(f"{norm}.add_eps", mean)
    scale = builder.rsqrt(f"{norm}.rsqrt", shifted)
    scaled = builder.mul(f"{norm}.mul", x, scale, n, period=1)
    return builder.mul(f"{norm}.mul_weight", scaled, norm, n)


def _projection(builder: PlanBuilder, weight: str, x: str, rows: int) -> str:
    bias = f"{weight}.bias" if builder.config.qkv_bias else None
    return builder.linear(weight, weight, x, rows, builder.config.hidden, bias)


def _rope(builder: PlanBuilder, rope: str, x: str, n: int, cos: str, sin: str) -> str:
    """x * cos + rotate_half(x) * sin, every head by the same angles."""
    head_dim = builder.config.head_dim
    straight = builder.mul(f"{rope}.mul_cos", x, cos, n, period=head_dim)
    negated = builder.neg(f"{rope}.neg", x, n)
    rotated = builder.cat(f"{rope}.cat", negated, x, n)
    turned = builder.mul(f"{rope}.mul_sin", rotated, sin, n, period=head_dim)
    return builder.add(f"{rope}.add", straight, turned, n)
