"""The prefill plan: many tokens of the prompt at once, with matrix kernels, up to the prompt's last token.

That one is left to a decode step, which makes the logits; so there is no output matrix here, and the last layer ends
when its keys and values are in the cache.
"""

from llm.config import ModelConfig
from llm.plans.plan import Plan
from llm.plans.rows import Rows
from llm.plans.target import Target


def prefill(config: ModelConfig, target: Target, tokens: int) -> Plan:
    """The plan for batches of `tokens` tokens, a multiple of 8."""
    return Prefill(f"prefill-{tokens}", config, target, tokens).build()


class Prefill(Rows):
    """Builds the plan."""

    def build(self) -> Plan:
        x = self.embedding_rows("x")
        for number in range(self.config.layers):
            layer = f"layer.{number}"
            attention = self.keys_and_values(layer, x)
            if number < self.config.layers - 1:
                self.attention_and_mlp(layer, x, attention)
        buffers = ("prompt", "state", "tokens")
        self.add_op("advance", "advance", "prefill_advance", {"TOKENS": self.rows}, buffers, (1, 1, 1))
        return self.finish(sampling_from=len(self.ops))
