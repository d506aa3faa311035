"""The work that peers are compared on: additions and multiplications in turn, on 64 floats.

Any library can express it, and none may leave a part out: the numbers are small integers, so that f32 holds every
intermediate result exactly; each addend is at least 1 and the signs of each factor are random, so that a dispatch
that did not run shows in the result, however long ago it was.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import attrs
import numpy as np

__all__ = ["ELEMENTS", "OPERANDS", "Elementwise", "Step"]

ELEMENTS = 64  # of f32 in each buffer; one workgroup
OPERANDS = 32  # different addends, and as many factors


@attrs.frozen
class Step:
    """One dispatch: `x + operands[operand]` or `x * operands[operand]`."""

    op: Literal["add", "mul"]
    operand: int


@attrs.frozen(slots=False)
class Elementwise:
    """The chain of `dispatches` steps; the same one for the same seed."""

    dispatches: int
    seed: int = 0

    @cached_property
    def operands(self) -> np.ndarray:
        """The addends and below them the factors, f32 (2 * OPERANDS, ELEMENTS)."""
        draw = np.random.default_rng(self.seed)
        addends = draw.integers(1, 100, (OPERANDS, ELEMENTS), endpoint=True)
        factors = draw.choice([-1, 1], (OPERANDS, ELEMENTS))
        return np.concatenate([addends, factors]).astype(np.float32)

    @cached_property
    def steps(self) -> list[Step]:
        return [
            Step("mul", OPERANDS + n // 2 % OPERANDS) if n % 2 else Step("add", n // 2 % OPERANDS)
            for n in range(self.dispatches)
        ]

    def input(self, number: int) -> np.ndarray:
        """The input of that number, f32 (ELEMENTS,)."""
        draw = np.random.default_rng((self.seed, number))
        return draw.integers(-1000, 1000, ELEMENTS).astype(np.float32)

    def expected(self, values: np.ndarray) -> np.ndarray:
        """What the chain makes of the input, f32 (ELEMENTS,)."""
        for step in self.steps:
            values = self._apply(step, values)
        return values

    def expected_apart(self, values: np.ndarray) -> np.ndarray:
        """What each step alone makes of the input, f32 (dispatches, ELEMENTS)."""
        return np.stack([self._apply(step, values) for step in self.steps])

    def _apply(self, step: Step, values: np.ndarray) -> np.ndarray:
        operand = self.operands[step.operand]
        return values + operand if step.op == "add" else values * operand
