"""The work of the peers: exact in f32, and no dispatch can be left out unseen."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from cmdgraph.bench.peers.elementwise import ELEMENTS, Elementwise, Step


def test_additions_and_multiplications_take_turns() -> None:
    steps = Elementwise(7).steps

    assert [step.op for step in steps] == ["add", "mul", "add", "mul", "add", "mul", "add"]
    assert Elementwise(7).steps == steps
    assert len({step.operand for step in steps}) == 7


def test_f32_holds_every_result_exactly() -> None:
    chain = Elementwise(900, seed=3)
    values = exact = chain.input(1)
    exact = exact.astype(np.float64)
    for step in chain.steps:
        operand = chain.operands[step.operand]
        exact = exact + operand if step.op == "add" else exact * operand

    assert chain.expected(values).dtype == np.float32
    assert np.array_equal(chain.expected(values), exact)
    assert np.abs(exact).max() < 2**24


@pytest.mark.parametrize("left_out", [0, 1, 2, 150, 298, 299])
def test_a_dispatch_that_did_not_run_shows(left_out: int) -> None:
    chain = Elementwise(300)

    class Shorter(Elementwise):
        steps: list[Step] = [*chain.steps[:left_out], *chain.steps[left_out + 1 :]]  # type: ignore[assignment]

    values = chain.input(1)
    assert not np.array_equal(Shorter(300).expected(values), chain.expected(values))


def test_apart_each_dispatch_has_a_result() -> None:
    chain = Elementwise(5)
    values = chain.input(2)

    found = chain.expected_apart(values)
    assert found.shape == (5, ELEMENTS)
    assert np.array_equal(found[0], values + chain.operands[chain.steps[0].operand])
    assert np.array_equal(found[3], values * chain.operands[chain.steps[3].operand])


def test_inputs_and_operands_depend_on_the_seed() -> None:
    one, other = Elementwise(4, seed=1), attrs.evolve(Elementwise(4), seed=2)

    assert not np.array_equal(one.operands, other.operands)
    assert not np.array_equal(one.input(1), one.input(2))
    assert np.array_equal(one.input(1), Elementwise(9, seed=1).input(1))
