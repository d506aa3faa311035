"""Counted calls, and that nothing stays behind."""

from typing import Any

import pytest

from llm.counting import count_calls
from llm.model import Model
from tests.llm import tiny


def test_an_eager_step_is_three_calls_an_op(device: Any) -> None:
    model = Model(device, tiny.LLAMA, tiny.random_weights(tiny.LLAMA))
    model.start([1])
    calls = count_calls(device, model.step)
    assert calls.dispatches == calls.passes == calls.submits == len(model.plan.ops) == 2 * 36 + 12 + 2


def test_classes_are_as_before(device: Any) -> None:
    queue = type(device.queue)
    encoder = device.create_command_encoder()
    kept = [dict(vars(kind)) for kind in (queue, type(encoder), type(encoder.begin_compute_pass()))]
    with pytest.raises(ZeroDivisionError):
        count_calls(device, lambda: 1 / 0)
    assert kept == [dict(vars(kind)) for kind in (queue, type(encoder), type(encoder.begin_compute_pass()))]
