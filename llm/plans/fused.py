"""The fused plan: as few dispatches as pays.

On GPUs 5 a layer: norm + q, k, v + RoPE + cache; attention, split over the cache; its merge + o + residual; norm +
gate + up + silu + mul; down + residual. One before the layers, the embedding, and one behind, final norm + output
matrix with the first step of argmax; then the choice of the token: 24 * 5 + 3 = 123 for Qwen2.5-0.5B. On CPU adapters
a dispatch costs little beside a norm done by every invocation anew, and RoPE crosses invocations, so they have
dispatches of their own: 8 a layer and 5 outside.
"""

import math

from llm.config import ModelConfig
from llm.plans.builder import FLOAT, PAIR, elements
from llm.plans.kernels import MOST_STAGED, PlanBuilder
from llm.plans.plan import Plan, padded
from llm.plans.target import Target

# Quads that an invocation reads ahead, as in shaders/sdpa_split.wgsl.
AHEAD, QUAD = 8, 16


def fused(config: ModelConfig, target: Target) -> Plan:
    """The plan for a target of one text."""
    return Fused("fused", config, target).build()


class Fused(PlanBuilder):
    """Builds the plan."""

    def build(self) -> Plan:
        x = self.embedding("x") if self.cpu else self._begin("begin")
        for number in range(self.config.layers):
            layer = f"layer.{number}"
            q, keys, values = self.qkv_on_cpu(layer, x) if self.cpu else self._qkv(layer, x)
            if self._splits:
                self._split_attention(layer, q, keys, values, x)
            else:
                attended = self.sdpa(f"{layer}.sdpa", q, keys, values)
                self.linear_add(f"{layer}.attn.o", self.matrix(f"{layer}.attn.o"), attended, x)
            product = self._gate_up_on_cpu(layer, x) if self.cpu else self._gate_up(layer, x)
            self.linear_add(f"{layer}.mlp.down", self.matrix(f"{layer}.mlp.down"), product, x)
        if self.cpu or self.config.hidden > MOST_STAGED:
            logits = self.logits("logits", self.rms_norm("final_norm.out", "final_norm", x))
            forward, parts = len(self.ops), self.argmax_parts
            best = self.argmax("sample.argmax", logits)
        else:
            logits, best, parts = self._norm_logits("logits", x)
            forward = len(self.ops)
        self.choose("sample.choose", logits, best, parts)
        return self.finish(sampling_from=forward)

    def linear_add(self, op: str, weight: str, x: str, y: str) -> None:
        """y += W x."""
        rows, columns = self.config.hidden, self.weights[weight].columns
        if self.cpu:
            self.quads_op(op, "linear", "matvec_add", (weight, x, y), rows, {})
        else:
            shape = self.target.shapes.for_row(columns)
            self.matvec_op(op, "linear", "matvec_add", (weight, x, y), rows, shape, {"ROWS": rows})

    # For GPUs.

    def _begin(self, op: str) -> str:
        config = self.config
        x, place = self.room("x", config.hidden * FLOAT), self.room("place", (config.head_dim // 2 + 1) * PAIR)
        for number, (part, first, rows) in enumerate(self.slices("embedding")):
            parts, sizes = self.of_matrix(part)
            constants = {"FIRST": first, "ROWS": rows, "HEAD_DIM": config.head_dim, "CAPACITY": self.capacity}
            buffers = (part, "state", "rotary.table", x, place)
            count = max(config.hidden // 4, config.head_dim // 2 + 1)
            name = f"{op}.{number}" if number else op
            self.add_op(name, "embedding", "begin_step", {**sizes, **constants}, buffers, elements(count), parts)
        return x

    def _qkv(self, layer: str, x: str) -> tuple[str, str, str]:
        config = self.config
        q, keys, values = self._attention_buffers(layer)
        norm = self.vector(f"{layer}.attn_norm")
        buffers = (self.qkv(layer), x, norm, self.qkv_bias(layer), "place", q, keys, values)
        pairs = (config.q_width + 2 * config.kv_width) // 2
        constants = {**self.head_sizes(), "EPS": config.norm_eps}
        shape = self.target.shapes.qkv
        self.rows_op(
            f"{layer}.attn.qkv", "linear", "norm_qkv_rope", buffers, pairs, shape, constants, ("normed_products",)
        )
        return q, keys, values

    @property
    def _splits(self) -> int:
        """How many workgroups share the cache of a head; 0 where one does it alone."""
        splits = self.target.shapes.splits
        return splits if splits > 1 and not self.cpu and self.config.q_width <= MOST_STAGED else 0

    def _split_attention(self, layer: str, q: str, keys: str, values: str, x: str) -> None:
        """x += Wo attention, the cache of a head shared by several workgroups."""
        config, shapes, op = self.config, self.target.shapes, f"{layer}.sdpa"
        out = self.room(op, self._splits * (config.q_width + config.heads * 4) * FLOAT)
        ahead, sink = self.gate_up(layer), self.room_named("sink", 16)
        parts, reduce_constants = self.reduced(shapes.split)
        constants = {**self.attention_sizes(), "SPLITS": self._splits, **reduce_constants}
        read = min(shapes.ahead << 20, self.weights[ahead].nbytes)
        workgroups = config.heads * self._splits + math.ceil(read / (AHEAD * QUAD * shapes.split.workgroup))
        buffers = (q, keys, values, "state", out, ahead, sink)
        self.add_op(op, "sdpa", "sdpa_split", constants, buffers, (workgroups, 1, 1), ("attend", "texts", *parts))
        rows, weight = config.hidden, self.matrix(f"{layer}.attn.o")
        sizes = {"ROWS": rows, "HEADS": config.heads, "HEAD_DIM": config.head_dim, "SPLITS": self._splits}
        self.rows_op(f"{layer}.attn.o", "linear", "merge_add", (weight, out, x), rows, shapes.merge, sizes, ())

    def _gate_up(self, layer: str, x: str) -> str:
        rows, op = self.config.ffn, f"{layer}.mlp.gate_up"
        out = self.room(op, rows * FLOAT)
        buffers = (self.gate_up(layer), x, self.vector(f"{layer}.mlp_norm"), out)
        constants = {"ROWS": rows, "EPS": self.config.norm_eps}
        shape = self.target.shapes.gate_up
        self.rows_op(op, "linear", "norm_gate_up", buffers, rows, shape, constants, ("normed_products",))
        return out

    def _norm_logits(self, op: str, x: str) -> tuple[str, str, int]:
        """The logits, the best of each workgroup, and the number of those."""
        out = self.room(op, padded(self.config.vocab) * FLOAT)
        best, found = "best", 0
        for number, (part, first, rows) in enumerate(self.slices(self.head)):
            constants = {"ROWS": rows, "START": first, "BEST": found, "EPS": self.config.norm_eps}
            buffers = (part, x, self.vector("final_norm"), out, best)
            found += self.walk_op(f"{op}.{number}" if number else op, "norm_logits", buffers, constants)
        self.room_named(best, found * PAIR)
        return out, best, found

    # For CPU adapters.

    def qkv_on_cpu(self, layer: str, x: str) -> tuple[str, str, str]:
        config = self.config
        normed = self.rms_norm(f"{layer}.attn_norm", f"{layer}.attn_norm", x)
        weight, rows = self.qkv(layer), config.q_width + 2 * config.kv_width
        bias = self.qkv_bias(layer) if config.qkv_bias else None
        qkv = self.linear(f"{layer}.attn.qkv", weight, normed, rows, bias=bias)
        return self.rope_cache(layer, qkv)

    def rope_cache(self, layer: str, qkv: str, rows: int = 1) -> tuple[str, str, str]:
        """RoPE and cache for `rows` neighbouring positions."""
        config = self.config
        q, keys, values = self._attention_buffers(layer, rows)
        pairs = (config.q_width + 2 * config.kv_width) // 2
        buffers = (qkv, "rotary.table", "state", q, keys, values)
        workgroups, constants = (elements(pairs)[0], rows, 1), {**self.head_sizes(), **self.texts}
        self.add_op(f"{layer}.rope", "rope", "rope_cache", constants, buffers, workgroups, ("texts",))
        return q, keys, values

    def _gate_up_on_cpu(self, layer: str, x: str) -> str:
        rows, op = self.config.ffn, f"{layer}.mlp.gate_up"
        normed = self.rms_norm(f"{layer}.mlp_norm", f"{layer}.mlp_norm", x)
        out = self.room(op, rows * FLOAT)
        self.quads_op(op, "linear", "gate_up", (self.gate_up(layer), normed, out), rows, {"ROWS": rows})
        return out

    def _attention_buffers(self, layer: str, rows: int = 1) -> tuple[str, str, str]:
        keys, values = self.cache(f"{layer}.k_cache"), self.cache(f"{layer}.v_cache")
        return self.room("attn.q_turned", rows * self.config.q_width * FLOAT), keys, values
