"""Greedy generation: one decode step after another, whoever runs the step."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Literal

from attrs import define, field

from llm.model import Model

StopReason = Literal["length", "stop token", "context full"]


@define
class Generation:
    """The continuation of a prompt, made as it is iterated over.

    `step` runs one decode step without waiting for it: the model's own, or a graph's replay. `stop_tokens`
    end the text and are not yielded. Afterwards `stop_reason` says why it ended. Iterating raises
    ContextError where the prompt does not fit the context.
    """

    model: Model
    prompt: Sequence[int]
    max_tokens: int
    stop_tokens: Collection[int] = ()
    step: Callable[[], object] | None = None
    stop_reason: StopReason | None = field(default=None, init=False)
    steps: int = field(default=0, init=False)

    def __iter__(self) -> Iterator[int]:
        step = self.step or self.model.step
        self.model.start(self.prompt)
        self.stop_reason, self.steps = None, 0
        for _ in self.prompt[:-1]:
            step()
            self.steps += 1
        for _ in range(self.max_tokens):
            if self.steps == self.model.max_context:
                self.stop_reason = "context full"
                return
            step()
            self.steps += 1
            token = self.model.read_token()
            if token in self.stop_tokens:
                self.stop_reason = "stop token"
                return
            yield token
        self.stop_reason = "length"
