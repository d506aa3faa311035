"""Mutated graph files on both implementations: `python -m tests.fuzz_format --count 100000 --seed 1`.

Prints a summary as JSON (to `-o FILE` if given); files that did harm are kept in .cache/fuzz-format. Exits with 1 if
there are any.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

import click

from tests.fuzz_format.campaign import Campaign
from tests.fuzz_format.corpus import read, write
from tests.fuzz_format.pool import ROOT, Worker
from tests.implementations import facts

PACKAGES = ("wgpu", "wgpudawn")


@click.command()
@click.option("--count", type=click.IntRange(min=1), default=10_000, show_default=True, help="Number of files.")
@click.option("--start", type=click.IntRange(min=0), default=0, show_default=True, help="Number of the first one.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--most", type=click.IntRange(min=1), default=20, show_default=True, help="Stop at so many findings.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Where the JSON goes.")
def main(count: int, start: int, seed: int, most: int, output: Path | None) -> None:
    """Loads mutated graph files: each is refused or loaded, without harm."""
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        workers = [Worker(package, Path(folder)) for package in PACKAGES]
        campaign = Campaign(workers, read(Path(folder)), ROOT / ".cache" / "fuzz-format", seed, most)
        told = 0

        def progress(done: int) -> None:
            nonlocal told
            for found in campaign.findings[told:]:
                click.echo(
                    f"file {found['number']}, {found['package']}: {found['outcome']} by {found['steps']}", err=True
                )
            told = len(campaign.findings)
            if done % 10_000 < 200 or done == count:
                click.echo(
                    f"{done} of {count}, {done / max(campaign.seconds, 1e-9):.0f} a second, {told} findings", err=True
                )

        try:
            campaign.run(start, count, progress)
        finally:
            for worker in workers:
                worker.stop()
        report = campaign.report() | {"implementations": facts(PACKAGES)}
    text = json.dumps(report, indent=1)
    if output is None:
        click.echo(text)
    else:
        output.write_text(text + "\n")
    sys.exit(1 if report["findings"] else 0)


if __name__ == "__main__":
    main()
