"""Reference values: what a model says to a few prompts, to hold every strategy against."""

import json
from functools import cache
from pathlib import Path

import numpy as np
from attrs import frozen

LOGIT_STRIDE = 64


@frozen(eq=False)
class GoldenPrompt:
    """A prompt and its greedy continuation. `last_logits`: every 64th logit at the prompt's last position,
    float32.
    """

    text: str
    ids: tuple[int, ...]
    greedy: tuple[int, ...]
    greedy_text: str
    last_logits: np.ndarray


@cache
def golden_prompts(model: str) -> dict[str, GoldenPrompt]:
    """The golden prompts of the model called `model`, by name; none where there are no reference values for
    it.
    """
    path = Path(__file__).parent / f"{model}.json"
    if not path.is_file():
        return {}
    prompts = json.loads(path.read_text(encoding="utf-8"))["prompts"]
    return {name: _prompt(values) for name, values in prompts.items()}


def _prompt(values: dict) -> GoldenPrompt:
    return GoldenPrompt(
        text=values["text"],
        ids=tuple(values["ids"]),
        greedy=tuple(values["greedy"]),
        greedy_text=values["greedy_text"],
        last_logits=np.array(values["last_logits"], dtype=np.float32),
    )
