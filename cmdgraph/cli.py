"""The command `cmdgraph`: facts about this machine, and the experiments that need no LLM.

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
from typing import Any

import click

from cmdgraph import adapters
from cmdgraph.bench.command import bench

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


cli.add_command(bench)


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
