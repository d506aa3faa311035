"""From a model's name or file to a decoder on the GPU that is ready to run."""

import sys
from pathlib import Path
from typing import Any

from attrs import frozen

from llm.assets import ensure_model
from llm.config import ModelConfig, config_from_gguf
from llm.device import open_device
from llm.errors import UnsupportedModelError
from llm.gguf_file import GGUFFile, open_gguf
from llm.model import Model
from llm.tokenizer import Tokenizer, tokenizer_from_gguf
from llm.weights import GGUFWeights

DEFAULT_MODEL = "smollm2-135m"


@frozen
class LoadedModel:
    """A decoder, its tokenizer, and the name of its golden values (empty for a file of the user's own)."""

    model: Model
    tokenizer: Tokenizer
    golden: str


def load_model(spec: str, *, plan: str = "unfused", max_context: int | None = None, device: Any = None) -> LoadedModel:
    """The model `spec` names: `smollm2-135m`, fetched on first use, or a path of a GGUF file.

    Everything that the file can be wrong about is found before a device is opened. Raises the errors of
    llm.errors.
    """
    path = ensure_model() if spec == DEFAULT_MODEL else Path(spec)
    file = open_gguf(path)
    config = config_from_gguf(file)
    tokenizer = tokenizer_from_gguf(file)
    _check_vocabulary(file, config, tokenizer)
    weights = GGUFWeights(file, config)
    progress = _show_progress if sys.stderr.isatty() else None
    model = Model(device or open_device(), config, weights, plan, max_context=max_context, progress=progress)
    return LoadedModel(model, tokenizer, DEFAULT_MODEL if spec == DEFAULT_MODEL else "")


def _check_vocabulary(file: GGUFFile, config: ModelConfig, tokenizer: Tokenizer) -> None:
    if len(tokenizer.tokens) > config.vocab:
        raise UnsupportedModelError(
            f"{file.path}: the tokenizer has {len(tokenizer.tokens)} tokens, but the embedding only "
            f"{config.vocab} rows; convert the model again"
        )


def _show_progress(done: int, total: int) -> None:
    end = "\r\x1b[K" if done == total else ""
    print(f"\rloading weights {done}/{total}{end}", end="", file=sys.stderr, flush=True)
