"""How the next token is chosen: the most likely one, or one drawn at random from a cut distribution."""

import math

import numpy as np
from attrs import frozen

from llm.errors import UsageError


@frozen
class Sampling:
    """`temperature` 0 is greedy. `top_k` 0 and `top_p` 1 cut nothing off; else the `top_k` most likely tokens are kept,
    and of those the fewest that hold `top_p` of the mass. The same `seed` draws the same text.

    Raises UsageError for values outside of their range.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

    def __attrs_post_init__(self) -> None:
        _check(
            "--temperature", self.temperature, math.isfinite(self.temperature) and self.temperature >= 0, "0 or more"
        )
        _check("--top-k", self.top_k, 0 <= self.top_k < 1 << 31, "0 or more")
        _check("--top-p", self.top_p, 0 < self.top_p <= 1, "above 0 and at most 1")
        _check("--seed", self.seed, 0 <= self.seed < 1 << 32, "between 0 and 2^32 - 1")
        if self.greedy and (self.top_k or self.top_p < 1):
            raise UsageError("--top-k and --top-p draw at random: give a --temperature above 0 with them")

    @property
    def greedy(self) -> bool:
        """Whether the most likely token is chosen."""
        return self.temperature == 0

    def settings(self) -> np.ndarray:
        """What the kernel reads: temperature, top-p, top-k, unused, as 4 words."""
        words = np.zeros(4, np.uint32)
        words[:2] = np.array([self.temperature or 1.0, self.top_p], np.float32).view(np.uint32)
        words[2] = self.top_k
        return words


def _check(flag: str, value: float, holds: bool, wanted: str) -> None:
    if not holds:
        raise UsageError(f"{flag} {value}: a number {wanted} is needed")


GREEDY = Sampling()
