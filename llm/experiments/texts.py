"""Texts as samples: what experiments run in each round, and the tokens that must come out.

A text begins behind a passage that is in the cache already, so that every text of every arm makes the same tokens.
"""

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, field, frozen

from cmdgraph.bench import trial
from cmdgraph.bench.experiments import Option
from cmdgraph.bench.method import Arm, MeasurementError, Plan, Samples, summary
from llm.errors import ContextError
from llm.golden import golden_prompts
from llm.loading import LoadedModel
from llm.strategies import Runner
from llm.tensors import expected_shapes

CHECKED = "tokens equal to the reference"
PROMPT = "p1"
FALLBACK_PROMPT = "The capital of France is"

OPTIONS = {
    "tokens": Option(16, "Of a text."),
    "depth": Option(0, "Begin behind so many made-up tokens, not behind a prompt.", least=0),
}
"""How long texts are, and where they begin: of every experiment on texts."""

SYNC = "the token of each step is read back before the next but two is submitted by `-ahead`, else before the next"
TIMED_REGION = (
    "a sample is a text of `tokens_per_sample` tokens from the same position, sampling and the reading of each token "
    "included; `prerecorded-ahead` submits the next two steps before it reads the token of one. Loading, buffers, "
    "pipelines, bind groups, captures and the prompt are outside"
)


@frozen
class Passage:
    """What stands before the texts, and the tokens that are known to follow it."""

    prompt: Sequence[int]
    golden: Sequence[int] = ()

    @property
    def position(self) -> int:
        """That of the last token, from which a text goes on."""
        return len(self.prompt) - 1


def passage(loaded: LoadedModel, depth: int = 0) -> Passage:
    """A golden prompt where the model has one; `depth` made-up tokens where that is not 0."""
    if depth:
        return Passage(made_up(loaded, depth))
    prompts = golden_prompts(loaded.golden)
    if prompts:
        return Passage(prompts[PROMPT].ids, prompts[PROMPT].greedy)
    return Passage(loaded.tokenizer.encode(FALLBACK_PROMPT))


def made_up(loaded: LoadedModel, count: int) -> list[int]:
    """Tokens that are not all the same."""
    return [1 + 7 * n % (loaded.model.config.vocab - 1) for n in range(count)]


def require_room(loaded: LoadedModel, where: Passage, tokens: int, prefill: int = 0) -> None:
    """Raises ContextError where the texts, or a prompt of `prefill` tokens, do not fit the context."""
    if max(where.position + tokens, prefill) > loaded.model.max_context:
        raise ContextError(
            f"{len(where.prompt)} tokens of prompt and {tokens} more, or a prefill of {prefill}, do not fit "
            f"the context of {loaded.model.max_context}"
        )


def fill(loaded: LoadedModel, where: Passage) -> None:
    """Puts the passage into the cache, but for its last token."""
    model = loaded.model
    model.start(where.prompt)
    for batch in model.batches(len(where.prompt)):
        model.prefill(batch)
    for _ in where.prompt[1:] if model.texts > 1 else ():
        model.step()


def reference(loaded: LoadedModel, where: Passage, tokens: int, known: Sequence[int] = ()) -> list[int]:
    """The tokens that must follow: `known` ones, else the golden text as far as it goes, and behind it what the model
    says when called eagerly. Leaves the passage in the cache.
    """
    fill(loaded, where)
    if known or len(where.golden) >= tokens:
        return list(known or where.golden[:tokens])
    made = []
    for _ in range(tokens):
        loaded.model.step()
        made.append(loaded.model.read_token())
    return [*where.golden, *made[len(where.golden) :]]


@frozen
class Text:
    """What a run has made: its tokens, the wall seconds until each, the caller's CPU seconds of each submission."""

    tokens: list[int]
    wall_s: list[float]
    submit_cpu_s: list[float]


@define
class TextArm:
    """Makes a text a run, by one model and strategy; several texts at once must be alike.

    A run begins where `rewind` has left the model; `settle`, which comes after each, rewinds.
    """

    loaded: LoadedModel
    runner: Runner
    where: Passage
    expected: Sequence[int]
    alike: bool = field(default=True, init=False)

    def run(self) -> Text:
        self.runner.cpu_s.clear()
        tokens, wall, before = [], [], time.perf_counter()
        for token in self.runner.stream(self.where.position, len(self.expected)):
            now = time.perf_counter()
            tokens.append(token)
            wall.append(now - before)
            before = now
        return Text(tokens, wall, list(self.runner.cpu_s))

    def rewind(self) -> None:
        model = self.loaded.model
        model.seek(self.where.position, self.where.prompt[-1])
        model.read_token()

    def settle(self) -> None:
        model, first = self.loaded.model, self.where.position + 1
        count = len(self.expected)
        mine = model.read_tokens(first, count)
        self.alike = self.alike and all(model.read_tokens(first, count, k) == mine for k in range(1, model.texts))
        self.rewind()

    def arm(self) -> Arm:
        """For `Plan.run`."""
        return Arm(self.run, worker_cpu=self.runner.worker_cpu, settle=self.settle)

    def right(self, samples: Samples, name: str) -> bool:
        """Whether every text of the arm is the reference."""
        made = [text.tokens for text in samples[name].returned]
        return self.alike and all(tokens == list(self.expected) for tokens in made)


def measure(arms: Mapping[str, TextArm], plan: Plan) -> Samples:
    """The samples of all arms. Raises MeasurementError where one makes other tokens than it must."""
    for arm in arms.values():
        arm.rewind()
    samples = plan.run({name: arm.arm() for name, arm in arms.items()})
    for name, arm in arms.items():
        if not arm.right(samples, name):
            made = samples[name].returned[0].tokens
            raise MeasurementError(f"{name}: wrong tokens, {made[:8]} instead of {list(arm.expected)[:8]}; no figures")
    return samples


def row(name: str, arm: TextArm, samples: Samples, **facts: Any) -> dict[str, Any]:
    """The row of an arm: what it ran, `facts`, and its figures."""
    runner, tokens, texts = arm.runner, len(arm.expected), arm.loaded.model.texts
    series = samples[name]
    return {
        "name": name,
        "series": runner.strategy,
        "plan": arm.loaded.model.plan.name,
        "dispatches": runner.dispatches,
        "submits": runner.submits,
        **facts,
        "dispatches_per_sample": runner.dispatches * tokens,
        "submits_per_sample": runner.submits * tokens,
        "checked": CHECKED,
        **trial.figures(series, "token", tokens),
        "tokens_per_s": summary([texts * tokens / wall for wall in series.wall_s], "tokens/s"),
    }


def subject(loaded: LoadedModel, where: Passage) -> dict[str, Any]:
    """What is measured on, for JSON."""
    model, config = loaded.model, loaded.model.config
    return {
        "name": loaded.source.title,
        "remark": loaded.source.remark,
        "layers": config.layers,
        "parameters": sum(math.prod(shape) for shape in expected_shapes(config).values()),
        "bytes": model.store.nbytes,
        "dtype": model.store.dtype,
        "kernels": model.plan.kernels,
        "texts": model.texts,
        "prompt_tokens": len(where.prompt),
        "golden_tokens": len(where.golden),
    }
