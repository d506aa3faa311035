"""Where a text ends, and who runs its steps."""

from typing import Any

import pytest

from llm.errors import ContextError
from llm.generate import Generation
from llm.model import Model
from tests.llm import tiny

PROMPT = [7, 3, 250]


@pytest.fixture(scope="module")
def model(device: Any) -> Model:
    return Model(device, tiny.LLAMA, tiny.random_weights(tiny.LLAMA), max_context=8)


@pytest.fixture(scope="module")
def expected() -> list[int]:
    return tiny.Reference(tiny.LLAMA, tiny.random_weights(tiny.LLAMA)).greedy(PROMPT, 6)


def test_as_many_as_asked_for(model: Model, expected: list[int]) -> None:
    generation = Generation(model, PROMPT, 4)
    assert list(generation) == expected[:4]
    assert generation.stop_reason == "length"
    assert generation.steps == len(PROMPT) + 3


def test_a_text_can_be_made_again(model: Model, expected: list[int]) -> None:
    generation = Generation(model, PROMPT, 3)
    assert list(generation) == list(generation) == expected[:3]


def test_stop_token_is_not_yielded(model: Model, expected: list[int]) -> None:
    generation = Generation(model, PROMPT, 6, stop_tokens={expected[2]})
    assert list(generation) == expected[: expected.index(expected[2])]
    assert generation.stop_reason == "stop token"


def test_full_context_ends_the_text(model: Model, expected: list[int]) -> None:
    generation = Generation(model, PROMPT, 100)
    assert list(generation) == expected
    assert generation.stop_reason == "context full"
    assert generation.steps == model.max_context


def test_prompt_as_long_as_the_context(model: Model) -> None:
    generation = Generation(model, [1] * 8, 100)
    assert len(list(generation)) == 1
    assert generation.stop_reason == "context full"


def test_prompt_longer_than_the_context(model: Model) -> None:
    with pytest.raises(ContextError, match="9 tokens, but the context holds 8"):
        list(Generation(model, [1] * 9, 1))


def test_another_step_is_called_instead(model: Model, expected: list[int]) -> None:
    calls = []

    def step() -> None:
        calls.append(1)
        model.step()

    assert list(Generation(model, PROMPT, 2, step=step)) == expected[:2]
    assert len(calls) == len(PROMPT) + 1
