"""`cmdgraph report`: one report from a folder of results."""

from __future__ import annotations

from pathlib import Path

import click

from cmdgraph.bench.report import make

__all__ = ["report"]


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("build/report"), show_default=True,
    help="The folder that NAME.html, NAME.md and plots/ are written into.",
)  # fmt: skip
@click.option("--name", default="report", show_default=True, help="What the files are called.")
@click.option("--mix", is_flag=True, help="Take results of several commits together; the report says so.")
def report(folder: Path, output: Path, name: str, mix: bool) -> None:
    """One report from the JSON files below FOLDER, of any number of machines.

    NAME.html needs nothing else to be read; NAME.md has its plots beside it. The paths are printed.
    """
    if not folder.is_dir():
        raise click.BadParameter(f"{folder} is {'no folder' if folder.exists() else 'not there'}", param_hint="FOLDER")
    if Path(name).name != name or not name:
        raise click.BadParameter(f"{name!r} is no name of a file without its ending", param_hint="--name")
    try:
        paths = make(folder, output, name=name, mix=mix)
    except ModuleNotFoundError as error:
        raise click.ClickException(f"{error.name} is not installed: pip install 'cmdgraph[bench]'") from error
    for path in paths:
        click.echo(path)
