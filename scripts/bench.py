"""Measures everything on this machine: the short set of experiments, one JSON file each, in one folder.

    python -m scripts.bench [NAME] [--on wgpu|wgpudawn] [--out FOLDER] [--full] [--only dispatch,phases] [--again]

NAME says what was measured, for example lavapipe, swiftshader or h200-dawn; by default it is made from the adapter's
name. A driver is chosen as the Vulkan loader chooses it (VK_DRIVER_FILES), an implementation by `--on`.

Files are collected in .cache/bench/NAME, and moved to FOLDER/EXPERIMENT-NAME.json together, when all are there: a new
file in the checkout would make the next report say that files were changed. A run that was stopped goes on where it
was.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click
from attrs import frozen

from cmdgraph import adapters
from cmdgraph.bench import environment, experiments, results
from cmdgraph.bench.results import ResultError

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / ".cache" / "bench"
OUT = ROOT / "spec_proposal" / "results"

LLM = {
    "decode": "python -m llm bench{quick}",
    "fusion": "python -m llm fusion{quick}",
    "count": "python -m llm count{quick}",
    "kernel": "python -m llm kernel{quick}",
    "decode-batch": "python -m llm batch{quick}",
    "files": "python -m llm files --dtype f16",
}
"""Commands of the experiments with an LLM, SmolLM2, by name. They run on wgpu-native."""


@frozen
class Step:
    """One experiment: the command that prints its JSON."""

    name: str
    command: str

    def report(self, folder: Path) -> Path:
        return folder / f"{self.name}.json"

    def done(self, folder: Path) -> bool:
        """Whether the folder has its report: whole, by this command, of this commit."""
        try:
            found = results.read(self.report(folder))
        except ResultError:
            return False
        where = found["environment"]
        same = where["command"] == self.command and (where["commit"], where["dirty"]) == environment.commit()
        return same and not found["interrupted"]

    def run(self, folder: Path) -> str | None:
        """Puts the report into the folder. Why not, if that fails; what was there is still there then."""
        program, *arguments = shlex.split(self.command)
        assert program == "python"
        done = subprocess.run([sys.executable, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            return f"exit status {done.returncode}"
        new = folder / f".{self.name}.new"
        new.write_text(done.stdout)
        try:
            results.read(new)
        except ResultError as error:
            return str(error)
        new.replace(self.report(folder))
        return None


def steps(package: str, *, full: bool) -> list[Step]:
    """What is to be measured with an implementation."""
    quick = "" if full else " --quick"
    found = [
        Step(name, f"python -m cmdgraph bench {name}{quick} --on {package} --quiet -o json")
        for name in experiments.NAMES
    ]
    models = LLM if package == "wgpu" else {}
    return found + [Step(name, f"{command.format(quick=quick)} --quiet -o json") for name, command in models.items()]


def default_name(package: str) -> str:
    """The adapter's name as part of a file name, and the implementation unless it is wgpu-native.

    Raises:
        AdapterError: there is no adapter.
    """
    found = adapters.find(package)
    if not found.get("adapters"):
        raise adapters.AdapterError(found.get("error", adapters.NO_ADAPTER))
    words = re.sub(r"\(.*", "", found["adapters"][0]["adapter"]).lower()
    name = re.sub(r"[^a-z0-9]+", "-", words).strip("-")
    return name if package == "wgpu" else f"{name}-dawn"


def measure(chosen: Sequence[Step], folder: Path, *, again: bool) -> list[str]:
    """Runs what is not there yet; gives the names of those that failed."""
    failed = []
    for number, step in enumerate(chosen, 1):
        place = f"[{number}/{len(chosen)}] {step.name}"
        if not again and step.done(folder):
            click.echo(f"{place}: there already", err=True)
            continue
        click.echo(f"{place} ...", err=True)
        begin = time.monotonic()
        reason = step.run(folder)
        click.echo(f"{place}: {f'failed ({reason})' if reason else f'{time.monotonic() - begin:.0f} s'}", err=True)
        if reason:
            failed.append(step.name)
    return failed


def publish(chosen: Sequence[Step], folder: Path, out: Path, name: str) -> str | None:
    """Moves all reports to where they are kept. In a sentence, what is doubtful about them."""
    reports = [(results.read(step.report(folder)), out / f"{step.name}-{name}.json") for step in chosen]
    out.mkdir(parents=True, exist_ok=True)
    for report, path in reports:
        results.write(report, path)
    for step in chosen:
        step.report(folder).unlink()
    return results.mixture(report for report, _ in reports)


@click.command(context_settings={"help_option_names": ["-h", "--help"]}, help=__doc__.split("\n\n", maxsplit=1)[0])
@click.argument("name", required=False)
@click.option("--on", "package", type=click.Choice(list(adapters.IMPLEMENTATIONS)), default="wgpu", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=OUT, help="Where the files go at the end.")
@click.option("--full", is_flag=True, help="The long set: for a GPU.")
@click.option("--only", help="Names of experiments with commas between them.")
@click.option("--again", is_flag=True, help="Measure also what is there already.")
def main(name: str | None, package: str, out: Path, full: bool, only: str | None, again: bool) -> None:
    try:
        name = name or default_name(package)
        everything = steps(package, full=full)
        chosen = _chosen(everything, only)
        folder = WORK / name
        folder.mkdir(parents=True, exist_ok=True)
        results.require_writable(folder / "x.json")
        if failed := measure(chosen, folder, again=again):
            raise click.ClickException(f"failed: {', '.join(failed)}; the same command goes on with them")
        doubt = publish(chosen, folder, out, name)
    except (adapters.AdapterError, ResultError) as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"cannot write {error.filename}: {error.strerror}") from error
    except KeyboardInterrupt:
        raise click.ClickException("stopped; the same command goes on where it was") from None
    click.echo(f"{len(chosen)} reports in {out}" + (f"; note: {doubt}" if doubt else ""))


def _chosen(everything: Sequence[Step], only: str | None) -> list[Step]:
    if only is None:
        return list(everything)
    names = [name.strip() for name in only.split(",")]
    known = {step.name: step for step in everything}
    for name in names:
        if name not in known:
            raise click.BadParameter(f"{name!r} is none of {', '.join(known)}", param_hint="--only")
    return [known[name] for name in names]


if __name__ == "__main__":
    main()
