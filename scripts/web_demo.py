"""Builds the demo page with a model that Python has saved, and serves it: `python -m scripts.web_demo`.

The folder `--to` (build/web-demo) gets the page, the polyfill and the model: a graph for GPUs and one for software
drivers, whose kernels do with few barriers. Both run on a device with the default limits and no features. Matrices stay
as the file has them, in 4 and 8 bits, so that no `shader-f16` is needed. Any server of static files can serve the
folder.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import click

import cmdgraph  # before any bind group is made
from llm.errors import LLMError, UsageError
from llm.files import captured_step
from llm.loading import DEFAULT_MODEL, LoadedModel, load_model
from llm.plans import PLANS, KernelSet
from llm.presets import SMOLLM2
from llm.tokenizer import Tokenizer
from scripts.webgpu_page import served

__all__ = ["build"]

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("demo", "polyfill")
# The file's own name for itself is no name for people.
TITLES = {SMOLLM2: "SmolLM2-135M-Instruct"}
KERNELS: dict[str, KernelSet] = {"gpu": "gpu", "software": "cpu"}
# Where the page finds a prompt's place in the text around a message.
MARK = "\ufffc"
PROMPTS = (
    {"text": "Once upon a time, there was a little robot named", "chat": False},
    {"text": "The capital of France is", "chat": False},
    {"text": "What is gravity? Answer in one sentence.", "chat": True},
)


def build(
    folder: Path,
    model: str = DEFAULT_MODEL,
    *,
    plan: str = "unfused",
    context: int | None = None,
    tell: Callable[[str], object] | None = None,
) -> Path:
    """Makes the page, the polyfill and the model in `folder` anew; gives it. `context`: positions of the cache.

    Raises the errors of llm.errors, and of `graph.save`.
    """
    for part in (*PARTS, "model"):
        shutil.rmtree(folder / part, ignore_errors=True)
    for part in PARTS:
        shutil.copytree(ROOT / "spec_proposal" / part, folder / part)
    (folder / "model").mkdir()
    graphs = {}
    for name, kernels in KERNELS.items():
        if tell is not None:
            tell(f"saving {model} for {name}")
        loaded = load_model(model, plan=plan, max_context=context, kernels=kernels)
        graphs[name] = _save(loaded, folder / "model" / name)
    (folder / "model" / "tokenizer.json").write_text(loaded.tokenizer.to_json(), encoding="utf-8")
    about = {
        "title": TITLES.get(model, loaded.source.title),
        "context": loaded.model.max_context,
        "stops": sorted(loaded.tokenizer.stop_tokens),
        "chat": _chat(loaded.tokenizer),
        "prompts": PROMPTS if loaded.tokenizer.chat_template else [each for each in PROMPTS if not each["chat"]],
        "graphs": graphs,
    }
    # Last: without it the page says that there is no model.
    (folder / "model" / "about.json").write_text(json.dumps(about, indent=1), encoding="utf-8")
    return folder


def _save(loaded: LoadedModel, folder: Path) -> dict[str, Any]:
    graph = captured_step(loaded, "a")
    graph.save(folder)
    size = sum(path.stat().st_size for path in folder.iterdir())
    nodes = len(graph)
    graph.release()
    return {"folder": folder.name, "bytes": size, "dispatches": nodes}


def _chat(tokenizer: Tokenizer) -> dict[str, str] | None:
    try:
        before, after = tokenizer.chat_prompt(MARK).split(MARK)
    except UsageError:
        return None
    return {"before": before, "after": after}


@click.command()
@click.option("--to", "folder", default=ROOT / "build" / "web-demo", type=click.Path(path_type=Path, file_okay=False))
@click.option("--model", default=DEFAULT_MODEL, show_default=True, help="As for python -m llm generate.")
@click.option("--plan", default="unfused", show_default=True, type=click.Choice(list(PLANS)))
@click.option("--context", default=512, show_default=True, type=click.IntRange(min=2), help="Positions of the cache.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0: any that is free.")
@click.option("--serve/--no-serve", default=True, show_default=True)
def main(folder: Path, model: str, plan: str, context: int, port: int, serve: bool) -> None:
    """Build the demo page and serve it on localhost."""
    with ExitStack() as stack:
        # The port first: whether it is free is known at once, and building takes a while.
        try:
            address = stack.enter_context(served(folder, port)) if serve else ""
        except OSError as error:
            raise click.ClickException(f"port {port}: {error.strerror}; PORT=0 takes one that is free") from error
        try:
            build(folder, model, plan=plan, context=context, tell=lambda line: click.echo(line, err=True))
        except (LLMError, cmdgraph.CommandGraphError, OSError) as error:
            raise click.ClickException(" ".join(str(error).split())) from error
        click.echo(f"{address}/demo/ (Ctrl+C ends)" if serve else folder)
        if serve:
            with suppress(KeyboardInterrupt):
                threading.Event().wait()


if __name__ == "__main__":
    main()
