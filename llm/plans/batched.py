"""The fused plan for several texts at once: a row a text, each with a position, a cache and a choice of its own.

Weights are read once for all texts, by matrix kernels: 9 dispatches a layer, and outside the embedding, the last norm,
the output matrix and the choice of the tokens.
"""

from llm.config import ModelConfig
from llm.plans.plan import Plan, padded
from llm.plans.rows import Rows
from llm.plans.target import Target


def batched(config: ModelConfig, target: Target) -> Plan:
    """The plan for `target.texts` texts."""
    return Batched("fused", config, target, target.texts).build()


class Batched(Rows):
    """Builds the plan."""

    def __init__(self, name: str, config: ModelConfig, target: Target, rows: int) -> None:
        super().__init__(name, config, target, rows)
        self.prefix = ""

    def build(self) -> Plan:
        x = self.embedding_rows("x")
        for number in range(self.config.layers):
            layer = f"layer.{number}"
            self.attention_and_mlp(layer, x, self.keys_and_values(layer, x))
        normed = self.norm_rows("final_norm.out", x, "final_norm")
        logits = self.rows_room("logits", self.widest_output)
        for number, (part, first, _) in enumerate(self.slices(self.head)):
            place = {"START": first, "OUT_WIDTH": self.widest_output}
            self.matmul(f"logits.{number}", part, normed, logits, bias=self.no_bias(), **place)
        forward = len(self.ops)
        best = self.argmax("sample.argmax", logits)
        self.choose("sample.choose", logits, best, self.argmax_parts)
        return self.finish(sampling_from=forward)

    @property
    def widest_output(self) -> int:
        return padded(self.config.vocab)
