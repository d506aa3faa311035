"""Where a text ends, and who runs its steps."""

from collections.abc import Iterator
from typing import Any

import pytest

from llm.errors import ContextError
from llm.generate import Generation
from llm.model import Model
from llm.strategies import AHEAD, Runner, runner
from tests.llm import tiny

PROMPT = [7, 3, 250]


@pytest.fixture(scope="module")
def model(device: Any) -> Model:
    return Model(device, tiny.LLAMA, tiny.random_weights(tiny.LLAMA), max_context=8)


@pytest.fixture(scope="module")
def run(model: Model) -> Iterator[Runner]:
    with runner(model, "single-pass") as run:
        yield run


@pytest.fixture(scope="module")
def expected() -> list[int]:
    return tiny.Reference(tiny.LLAMA, tiny.random_weights(tiny.LLAMA)).greedy(PROMPT, 6)


def test_as_many_as_asked_for(model: Model, run: Runner, expected: list[int]) -> None:
    generation = Generation(model, run, PROMPT, 4)
    assert list(generation) == expected[:4]
    assert generation.stop_reason == "length"
    assert generation.steps == 4


def test_a_text_can_be_made_again(model: Model, run: Runner, expected: list[int]) -> None:
    generation = Generation(model, run, PROMPT, 3)
    assert list(generation) == list(generation) == expected[:3]


def test_stop_token_is_not_yielded(model: Model, run: Runner, expected: list[int]) -> None:
    generation = Generation(model, run, PROMPT, 6, stop_tokens={expected[2]})
    assert list(generation) == expected[: expected.index(expected[2])]
    assert generation.stop_reason == "stop token"


def test_full_context_ends_the_text(model: Model, run: Runner, expected: list[int]) -> None:
    generation = Generation(model, run, PROMPT, 100)
    assert list(generation) == expected
    assert generation.stop_reason == "context full"
    assert generation.steps == 6


def test_prompt_as_long_as_the_context(model: Model, run: Runner) -> None:
    generation = Generation(model, run, [1] * 8, 100)
    assert len(list(generation)) == 1
    assert generation.stop_reason == "context full"


def test_prompt_longer_than_the_context(model: Model, run: Runner) -> None:
    with pytest.raises(ContextError, match="9 tokens, but the context holds 8"):
        list(Generation(model, run, [1] * 9, 1))


@pytest.mark.parametrize(("strategy", "per_submit"), [("eager", 2), ("single-pass", 3), (AHEAD, 1), (AHEAD, 2)])
def test_every_way_makes_the_same_text(model: Model, expected: list[int], strategy: str, per_submit: int) -> None:
    with runner(model, strategy, per_submit=per_submit) as run:
        for _ in range(2):
            assert list(Generation(model, run, PROMPT, 5)) == expected[:5]


def test_steps_behind_a_stop_change_nothing(model: Model, run: Runner, expected: list[int]) -> None:
    """The stop is on the GPU: steps that were submitted too many leave the text alone."""
    stop = expected[0]
    list(Generation(model, run, PROMPT, 1, {stop}))
    before = model.read_tokens(1, 8)
    for _ in range(5):
        model.step()
    assert model.read_token() == stop
    assert model.read_tokens(1, 8) == before


def test_progress_is_told(device: Any) -> None:
    model = Model(device, tiny.LLAMA, tiny.random_weights(tiny.LLAMA))
    told: list[tuple[int, int]] = []
    with runner(model, "eager") as run:
        list(Generation(model, run, [1] * 50, 1, progress=lambda done, total: told.append((done, total))))
    assert told[-1] == (49, 49)
