"""The command `python -m llm`: text from a model, and what its dispatches cost.

Text and results go to stdout, progress, figures and errors to stderr. Exit status 1: something failed or is
not there; 2: wrong usage or bad input.
"""

import json
import os
import sys
import tempfile
import time
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from itertools import takewhile
from pathlib import Path

import click
import wgpu

# Before any bind group is made: what a bind group holds is noted when it is created.
from cmdgraph import CommandGraphError
from cmdgraph.bench import environment
from cmdgraph.bench.command import command
from cmdgraph.bench.method import MeasurementError
from cmdgraph.bench.results import ResultError
from llm import check as checks
from llm import experiments, files, tune
from llm.assets import ensure_model
from llm.demo import run_demo
from llm.device import first_line, kernel_shapes, open_device
from llm.errors import LLMError
from llm.generate import Generation
from llm.loading import DEFAULT_PLAN, load_model, open_source
from llm.options import MODEL_OPTIONS, Choice, batch_option, model_options, names, tokens_option
from llm.plans import PLANS
from llm.sampling import Sampling
from llm.store import WeightStore
from llm.strategies import AHEAD, STRATEGIES, runner

PLAN = click.option("--plan", type=click.Choice(list(PLANS)), default=DEFAULT_PLAN, show_default=True)
PLAN_LIST = click.option("--plan", default="unfused,paper,fused", show_default=True, help="Comma-separated.")


class _Group(click.Group):
    """Makes the command of an experiment when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *experiments.NAMES]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in experiments.NAMES:
            return super().get_command(ctx, cmd_name)
        return command(cmd_name, experiments.load(cmd_name), MODEL_OPTIONS, Choice)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def cli() -> None:
    """A small language model on WebGPU."""


@cli.command()
def fetch() -> None:
    """Fetch the model file, if it is not there, and print its path."""
    click.echo(ensure_model())


@cli.command()
@click.argument("prompt")
@tokens_option(128)
@click.option("--strategy", type=click.Choice(STRATEGIES), default=AHEAD, show_default=True)
@click.option(
    "--steps-per-submit", type=click.IntRange(1, 64), default=1, show_default=True, help="Steps that one submit holds."
)
@click.option(
    "--chat/--no-chat", default=None, help="Answer the prompt (the default where there is a template), or go on."
)
@click.option("--temperature", type=float, default=0.0, show_default=True, help="0: always the most likely token.")
@click.option("--top-k", type=int, default=0, show_default=True, help="Draw among so many; 0: among all.")
@click.option("--top-p", type=float, default=1.0, show_default=True, help="Draw among the fewest that hold this mass.")
@click.option("--seed", type=int, default=0, show_default=True)
@batch_option
@PLAN
@model_options
def generate(
    choice: Choice,
    prompt: str,
    tokens: int,
    strategy: str,
    steps_per_submit: int,
    chat: bool | None,
    temperature: float,
    top_k: int,
    top_p: float,
    seed: int,
    batch: int,
    plan: str,
) -> None:
    """Write on from PROMPT; several texts at once draw with as many seeds, from --seed on."""
    loaded = choice.load(plan, Sampling(temperature, top_k, top_p, seed), batch)
    if loaded.source.remark:
        click.echo(f"{loaded.source.title}: the text means nothing", err=True)
    chat = bool(loaded.tokenizer.chat_template) if chat is None else chat
    ids = loaded.tokenizer.encode(loaded.tokenizer.chat_prompt(prompt) if chat else prompt)
    with runner(loaded.model, strategy, per_submit=steps_per_submit) as run:
        told = _tell_prefill if sys.stderr.isatty() else None
        # A text that stops must not end the others.
        stops = loaded.tokenizer.stop_tokens if batch == 1 else ()
        generation = Generation(loaded.model, run, ids, tokens, stops, told)
        tokens_made = iter(generation)
        mine = _until(tokens_made, loaded.tokenizer.stop_tokens)
        start = time.perf_counter()
        first = start
        try:
            for number, piece in enumerate(loaded.tokenizer.stream(mine)):
                first = time.perf_counter() if number == 0 else first
                click.echo(piece, nl=False)
                sys.stdout.flush()
            deque(tokens_made, maxlen=0)  # the other texts may be longer
        except KeyboardInterrupt:
            click.echo()  # the error begins a line
            raise
        click.echo()
        seconds = time.perf_counter() - first
        for text in range(1, batch):
            made = loaded.model.read_tokens(len(ids), generation.steps, text)
            click.echo(f"\n--- seed {seed + text} ---")
            click.echo("".join(loaded.tokenizer.stream(_until(made, loaded.tokenizer.stop_tokens))))
    speed = batch * max(0, generation.steps - 1) / seconds if seconds > 0 else 0.0
    click.echo(
        f"{len(ids)} tokens of prompt and the first one in {first - start:.2f} s, then {speed:.1f} tokens/s; "
        f"{plan}, {strategy}: {run.dispatches} dispatches, {run.submits} submits a step; "
        f"stopped by: {generation.stop_reason}",
        err=True,
    )


@cli.command()
@click.option("--strategy", type=click.Choice(STRATEGIES), default=AHEAD, show_default=True)
@click.option("--transformers", is_flag=True, help="Compare random weights with torch and transformers instead.")
@tokens_option(32)
@PLAN_LIST
@model_options
def check(choice: Choice, plan: str, strategy: str, transformers: bool, tokens: int) -> None:
    """Compare logits and tokens with the golden values, or with transformers."""
    plans = names(plan, "plan", list(PLANS))
    if transformers:
        config = open_source(choice.model, choice.weights).config
        findings = checks.against_transformers(open_device(), config, plans)
    else:
        loaded = choice.load(plans[0])
        findings = [each for name in plans for each in checks.against_golden(loaded, name, strategy, tokens)]
    for finding in findings:
        click.echo(str(finding))
    if not all(finding.right for finding in findings):
        raise click.ClickException("the model does not compute what it should")


@cli.command()
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="A name in .zip, or a folder.")
@click.option("--prompt", default=files.PROMPT, show_default=True, help="Where the text begins when it is replayed.")
@click.option("--plan", type=click.Choice(list(PLANS)), default=DEFAULT_PLAN, show_default=True)
@model_options
def save(choice: Choice, output: Path, prompt: str, plan: str) -> None:
    """Save the decode step as a graph that cmdgraph.load() reads, weights and all."""
    graph = files.captured_step(choice.load(plan), prompt)
    graph.save(output)
    size = sum(path.stat().st_size for path in (output.iterdir() if output.is_dir() else [output]))
    click.echo(f"{output}: {len(graph)} nodes, {size / 1e6:.1f} MB", err=True)


@cli.command("files")
@click.option("--rounds", type=click.IntRange(min=1), default=files.ROUNDS, show_default=True)
@click.option("--folder", type=click.Path(file_okay=False, exists=True, path_type=Path), help="Where the files lie.")
@click.option("-o", "--output", type=click.Choice(["md", "json"]), default="md", show_default=True)
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
@click.option("--plan", type=click.Choice(list(PLANS)), default="unfused", show_default=True)
@model_options
def files_command(choice: Choice, rounds: int, folder: Path | None, output: str, quiet: bool, plan: str) -> None:
    """Time saving and loading the decode step's graph beside moving the same bytes alone."""
    loaded = choice.load(plan)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        report = files.measure(loaded, Path(place), rounds, None if quiet else _tell_progress)
    click.echo(json.dumps(report, indent=2) if output == "json" else files.to_markdown(report))


