"""The demonstration: one text made by ordinary calls and by replaying a captured graph, and what each costs."""

import itertools
import math
import textwrap
import time
from collections.abc import Iterator

from attrs import define, field

from cmdgraph.bench import environment, markdown, method
from llm.generate import Generation
from llm.loading import LoadedModel
from llm.strategies import EAGER, Runner, runner

PROMPT = "Once upon a time, there was a little robot named"
COLUMN = 46


@define
class _Take:
    """One text and what it cost: wall seconds of each token but the first; the CPU seconds are the runner's."""

    runner: Runner
    tokens: list[int] = field(factory=list, init=False)
    wall_s: list[float] = field(factory=list, init=False)
    text: str = field(default="", init=False)


def run_demo(loaded: LoadedModel, tokens: int, strategy: str) -> bool:
    """Print the texts as they come, then both side by side with a table. True where their tokens are equal."""
    print(f"prompt: {PROMPT}\n", flush=True)
    takes = [_take(loaded, name, tokens) for name in (EAGER, strategy)]
    print(_side_by_side(takes))
    print()
    print(markdown.facts(environment.describe(loaded.model.device)))
    print()
    print(_table(takes))
    return takes[0].tokens == takes[1].tokens


def _take(loaded: LoadedModel, strategy: str, tokens: int) -> _Take:
    print(f"{strategy}:", end="", flush=True)
    with runner(loaded.model, strategy) as run:
        take = _Take(run)
        ids = loaded.tokenizer.encode(PROMPT)
        generation = Generation(loaded.model, run, ids, tokens, loaded.tokenizer.stop_tokens)
        for piece in loaded.tokenizer.stream(_timed(generation, take)):
            take.text += piece
            print(piece, end="", flush=True)
    print("\n", flush=True)
    return take


def _timed(generation: Generation, take: _Take) -> Iterator[int]:
    """The tokens; notes the time each took, but for the first: the prompt's steps are in it."""
    wall = time.perf_counter()
    for token in generation:
        if take.tokens:
            take.wall_s.append(time.perf_counter() - wall)
        take.tokens.append(token)
        yield token
        wall = time.perf_counter()


def _side_by_side(takes: list[_Take]) -> str:
    columns = [[take.runner.strategy, "-" * COLUMN, *_wrapped(take.text)] for take in takes]
    lines = itertools.zip_longest(*columns, fillvalue="")
    return "\n".join(f"{left:{COLUMN}}  |  {right}".rstrip() for left, right in lines)


def _wrapped(text: str) -> list[str]:
    paragraphs = [textwrap.wrap(paragraph, COLUMN) or [""] for paragraph in text.strip().splitlines()]
    return list(itertools.chain.from_iterable(paragraphs))


def _table(takes: list[_Take]) -> str:
    eager, replayed = takes
    cpu = [1e6 * _median(take.runner.cpu_s) / take.runner.dispatches for take in takes]
    wall = [1e3 * _median(take.wall_s) for take in takes]
    counts = [(take.runner.dispatches, take.runner.submits) for take in takes]
    rows = [
        ["dispatches a token", *[str(dispatches) for dispatches, _ in counts], ""],
        ["submits a token", *[str(submits) for _, submits in counts], _times(counts[0][1], counts[1][1])],
        ["host CPU us a dispatch", *[f"{value:.2f}" for value in cpu], _times(*cpu)],
        ["ms a token", *[f"{value:.1f}" for value in wall], _times(*wall)],
        ["same tokens", "", "yes" if eager.tokens == replayed.tokens else "NO", ""],
    ]
    return markdown.table(["", eager.runner.strategy, replayed.runner.strategy, "times less"], rows)


def _median(values: list[float]) -> float:
    """Not a number where a text ended too soon to be timed."""
    return method.summary(values)["median"] if values else math.nan


def _times(over: float, under: float) -> str:
    return f"{over / under:.1f}"
