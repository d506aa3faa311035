"""The command `python -m llm`: text from a model, and what its dispatches cost.

Text and results go to stdout, progress, figures and errors to stderr. Exit status 1: something failed or is
not there; 2: wrong usage or bad input.
"""

import json
import os
import sys
import tempfile
import time
from typing import Any

import click
import wgpu

# Before any bind group is made: what a bind group holds is noted when it is created.
from cmdgraph import CommandGraphError
from llm import bench as experiment
from llm.assets import ensure_model
from llm.demo import run_demo
from llm.device import first_line
from llm.errors import LLMError, UsageError
from llm.generate import Generation
from llm.loading import DEFAULT_MODEL, load_model
from llm.plans import PLANS
from llm.strategies import STRATEGIES, runner

MODEL = click.option(
    "--model", default=DEFAULT_MODEL, show_default=True, help=f"{DEFAULT_MODEL}, or the path of a GGUF file."
)
CONTEXT = click.option(
    "--context", type=click.IntRange(min=1), default=None, help="Positions that the cache has room for."
)
PLAN = click.option("--plan", type=click.Choice(sorted(PLANS)), default="unfused", show_default=True)


def tokens_option(default: int) -> Any:
    """How many tokens a command makes."""
    return click.option("--tokens", type=click.IntRange(min=1), default=default, show_default=True)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def cli() -> None:
    """A small language model on WebGPU."""


@cli.command()
def fetch() -> None:
    """Fetch the model file, if it is not there, and print its path."""
    click.echo(ensure_model())


@cli.command()
@click.argument("prompt")
@tokens_option(128)
@click.option("--strategy", type=click.Choice(STRATEGIES), default="single-pass", show_default=True)
@click.option("--chat/--no-chat", default=True, show_default=True, help="Answer the prompt, or go on from it.")
@MODEL
@PLAN
@CONTEXT
def generate(prompt: str, tokens: int, strategy: str, chat: bool, model: str, plan: str, context: int | None) -> None:
    """Write on from PROMPT, greedily."""
    loaded = load_model(model, plan=plan, max_context=context)
    ids = loaded.tokenizer.encode(loaded.tokenizer.chat_prompt(prompt) if chat else prompt)
    with runner(loaded.model, strategy) as run:
        generation = Generation(loaded.model, ids, tokens, loaded.tokenizer.stop_tokens, run.step)
        start = time.perf_counter()
        try:
            for piece in loaded.tokenizer.stream(generation):
                click.echo(piece, nl=False)
        except KeyboardInterrupt:
            click.echo()  # the error begins a line
            raise
        click.echo()
        seconds = time.perf_counter() - start
    click.echo(
        f"{generation.steps} steps in {seconds:.1f} s, {1e3 * seconds / generation.steps:.0f} ms a step; "
        f"{strategy}: {run.dispatches} dispatches, {run.submits} submits a step; "
        f"stopped by: {generation.stop_reason}",
        err=True,
    )


@cli.command()
@MODEL
@PLAN
@click.option("--strategies", default=",".join(STRATEGIES), show_default=True, help="Comma-separated.")
@tokens_option(16)
@CONTEXT
@click.option("-o", "--output", type=click.Choice(["md", "json"]), default="md", show_default=True)
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
def bench(model: str, plan: str, strategies: str, tokens: int, context: int | None, output: str, quiet: bool) -> None:
    """Compare the strategies on the model's decode step, with the tokens checked."""
    names = _strategy_names(strategies)
    report = experiment.measure(
        load_model(model, plan=plan, max_context=context), names, tokens, None if quiet else _tell_progress
    )
    click.echo(json.dumps(report, indent=2) if output == "json" else experiment.to_markdown(report))
    if not experiment.all_right(report):
        wrong = [row["strategy"] for row in report["rows"] if not row["tokens_equal_reference"]]
        raise click.ClickException(f"wrong tokens by {', '.join(wrong)}; their figures are left out")


@cli.command()
@tokens_option(25)
@click.option("--strategy", type=click.Choice(STRATEGIES[1:]), default="single-pass", show_default=True)
@MODEL
def demo(tokens: int, strategy: str, model: str) -> None:
    """Make one text eagerly and by replaying a graph, side by side."""
    if not run_demo(load_model(model), tokens, strategy):
        raise click.ClickException("the two texts differ")


def _strategy_names(text: str) -> list[str]:
    names = list(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in STRATEGIES:
            raise UsageError(f"no strategy '{name}'; there are: {', '.join(STRATEGIES)}")
    return names


def _tell_progress(done: int, total: int) -> None:
    """One changing line on a terminal, else a line each quarter of the way."""
    if sys.stderr.isatty():
        click.echo(f"\rtoken {done} of {total}", err=True, nl=done == total)
    elif done * 4 // total > (done - 1) * 4 // total:
        click.echo(f"token {done} of {total}", err=True)


def main(arguments: list[str] | None = None) -> int:
    """Run the command and give its exit status."""
    # Before any driver starts: Mesa complains on stderr when this folder is not named.
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
    try:
        cli.main(arguments, prog_name="python -m llm", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        return _failed(error.format_message(), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        return _failed("interrupted", 130)
    except BrokenPipeError:
        # The reader is gone: click ends the same way. stdout must not be flushed again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except LLMError as error:
        return _failed(str(error), error.exit_code)
    except (CommandGraphError, experiment.method.MeasurementError) as error:
        return _failed(str(error), 1)
    except wgpu.GPUError as error:
        return _failed(f"the GPU refused or was lost: {first_line(error)}; run again, or use a smaller model", 1)
    return 0


def _failed(message: str, status: int) -> int:
    click.echo(f"error: {' '.join(message.split())}", err=True)
    return status
