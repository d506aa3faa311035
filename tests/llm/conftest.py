"""Fixtures that open the real model: once a session, since it takes seconds."""

from pathlib import Path
from typing import Any

import pytest

from llm.assets import ensure_model
from llm.gguf_file import GGUFFile, open_gguf
from llm.loading import LoadedModel, load_model
from llm.tokenizer import Tokenizer, tokenizer_from_gguf


@pytest.fixture(scope="session")
def model_path() -> Path:
    return ensure_model(progress=False)


@pytest.fixture(scope="session")
def model_file(model_path: Path) -> GGUFFile:
    return open_gguf(model_path)


@pytest.fixture(scope="session")
def tokenizer(model_file: GGUFFile) -> Tokenizer:
    return tokenizer_from_gguf(model_file)


@pytest.fixture(scope="session")
def smollm2(device: Any) -> LoadedModel:
    return load_model("smollm2-135m", plan="unfused", max_context=128, device=device)