@cli.command("tune")
@click.option("--sweep/--no-sweep", default=True, help="Look for the fastest shapes, or only measure those in use.")
@click.option(
    "--seconds", type=click.FloatRange(min=0), default=150, show_default=True, help="Begin no sweep behind so many."
)
@click.option("-o", "--output", type=click.Choice(["md", "json"]), default="md", show_default=True)
@model_options
def tune_command(choice: Choice, sweep: bool, seconds: float, output: str) -> None:
    """Find the fastest kernel shapes on this GPU, by timestamps, and what each kernel takes with them."""
    source, device = open_source(choice.model, choice.weights), open_device()
    store = WeightStore(device, source.weights, choice.dtype)
    bed = tune.make_bed(device, source.config, store, max_context=choice.context or 256, kernels=choice.kernels)
    tell = lambda line: click.echo(line, err=True)  # noqa: E731
    measured = tune.measure(bed, kernel_shapes(device), sweeping=sweep, seconds=seconds, tell=tell)
    described = {"experiment": "tune", "environment": environment.describe(device), "model": source.title}
    report = {**described, "dtype": choice.dtype, **measured}
    click.echo(json.dumps(report, indent=2) if output == "json" else "\n".join(tune.lines(report)))


@cli.command()
@tokens_option(25)
@click.option("--strategy", type=click.Choice(STRATEGIES[1:]), default="single-pass", show_default=True)
@click.option("--model", default="smollm2-135m", show_default=True, help="As for generate.")
@click.option("--plan", type=click.Choice(list(PLANS)), default="unfused", show_default=True)
def demo(tokens: int, strategy: str, model: str, plan: str) -> None:
    """Make one text eagerly and by replaying a graph, side by side."""
    if not run_demo(load_model(model, plan=plan), tokens, strategy):
        raise click.ClickException("the two texts differ")


def _until(tokens: Iterable[int], stops: Collection[int]) -> Iterator[int]:
    """The tokens before the first that stops."""
    return takewhile(lambda token: token not in stops, tokens)


def _tell_prefill(done: int, total: int) -> None:
    """One changing line on a terminal."""
    end = "\r\x1b[K" if done == total else ""
    click.echo(f"\rprompt {done}/{total}{end}", err=True, nl=False)


def _tell_progress(done: int, total: int) -> None:
    """One changing line on a terminal, else a line each quarter of the way."""
    if sys.stderr.isatty():
        click.echo(f"\rround {done} of {total}", err=True, nl=done == total)
    elif done * 4 // total > (done - 1) * 4 // total:
        click.echo(f"round {done} of {total}", err=True)


def main(arguments: list[str] | None = None) -> int:
    """Run the command and give its exit status."""
    # Before any driver starts: Mesa complains on stderr when this folder is not named.
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
    try:
        status = cli.main(arguments, prog_name="python -m llm", standalone_mode=False)
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
    except (CommandGraphError, MeasurementError, ResultError) as error:
        return _failed(str(error), 1)
    except OSError as error:
        return _failed(str(error), 1)
    except wgpu.GPUError as error:
        return _failed(f"the GPU refused or was lost: {first_line(error)}; run again, or use a smaller model", 1)
    return status if isinstance(status, int) else 0


def _failed(message: str, status: int) -> int:
    click.echo(f"error: {' '.join(message.split())}", err=True)
    return status
