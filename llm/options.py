"""What the commands of `python -m llm` have in common: options, and how lists of names are read."""

from collections.abc import Callable, Sequence
from typing import Any

import click
from attrs import frozen

from llm.errors import UsageError
from llm.loading import DEFAULT_DTYPE, DEFAULT_MODEL, LoadedModel, load_model
from llm.plans import KERNEL_SETS, KernelSet
from llm.presets import PRESETS
from llm.sampling import GREEDY, Sampling
from llm.store import DTYPES


@frozen
class Choice:
    """Which model, and how it lies on the GPU."""

    model: str
    weights: str | None
    dtype: str
    kernels: KernelSet | None
    context: int | None

    def load(self, plan: str, sampling: Sampling = GREEDY, texts: int = 1) -> LoadedModel:
        """The model on the GPU, for so many texts at once."""
        return load_model(
            self.model,
            weights=self.weights,
            plan=plan,
            dtype=self.dtype,
            max_context=self.context,
            kernels=self.kernels,
            sampling=sampling,
            texts=texts,
        )


MODEL_OPTIONS = [
    click.Option(
        ["--model"],
        default=DEFAULT_MODEL,
        show_default=True,
        help=f"{DEFAULT_MODEL}, {', '.join(PRESETS)} (random weights unless --weights is given), a GGUF file, or a "
        "directory with safetensors.",
    ),
    click.Option(["--weights"], default=None, help="GGUF file or directory with the real weights of a preset."),
    click.Option(
        ["--dtype"],
        type=click.Choice(DTYPES),
        default=DEFAULT_DTYPE,
        show_default=True,
        help="What matrices are on the GPU; native: as the file has them.",
    ),
    click.Option(
        ["--kernels"], type=click.Choice(KERNEL_SETS), default=None, help="By default what suits the adapter."
    ),
    click.Option(
        ["--context"], type=click.IntRange(min=1), default=None, help="Positions that the cache has room for."
    ),
]
"""The options that make a Choice."""


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command MODEL_OPTIONS; it gets the Choice as `choice`."""

    def with_choice(
        *args: Any,
        model: str,
        weights: str | None,
        dtype: str,
        kernels: KernelSet | None,
        context: int | None,
        **others: Any,
    ) -> Any:
        return command(*args, choice=Choice(model, weights, dtype, kernels, context), **others)

    with_choice.__name__, with_choice.__doc__ = command.__name__, command.__doc__
    params = [*reversed(MODEL_OPTIONS), *getattr(command, "__click_params__", [])]
    with_choice.__click_params__ = params  # type: ignore[attr-defined]
    return with_choice


def tokens_option(default: int) -> Any:
    """How many tokens a command makes."""
    return click.option("--tokens", type=click.IntRange(min=1), default=default, show_default=True)


batch_option = click.option(
    "--batch", type=click.IntRange(1, 256), default=1, show_default=True, help="Texts at once; with the plan fused."
)


def names(text: str, what: str, known: Sequence[str]) -> list[str]:
    """The comma-separated names in `text`. Raises UsageError for one that is not known."""
    found = list(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in found:
        if name not in known:
            raise UsageError(f"no {what} '{name}'; there are: {', '.join(known)}")
    return found
