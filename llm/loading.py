"""From a model's name, file or directory to decoders on the GPU that are ready to run."""

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from attrs import field, frozen

from llm.assets import ensure_model
from llm.config import ModelConfig, config_from_gguf
from llm.device import open_device
from llm.errors import UnsupportedModelError, UsageError
from llm.gguf_file import open_gguf
from llm.huggingface import DirectoryWeights, config_from_directory
from llm.model import Model
from llm.plans import KernelSet
from llm.presets import PRESETS, RANDOM, SMOLLM2, RandomWeights
from llm.sampling import GREEDY, Sampling
from llm.store import WeightStore
from llm.tokenizer import Tokenizer, stand_in_tokenizer, tokenizer_from_directory, tokenizer_from_gguf
from llm.weights import GGUFWeights

DEFAULT_MODEL = SMOLLM2
DEFAULT_PLAN = "fused"
DEFAULT_DTYPE = "native"


@frozen
class Source:
    """A model that is not on the GPU yet. `golden`: the name of its golden values, or empty. `remark`: what has to
    stand beside its name wherever it appears.
    """

    config: ModelConfig
    tokenizer: Tokenizer
    weights: Mapping[str, np.ndarray] = field(repr=False)
    golden: str = ""
    remark: str = ""

    @property
    def title(self) -> str:
        """Name and remark."""
        return f"{self.config.name} ({self.remark})" if self.remark else self.config.name


@frozen
class LoadedModel:
    """A decoder on the GPU and where it came from."""

    source: Source
    model: Model

    @property
    def tokenizer(self) -> Tokenizer:
        return self.source.tokenizer

    @property
    def golden(self) -> str:
        return self.source.golden

    def with_plan(self, plan: str, **changes: Any) -> "LoadedModel":
        """The same weights by another plan. `changes` are options of Model that become others too, say ``texts``."""
        model = self.model
        if plan == model.plan.name and not changes:
            return self
        options: dict[str, Any] = {
            "max_context": model.max_context,
            "kernels": model.target.kernels,
            "sampling": model.sampling,
            "texts": model.texts,
            "shapes": model.target.shapes,
            "pipelines": model.runtime.pipelines,
        }
        other = Model(model.device, model.config, model.store, plan, **{**options, **changes})
        return LoadedModel(self.source, other)


def open_source(spec: str, weights: str | None = None) -> Source:
    """The model `spec` names: a preset, a GGUF file, or a directory with safetensors. `weights` is a file or directory
    with the real weights of a preset that would be random without.

    Everything that the file can be wrong about is found here. Raises the errors of llm.errors.
    """
    if spec in PRESETS:
        return _preset(PRESETS[spec], weights)
    if weights is not None:
        raise UsageError(f"--weights goes with a preset ({', '.join(PRESETS)}); name the file itself as --model")
    return _open(ensure_model(), SMOLLM2) if spec == SMOLLM2 else _open(Path(spec))


def load_model(
    spec: str,
    *,
    weights: str | None = None,
    plan: str = DEFAULT_PLAN,
    dtype: str = DEFAULT_DTYPE,
    max_context: int | None = None,
    kernels: KernelSet | None = None,
    sampling: Sampling = GREEDY,
    texts: int = 1,
    device: Any = None,
) -> LoadedModel:
    """The model `spec` names on the GPU; see `open_source`, `llm.store` for dtypes and `llm.model` for the others."""
    source = open_source(spec, weights)
    device = device or open_device()
    store = WeightStore(device, source.weights, dtype)
    progress = _Progress() if sys.stderr.isatty() else None
    model = Model(
        device,
        source.config,
        store,
        plan,
        max_context=max_context,
        kernels=kernels,
        sampling=sampling,
        texts=texts,
        progress=progress,
    )
    return LoadedModel(source, model)


def _open(path: Path, golden: str = "") -> Source:
    if path.is_dir():
        config = config_from_directory(path)
        tokenizer = tokenizer_from_directory(path)
        _check_vocabulary(path, config, tokenizer)
        return Source(config, tokenizer, DirectoryWeights(path, config))
    file = open_gguf(path)
    config = config_from_gguf(file)
    tokenizer = tokenizer_from_gguf(file)
    _check_vocabulary(path, config, tokenizer)
    return Source(config, tokenizer, GGUFWeights(file, config), golden)


def _preset(config: ModelConfig, weights: str | None) -> Source:
    if weights is None:
        return Source(config, stand_in_tokenizer(config.vocab), RandomWeights(config), remark=RANDOM)
    source = _open(Path(weights))
    for what in ("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn"):
        found, wanted = getattr(source.config, what), getattr(config, what)
        if found != wanted:
            raise UnsupportedModelError(
                f"{weights}: {what} = {found}, but '{config.name}' has {wanted}; name its own weights"
            )
    return source


def _check_vocabulary(path: Path, config: ModelConfig, tokenizer: Tokenizer) -> None:
    if len(tokenizer.tokens) > config.vocab:
        raise UnsupportedModelError(
            f"{path}: the tokenizer has {len(tokenizer.tokens)} tokens, but the embedding only "
            f"{config.vocab} rows; convert the model again"
        )


class _Progress:
    """One changing line on a terminal."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self, done: int, total: int) -> None:
        if done < total and time.monotonic() < self._next:
            return
        self._next = time.monotonic() + 0.1
        end = "\r\x1b[K" if done == total else ""
        print(f"\rloading weights {done}/{total}{end}", end="", file=sys.stderr, flush=True)
