"""The paper's fused plan: 23 dispatches a layer and 12 outside.

The three fusions of arXiv 2608.08730: a layer's RMSNorms 6 -> 1 each (the final one stays), gate + up + silu 3 -> 1,
k + v 2 -> 1. All else is as in the unfused plan, kernels included. Qwen2.5-0.5B comes to 564 dispatches,
SmolLM2-135M to 702.
"""

from llm.config import ModelConfig
from llm.plans.builder import FLOAT
from llm.plans.plan import Plan, padded
from llm.plans.target import Target
from llm.plans.unfused import Unfused


def paper(config: ModelConfig, target: Target) -> Plan:
    """The plan for a target."""
    return Paper("paper", config, target).build()


class Paper(Unfused):
    """Builds the plan."""

    def layer_norm(self, norm: str, x: str) -> str:
        return self.rms_norm(norm, norm, x)

    def key_value(self, layer: str, x: str) -> tuple[str, str]:
        rows, first = self.config.kv_width, self.config.q_width
        k, v = (self.room(f"{layer}.attn.{part}", rows * FLOAT) for part in "kv")
        buffers = (self.qkv(layer), x, self.qkv_bias(layer), k, v)
        constants = {"ROWS": rows, "FIRST": first}
        if self.cpu:
            self.quads_op(f"{layer}.attn.kv", "linear", "key_value", buffers, 2 * rows, constants)
        else:
            shape = self.target.shapes.for_row(self.config.hidden)
            self.matvec_op(f"{layer}.attn.kv", "linear", "key_value", buffers, 2 * rows, shape, constants)
        return k, v

    def gate_and_up(self, layer: str, x: str) -> tuple[str, str]:
        rows, op = self.config.ffn, f"{layer}.mlp.gate_up_silu"
        activated, up = (self.room(f"{layer}.mlp.{part}", padded(rows) * FLOAT) for part in ("silu", "up"))
        buffers = (self.gate_up(layer), x, activated, up)
        if self.cpu:
            self.quads_op(op, "linear", "gate_up_silu", buffers, rows, {"ROWS": rows})
        else:
            self.rows_op(op, "linear", "gate_up_silu", buffers, rows, self.target.shapes.gate_up, {"ROWS": rows})
        return activated, up
