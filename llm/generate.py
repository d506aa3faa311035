"""Generation: the prompt in batches, then one decode step after another, whoever runs them."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Literal, Protocol

from attrs import define, field

from llm.model import Model


class Steps(Protocol):
    """What runs a model: batches of the prompt, then a stream of tokens that follow a position."""

    @property
    def step(self) -> Callable[[], object]: ...

    def prefill(self, tokens: int, /) -> object: ...

    def stream(self, position: int, count: int) -> Iterator[int]: ...


StopReason = Literal["length", "stop token", "context full"]


@define
class Generation:
    """The continuation of a prompt, made as it is iterated over.

    `runner` runs prefills and decode steps. `stop_tokens` end the text and are not yielded. `progress(done, total)`
    hears of the prompt's tokens. Afterwards `stop_reason` says why it ended, and `steps` how many steps were read.
    Iterating raises ContextError where the prompt does not fit the context.
    """

    model: Model
    runner: Steps
    prompt: Sequence[int]
    max_tokens: int
    stop_tokens: Collection[int] = ()
    progress: Callable[[int, int], None] | None = None
    stop_reason: StopReason | None = field(default=None, init=False)
    steps: int = field(default=0, init=False)

    def __iter__(self) -> Iterator[int]:
        self.model.start(self.prompt, self.stop_tokens)
        self.stop_reason, self.steps = None, 0
        self.fill_cache()
        position = len(self.prompt) - 1
        room = self.model.max_context - position
        for token in self.runner.stream(position, min(self.max_tokens, room)):
            self.steps += 1
            if token in self.stop_tokens:
                self.stop_reason = "stop token"
                return
            yield token
        self.stop_reason = "length" if self.max_tokens <= room else "context full"

    def fill_cache(self) -> None:
        """Run the prompt, but for its last token, in batches; several texts by steps."""
        total, done = len(self.prompt) - 1, 0
        for _ in range(total if self.model.texts > 1 else 0):
            self.runner.step()
        for batch in self.model.batches(len(self.prompt)):
            self.runner.prefill(batch)
            done = min(total, done + batch)
            if self.progress is not None:
                self.model.read_token()  # waits, so that the progress is that of the GPU
                self.progress(done, total)
