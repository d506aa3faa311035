"""What plans for many rows at once have in common: rows of a batch are tokens of a prompt, or texts."""

import math

from llm.config import ModelConfig
from llm.plans.builder import FLOAT
from llm.plans.fused import Fused
from llm.plans.plan import padded
from llm.plans.target import Target

TILE_ROWS, TILE_TOKENS = 64, 32
QUADS_A_WORKGROUP, TOKENS_A_LANE = 16, 8


class Rows(Fused):
    """The operations of a layer on `rows` rows, with matrix kernels."""

    def __init__(self, name: str, config: ModelConfig, target: Target, rows: int) -> None:
        super().__init__(name, config, target)
        self.rows = rows
        self.prefix = f"{name}."  # the buffers of a step for one row are smaller

    def rows_room(self, op: str, width: int) -> str:
        """Room for the rows, filled up to what the kernels for CPU adapters read."""
        return self.room(op, padded(self.rows, TOKENS_A_LANE) * width * FLOAT)

    def embedding_rows(self, op: str) -> str:
        n = self.config.hidden
        out = self.rows_room(op, n)
        for number, (part, first, rows) in enumerate(self.slices("embedding")):
            parts, sizes = self.of_matrix(part)
            constants = {**sizes, **self.texts, "FIRST": first, "CAPACITY": self.capacity}
            kernel, count = "embedding_rows_cpu", n
            if not self.cpu:
                kernel, count = "embedding_rows", n // 4
                constants["ROWS"] = rows
            buffers = (part, "state", "prompt", out)
            workgroups = (math.ceil(count / 64), self.rows, 1)
            self.add_op(f"{op}.{number}", "embedding", kernel, constants, buffers, workgroups, ("texts", *parts))
        return out

    def keys_and_values(self, layer: str, x: str) -> tuple[str, str, str]:
        """q of all rows, with keys and values in the cache."""
        config = self.config
        normed = self.norm_rows(f"{layer}.attn_norm", x)
        qkv = self.rows_room(f"{layer}.attn.qkv", config.q_width + 2 * config.kv_width)
        self.matmul(f"{layer}.attn.qkv", self.qkv(layer), normed, qkv, bias=self.qkv_bias(layer))
        return self.rope_cache(layer, qkv, self.rows)

    def attention_and_mlp(self, layer: str, x: str, attention: tuple[str, str, str]) -> None:
        """The rest of a layer, added to x."""
        attended = self.sdpa(f"{layer}.sdpa", *attention, self.rows)
        self.matmul(f"{layer}.attn.o", self.matrix(f"{layer}.attn.o"), attended, x)
        normed = self.norm_rows(f"{layer}.mlp_norm", x)
        both = self.rows_room(f"{layer}.mlp.gate_up", 2 * self.config.ffn)
        self.matmul(f"{layer}.mlp.gate_up", self.gate_up(layer), normed, both, bias=self.no_bias())
        self.matmul(f"{layer}.mlp.down", self.matrix(f"{layer}.mlp.down"), self._silu_mul(layer, both), x)

    def norm_rows(self, op: str, x: str, norm: str = "") -> str:
        """The norm of all rows; `norm` is its weight, by default the one that is called as the op."""
        self.rows_room(op, self.config.hidden)
        return self.rms_norm(op, norm or op, x, self.rows)

    def matmul(self, op: str, weight: str, x: str, y: str, bias: str | None = None, **place: int) -> None:
        """y = x W^T + bias, or added to y without a bias. `place`: START and OUT_WIDTH of a part of wider rows."""
        rows = self.weights[weight].rows
        parts, sizes = self.of_matrix(weight)
        constants = {**sizes, "TOKENS": self.rows, "ADD": 0 if bias else 1, **place}
        buffers = (weight, x, bias or self.no_bias(), y)
        if self.cpu:
            workgroups = (math.ceil(padded(rows) / 4 / QUADS_A_WORKGROUP), math.ceil(self.rows / TOKENS_A_LANE), 1)
            self.add_op(op, "linear", "matmul_cpu", constants, buffers, workgroups, parts)
        else:
            constants["ROWS"] = rows
            workgroups = (math.ceil(rows / TILE_ROWS), math.ceil(self.rows / TILE_TOKENS), 1)
            self.add_op(op, "linear", "matmul", constants, buffers, workgroups, parts)

    def no_bias(self) -> str:
        """Zeros in the place of a bias."""
        config = self.config
        widest = max(2 * config.ffn, config.q_width + 2 * config.kv_width, config.hidden, self.widest_output)
        return self.room_named("no_bias", padded(widest) * FLOAT)

    @property
    def widest_output(self) -> int:
        """Elements of the widest row that the subclass makes."""
        return 0

    def _silu_mul(self, layer: str, gate_up: str) -> str:
        n = self.config.ffn
        out = self.rows_room(f"{layer}.mlp.mul", n)
        workgroups = (math.ceil(n / 64), self.rows, 1)
        self.add_op(f"{layer}.mlp.mul", "mul", "silu_mul", {"N": n}, (gate_up, out), workgroups)
        return out
