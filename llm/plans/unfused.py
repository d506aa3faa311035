"""The unfused plan: the decode step as a framework without fusion issues it, 36 dispatches a layer and 12
outside.

Qwen2.5-0.5B comes to 876 dispatches and SmolLM2-135M to 1092, category by category what "Measuring and
Reducing WebGPU Dispatch Overhead for LLM Inference" (arXiv 2608.08730) counts. Sampling adds two dispatches
that the paper leaves out.
"""

from llm.config import ModelConfig
from llm.plans.kernels import PlanBuilder
from llm.plans.plan import Plan
from llm.plans.target import Target


def unfused(config: ModelConfig, target: Target) -> Plan:
    """The plan for a target."""
    return Unfused("unfused", config, target).build()


class Unfused(PlanBuilder):
    """Builds the plan. The paper's fused plan differs in the methods that it overrides.

    No buffer is written twice, and operations that do not depend on each other are neighbours: a WebGPU
    implementation puts a barrier in front of a dispatch only where a buffer that it uses was used otherwise before.
    """

    layers_share = False

    def build(self) -> Plan:
        x = self.embedding("embedding.out")
        cos, sin = self._rotary()
        for number in range(self.config.layers):
            layer = f"layer.{number}"
            x = self._attention(layer, x, cos, sin)
            x = self._mlp(layer, x)
        x = self.norm6("final_norm", x)
        logits = self.logits("logits", x)

        forward = len(self.ops)
        best = self.argmax("sample.argmax", logits)
        self.choose("sample.choose", logits, best, self.argmax_parts)
        return self.finish(sampling_from=forward)

    def layer_norm(self, norm: str, x: str) -> str:
        """A norm inside a layer."""
        return self.norm6(norm, x)

    def key_value(self, layer: str, x: str) -> tuple[str, str]:
        """The k and v linears."""
        q_width, kv_width = self.config.q_width, self.config.kv_width
        k = self._projection(f"{layer}.attn.k", layer, x, q_width, kv_width)
        return k, self._projection(f"{layer}.attn.v", layer, x, q_width + kv_width, kv_width)

    def gate_and_up(self, layer: str, x: str) -> tuple[str, str]:
        """The activated gate linear and the up linear."""
        ffn, weight = self.config.ffn, self.gate_up(layer)
        gate = self.linear(f"{layer}.mlp.gate", weight, x, ffn)
        up = self.linear(f"{layer}.mlp.up", weight, x, ffn, first=ffn)
        return self.silu(f"{layer}.mlp.silu", gate, ffn), up

    def norm6(self, norm: str, x: str) -> str:
        """A norm in six operations."""
        n = self.config.hidden
        squares = self.pow(f"{norm}.pow", x, n)
        mean = self.mean(f"{norm}.mean", squares, n)
        shifted = self.add_eps(f"{norm}.add_eps", mean)
        scale = self.rsqrt(f"{norm}.rsqrt", shifted)
        scaled = self.mul(f"{norm}.mul", x, scale, n, period=1)
        return self.mul(f"{norm}.mul_weight", scaled, self.vector(norm), n)

    def _rotary(self) -> tuple[str, str]:
        angles = self.rotary_matmul("rotary.matmul")
        both_halves = self.rotary_cat("rotary.cat", angles)
        return self.rotary_mul("rotary.cos", both_halves, 0), self.rotary_mul("rotary.sin", both_halves, 1)

    def _attention(self, layer: str, x: str, cos: str, sin: str) -> str:
        config = self.config
        normed = self.layer_norm(f"{layer}.attn_norm", x)
        q = self._projection(f"{layer}.attn.q", layer, normed, 0, config.q_width)
        k, v = self.key_value(layer, normed)
        q, k, values = self._ropes(layer, q, k, v, cos, sin)
        keys = self.cache_append(f"{layer}.k_append", k, f"{layer}.k_cache")
        attended = self.sdpa(f"{layer}.sdpa", q, keys, values)
        projected = self.linear(f"{layer}.attn.o", self.matrix(f"{layer}.attn.o"), attended, config.hidden)
        return self.add(f"{layer}.attn_residual", x, projected, config.hidden)

    def _mlp(self, layer: str, x: str) -> str:
        hidden, ffn = self.config.hidden, self.config.ffn
        normed = self.layer_norm(f"{layer}.mlp_norm", x)
        activated, up = self.gate_and_up(layer, normed)
        product = self.mul(f"{layer}.mlp.mul", activated, up, ffn)
        down = self.linear(f"{layer}.mlp.down", self.matrix(f"{layer}.mlp.down"), product, hidden)
        return self.add(f"{layer}.mlp_residual", x, down, hidden)

    def _projection(self, op: str, layer: str, x: str, first: int, rows: int) -> str:
        bias = self.qkv_bias(layer) if self.config.qkv_bias else None
        return self.linear(op, self.qkv(layer), x, rows, first=first, bias=bias)

    def _ropes(self, layer: str, q: str, k: str, v: str, cos: str, sin: str) -> tuple[str, str, str]:
        """x * cos + rotate_half(x) * sin for q and k, every head by the same angles, and v into the cache: operation by
        operation, so that neighbours do not wait for each other.
        """
        config, head_dim = self.config, self.config.head_dim
        for_q, for_k, wide, narrow = f"{layer}.q_rope", f"{layer}.k_rope", config.q_width, config.kv_width
        q_straight = self.mul(f"{for_q}.mul_cos", q, cos, wide, head_dim, early=(k, v))
        k_straight = self.mul(f"{for_k}.mul_cos", k, cos, narrow, head_dim)
        q_negated, k_negated = self.neg(f"{for_q}.neg", q, wide), self.neg(f"{for_k}.neg", k, narrow)
        values = self.cache_append(f"{layer}.v_append", v, f"{layer}.v_cache")
        q_rotated = self.cat(f"{for_q}.cat", q_negated, q, wide, early=(k_negated,))
        k_rotated = self.cat(f"{for_k}.cat", k_negated, k, narrow)
        q_turned = self.mul(f"{for_q}.mul_sin", q_rotated, sin, wide, head_dim, early=(k_rotated,))
        k_turned = self.mul(f"{for_k}.mul_sin", k_rotated, sin, narrow, head_dim)
        q = self.add(f"{for_q}.add", q_straight, q_turned, wide, early=(k_straight, k_turned))
        return q, self.add(f"{for_k}.add", k_straight, k_turned, narrow), values
