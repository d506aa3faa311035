"""The prefill plan: many tokens of the prompt at once, with matrix kernels, up to the prompt's last token.

That one is left to a decode step, which makes the logits; so there is no output matrix here, and the last layer ends
when its keys and values are in the cache.
"""

import math

from llm.config import ModelConfig
from llm.plans.builder import FLOAT
from llm.plans.fused import Fused
from llm.plans.plan import Plan, padded
from llm.plans.target import Target

TILE_ROWS, TILE_TOKENS = 64, 32
QUADS_A_WORKGROUP, TOKENS_A_LANE = 16, 8


def prefill(config: ModelConfig, target: Target, tokens: int) -> Plan:
    """The plan for batches of `tokens` tokens, a multiple of 8."""
    return Prefill(f"prefill-{tokens}", config, target, tokens).build()


class Prefill(Fused):
    """Builds the plan."""

    def __init__(self, name: str, config: ModelConfig, target: Target, tokens: int) -> None:
        super().__init__(name, config, target)
        self.tokens = tokens
        self.prefix = f"{name}."  # a decode step's buffers are smaller

    def build(self) -> Plan:
        config = self.config
        x = self._embedding_rows("x")
        for number in range(config.layers):
            layer = f"layer.{number}"
            normed = self.rms_norm(f"{layer}.attn_norm", f"{layer}.attn_norm", x, self.tokens)
            rows = config.q_width + 2 * config.kv_width
            qkv = self.room(f"{layer}.attn.qkv", self.tokens * rows * FLOAT)
            self._matmul(f"{layer}.attn.qkv", self.qkv(layer), normed, qkv, bias=self.qkv_bias(layer))
            q, keys, values = self.rope_cache(layer, qkv, self.tokens)
            if number == config.layers - 1:
                break
            attended = self.sdpa(f"{layer}.sdpa", q, keys, values, self.tokens)
            self._matmul(f"{layer}.attn.o", self.matrix(f"{layer}.attn.o"), attended, x)
            normed = self.rms_norm(f"{layer}.mlp_norm", f"{layer}.mlp_norm", x, self.tokens)
            both = self.room(f"{layer}.mlp.gate_up", self.tokens * 2 * config.ffn * FLOAT)
            self._matmul(f"{layer}.mlp.gate_up", self.gate_up(layer), normed, both, bias=self._no_bias())
            product = self._silu_mul(f"{layer}.mlp.mul", both)
            self._matmul(f"{layer}.mlp.down", self.matrix(f"{layer}.mlp.down"), product, x)
        buffers = ("prompt", "state", "tokens")
        self.add_op("advance", "advance", "prefill_advance", {"TOKENS": self.tokens}, buffers, (1, 1, 1))
        return self.finish(sampling_from=len(self.ops))

    def _embedding_rows(self, op: str) -> str:
        n = self.config.hidden
        out = self.room(op, self.tokens * n * FLOAT)
        for number, (part, first, rows) in enumerate(self.slices("embedding")):
            parts, sizes = self.of_matrix(part)
            constants = {**sizes, "FIRST": first, "CAPACITY": self.capacity}
            kernel, count = "embedding_rows_cpu", n
            if not self.cpu:
                kernel, count = "embedding_rows", n // 4
                constants["ROWS"] = rows
            buffers = (part, "state", "prompt", out)
            workgroups = (math.ceil(count / 64), self.tokens, 1)
            self.add_op(f"{op}.{number}", "embedding", kernel, constants, buffers, workgroups, parts)
        return out

    def _matmul(self, op: str, weight: str, x: str, y: str, bias: str | None = None) -> None:
        """y = x W^T + bias, or added to y without a bias."""
        rows = self.weights[weight].rows
        parts, sizes = self.of_matrix(weight)
        constants = {**sizes, "TOKENS": self.tokens, "ADD": 0 if bias else 1}
        buffers = (weight, x, bias or self._no_bias(), y)
        if self.cpu:
            workgroups = (math.ceil(padded(rows) / 4 / QUADS_A_WORKGROUP), math.ceil(self.tokens / TOKENS_A_LANE), 1)
            self.add_op(op, "linear", "matmul_cpu", constants, buffers, workgroups, parts)
        else:
            constants["ROWS"] = rows
            workgroups = (math.ceil(rows / TILE_ROWS), math.ceil(self.tokens / TILE_TOKENS), 1)
            self.add_op(op, "linear", "matmul", constants, buffers, workgroups, parts)

    def _no_bias(self) -> str:
        widest = max(2 * self.config.ffn, self.config.q_width + 2 * self.config.kv_width, self.config.hidden)
        return self.room_named("no_bias", widest * FLOAT)

    def _silu_mul(self, op: str, gate_up: str) -> str:
        n = self.config.ffn
        out = self.room(op, self.tokens * n * FLOAT)
        workgroups = (math.ceil(n / 64), self.tokens, 1)
        self.add_op(op, "mul", "silu_mul", {"N": n}, (gate_up, out), workgroups)
        return out
