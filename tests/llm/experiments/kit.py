"""What tests of experiments have in common: a tiny model as a choice, and plans that are as short as can be."""

from pathlib import Path

from cmdgraph.bench.method import Plan
from llm.config import ModelConfig
from llm.options import Choice
from tests.llm import tiny

SHORT = Plan(rounds=2, warmup=1, warmup_s=0)


def choice_of(folder: Path, config: ModelConfig = tiny.LLAMA) -> Choice:
    """The tiny model in a file of that folder."""
    return Choice(str(tiny.write_model(folder / "tiny.gguf", config)), None, "native", None, None)
