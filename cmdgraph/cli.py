"""The command `cmdgraph`: facts about this machine, saved graphs, the experiments that need no LLM, and the report.

Results go to stdout, progress and errors to stderr. Exit status 1: something failed or is not there; 2: wrong
usage.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import cmdgraph
from cmdgraph import adapters
from cmdgraph.bench.command import bench
from cmdgraph.bench.report.command import report
from cmdgraph.view.dump import FORMS
from cmdgraph.view.summary import KINDS

__all__ = ["main"]

OUTPUT = click.option(
    "-o",
    "--output",
    type=click.Choice(["md", "json"]),
    default="md",
    show_default=True,
    help="Markdown to read, JSON to keep.",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="cmdgraph")
def cli() -> None:
    """Command graphs for WebGPU compute."""


@cli.command()
@OUTPUT
def info(output: str) -> None:
    """Adapters, drivers, versions, limits, and whether the C walker is there."""
    facts = _machine_facts()
    click.echo(json.dumps(facts, indent=2) if output == "json" else _info_text(facts))
    if not any(found.get("adapters") for found in facts["implementations"].values()):
        raise click.ClickException(adapters.NO_ADAPTER)


ON = click.option(
    "--on",
    "package",
    type=click.Choice(list(adapters.IMPLEMENTATIONS)),
    default="wgpu",
    show_default=True,
    help="wgpu is wgpu-native, wgpudawn is Dawn.",
)
FILE = click.argument("file", type=click.Path(exists=True))
TO = click.option(
    "--to",
    "target",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file instead of stdout; its suffix chooses the form.",
)


@cli.command()
@FILE
@click.option("-o", "--output", type=click.Choice(["text", "dot", "json", "html"]), default="text", show_default=True)
@click.option("--by", type=click.Choice(KINDS), default="shader", show_default=True, help="The lines of the table.")
@TO
@ON
def show(file: str, output: str, by: str, target: Path | None, package: str) -> None:
    """Show a saved graph: totals and a table, or a picture (Graphviz, JSON, a page to look around in)."""
    graph = _load(file, package)
    if target is not None:
        click.echo(graph.debug_dump(target))
    elif output == "text":
        click.echo(graph.summary(by))
    else:
        click.echo(FORMS[f".{output}"](graph.document()), nl=False)


@cli.command()
@FILE
@click.option("-r", "--repeats", type=click.IntRange(min=2), default=20, show_default=True, help="Replays in all.")
@click.option("--top", type=click.IntRange(min=1), default=15, show_default=True, help="Lines of each table.")
@click.option("-o", "--output", type=click.Choice(["text", "json", "trace", "html"]), default="text", show_default=True)
@TO
@ON
def profile(file: str, repeats: int, top: int, output: str, target: Path | None, package: str) -> None:
    """Time each node of a saved graph on this machine's GPU.

    Half of the replays run undisturbed, for comparison. A .json file gets a trace for chrome://tracing and
    https://ui.perfetto.dev, .html a page and .dot a drawing.
    """
    graph = _load(file, package)
    found = graph.profile(repeats=repeats)
    if target is not None:
        click.echo(found.headline(), err=True)
        trace = target.suffix.lower() == ".json"
        click.echo(found.save(target) if trace else graph.debug_dump(target, profile=found))
    elif output == "text":
        found.show(top)
    elif output == "trace":
        click.echo(found.to_trace())
    else:
        click.echo(FORMS[f".{output}"](graph.document(found)), nl=False)


def _load(file: str, package: str) -> cmdgraph.CommandGraph:
    """The saved graph on a device with all that the adapter offers."""
    try:
        return cmdgraph.load(file, adapters.open_device(package, everything=True))
    except OSError as error:
        raise click.ClickException(f"{file} cannot be read: {error.strerror or error}") from error
    except ModuleNotFoundError as error:
        raise click.ClickException(str(error)) from error


cli.add_command(bench)
cli.add_command(report)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command and gives its exit status."""
    # Before any driver starts: Mesa complains on stderr when this folder is not named.
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
    try:
        status = cli.main(arguments, prog_name="cmdgraph", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return 130
    except BrokenPipeError:
        # The reader has what it wanted. stdout must not be flushed again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if not _is_expected(error):
            raise
        click.echo(f"error: {error}", err=True)
        return 1
    return status or 0


def _is_expected(error: Exception) -> bool:
    """Whether the message says all that a user needs: then no traceback."""
    from cmdgraph.bench.method import MeasurementError
    from cmdgraph.bench.results import ResultError
    from cmdgraph.errors import CommandGraphError

    return isinstance(error, CommandGraphError | MeasurementError | ResultError | adapters.AdapterError)


def _machine_facts() -> dict[str, Any]:
    from cmdgraph.bench.environment import package_version
    from cmdgraph.replay import walker

    return {
        "versions": {
            "cmdgraph": package_version("cmdgraph"),
            "wgpu-py": package_version("wgpu"),
            "wgpudawn": package_version("wgpudawn"),
            "Python": platform.python_version(),
        },
        "walker": {"available": walker.available(), "why_absent": walker.why_absent()},
        "implementations": {name: adapters.find(package) for package, name in adapters.IMPLEMENTATIONS.items()},
    }


def _info_text(facts: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version or 'not installed'}" for name, version in facts["versions"].items())
    why = facts["walker"]["why_absent"]
    lines = [
        versions,
        f"C walker: {'present' if why is None else f'absent, the Python loop is used ({why})'}",
    ]
    for name, found in facts["implementations"].items():
        lines += ["", *_implementation_text(name, found)]
    return "\n".join(lines)


def _implementation_text(name: str, found: dict[str, Any]) -> Iterator[str]:
    if "error" in found:
        yield f"## {name}: {found['error']}"
        return
    if not found["adapters"]:
        yield f"## {name}: no adapter"
        return
    yield f"## {name} {found['implementation']['version']}"
    for adapter in found["adapters"]:
        kind = f"{adapter['adapter_type']}, software" if adapter["software_adapter"] else adapter["adapter_type"]
        yield f"- {adapter['adapter']} ({kind}) by {adapter['backend']}; driver {adapter['driver']}"
        yield "  - limits: " + ", ".join(f"{limit} {value}" for limit, value in adapter["limits"].items())
        yield "  - features: " + ", ".join(adapter["features"])
