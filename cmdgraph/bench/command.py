"""`cmdgraph bench`: every experiment as a subcommand, with the options that all of them share.

The result goes to stdout, all else to stderr. An experiment's file is loaded when its command is asked for. `command`
makes such a command of any experiment, whatever it runs on.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from cmdgraph import adapters, enable_native
from cmdgraph.bench import formats, results
from cmdgraph.bench.experiments import NAMES, Experiment, Option, OptionError, load
from cmdgraph.bench.method import Plan

__all__ = ["INTERRUPTED", "bench", "command"]

INTERRUPTED = 130
"""The exit status after Ctrl-C, as of a shell's."""


class _Group(click.Group):
    """Makes the command of an experiment when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(NAMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in NAMES:
            return None
        experiment = load(cmd_name)
        return command(cmd_name, experiment, list(_device_options()), functools.partial(_open, experiment))


@click.group(cls=_Group, invoke_without_command=True)
@click.option("--list-adapters", is_flag=True, help="Print which adapters there are, and end.")
@click.pass_context
def bench(ctx: click.Context, list_adapters: bool) -> None:
    """Measure what a dispatch costs."""
    if list_adapters:
        _list_adapters(ctx)
    if ctx.invoked_subcommand is None:
        raise click.UsageError(f"name an experiment: {', '.join(NAMES)}")


class _Numbers(click.ParamType):
    """Whole numbers with commas between them."""

    name = "numbers"

    def __init__(self, least: int) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        try:
            found = tuple(int(part.replace("_", "")) for part in value.split(","))
        except ValueError:
            self.fail(f"{value!r} is no list of whole numbers with commas between them", param, ctx)
        if min(found) < self.least:
            self.fail(f"{min(found)} is below {self.least}", param, ctx)
        return found


class _Refused(click.ClickException):
    """Wrong usage, in one line."""

    exit_code = 2


def command(
    name: str, experiment: Experiment, places: Sequence[click.Option], subject: Callable[..., Any]
) -> click.Command:
    """The command of an experiment. `places` are the options that say what it runs on: `subject` makes of their values
    what the experiment's `measure` takes first.
    """
    keys = [option.name for option in places if option.expose_value and option.name]
    run = functools.partial(_run, name, experiment, keys, subject)
    parameters = [_own(key, option) for key, option in experiment.options.items()]
    return click.Command(
        name,
        callback=run,
        params=[*parameters, *_how(experiment), *places, *_how_much(experiment)],
        help=experiment.help,
        short_help=experiment.help,
    )


def _own(name: str, option: Option) -> click.Option:
    kind: Any = click.IntRange(min=option.least)
    default = option.default
    if isinstance(default, bool):
        return click.Option([f"--{name.replace('_', '-')}"], is_flag=True, help=option.help)
    if option.choices:
        kind = click.Choice(option.choices)
    elif isinstance(default, tuple):
        kind, default = _Numbers(option.least), ",".join(map(str, default))
    elif isinstance(default, str):
        kind = str
    return click.Option(
        [f"--{name.replace('_', '-')}"], default=default, type=kind, show_default=True, help=option.help
    )


def _how(experiment: Experiment) -> Iterator[click.Option]:
    positive, kinds = click.IntRange(min=1), click.Choice(formats.FORMATS)
    option = functools.partial(click.Option, show_default=True)
    if experiment.rounded:
        yield option(["-r", "--rounds"], type=positive, default=experiment.rounds, help="Samples of each row.")
        yield option(["--warmup"], type=positive, default=experiment.warmup, help="Untimed runs before them, at least.")
        yield option(["--limit"], type=positive, default=60, help="Seconds after which no further round begins.")
        yield option(["--seed"], type=int, default=0, help="Of the work and of the order of the rows.")
    yield option(["-o", "--output"], type=kinds, default="md", help="Markdown to read, JSON to keep.")
    yield option(["--file"], type=click.Path(path_type=Path), help="Also write the JSON there.")


def _device_options() -> Iterator[click.Option]:
    packages = click.Choice(list(adapters.IMPLEMENTATIONS))
    option = functools.partial(click.Option, show_default=True)
    yield option(["--on", "package"], type=packages, default="wgpu", help="wgpu is wgpu-native, wgpudawn is Dawn.")
    yield option(["--adapter"], help="Part of the adapter's name; by default the one for high performance.")
    yield option(
        ["--list-adapters"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_listed,
        help="Print them, and end.",
    )
    yield option(["--native"], is_flag=True, help="With the native layer under it (make native).")


def _how_much(experiment: Experiment) -> Iterator[click.Option]:
    yield click.Option(["--quick"], is_flag=True, help="Less of everything: " + _quick_words(experiment) + ".")
    yield click.Option(["--quiet"], is_flag=True, help="No progress on stderr.")


def _run(
    name: str,
    experiment: Experiment,
    places: Sequence[str],
    subject: Callable[..., Any],
    *,
    output: str,
    file: Path | None,
    quick: bool,
    quiet: bool,
    rounds: int = 1,
    warmup: int = 1,
    limit: int | None = None,
    seed: int = 0,
    **own: Any,
) -> None:
    if file is not None:
        results.require_writable(file)
    place = {key: own.pop(key) for key in places}
    given = {"rounds": rounds, **own}
    if quick:
        given |= {key: value for key, value in experiment.quick.items() if not _explicit(key)}
    with _progress("round" if experiment.rounded else "block", quiet) as progress:
        plan = Plan(given.pop("rounds"), warmup, seed, progress, limit_s=limit)
        try:
            report = experiment.measure(subject(**place), plan, **given)
        except OptionError as error:
            raise _Refused(str(error)) from error
    click.echo(formats.text(report, output, experiment.to_markdown))
    if file is not None:
        results.write(report, file)
        click.echo(f"{name}: {file}", err=True)
    if report["interrupted"]:
        how = report["method"]
        click.echo(
            f"interrupted after {how['rounds']} of {how['rounds_wanted']} rounds; the samples so far are kept", err=True
        )
        raise click.exceptions.Exit(INTERRUPTED)
    if experiment.failure is not None and (failure := experiment.failure(report)) is not None:
        raise click.ClickException(failure)


def _open(experiment: Experiment, *, package: str, adapter: str | None, native: bool) -> Any:
    """The device that an experiment runs on."""
    if native:
        enable_native()
    try:
        return adapters.open_device(package, adapter, experiment.features, experiment.limits)
    except adapters.UnknownAdapterError as error:
        raise _Refused(str(error)) from error


def _explicit(name: str) -> bool:
    return click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT


def _quick_words(experiment: Experiment) -> str:
    def words(value: Any) -> str:
        return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)

    return ", ".join(f"{name} {words(value)}" for name, value in experiment.quick.items())


def _listed(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    del param
    if value:
        _list_adapters(ctx)


def _list_adapters(ctx: click.Context) -> None:
    """One line for each adapter, ready for `--on` and `--adapter`. Ends the command."""
    there = False
    for package in adapters.IMPLEMENTATIONS:
        found = adapters.find(package)
        if "error" in found:
            click.echo(f"{package}: {found['error']}", err=True)
        for each in found.get("adapters", []):
            there = True
            kind = "software" if each["software_adapter"] else each["adapter_type"]
            click.echo(f"--on {package} --adapter {each['adapter']!r}  # {kind}, {each['backend']}, {each['driver']}")
    if not there:
        raise click.ClickException(adapters.NO_ADAPTER)
    ctx.exit()


@contextmanager
def _progress(word: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Tells on stderr how far it is: one changing line on a terminal, else the first round and each tenth."""
    on_terminal = sys.stderr.isatty()

    def tell(done: int, total: int) -> None:
        if quiet:
            return
        if on_terminal:
            click.echo(f"\r{word} {done} of {total}", err=True, nl=done == total)
        elif done == 1 or done * 10 // total > (done - 1) * 10 // total:
            click.echo(f"{word} {done} of {total}", err=True)

    yield tell
