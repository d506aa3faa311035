"""Random programs against both implementations: `python -m tests.fuzz --count 10000 --seed 1`.

Prints a summary as JSON (to `-o FILE` if given) and exits with 1 if anything is not a known difference.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

import click

from cmdgraph.replay import STRATEGIES
from tests.fuzz.campaign import Campaign
from tests.fuzz.pool import PACKAGES, Pool
from tests.implementations import facts


@click.command()
@click.option("--count", type=click.IntRange(min=1), default=2000, show_default=True, help="Number of programs.")
@click.option("--start", type=click.IntRange(min=0), default=0, show_default=True, help="Number of the first one.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--most", type=click.IntRange(min=1), default=20, show_default=True, help="Stop at so many findings.")
@click.option(
    "--strategy", type=click.Choice(list(STRATEGIES)), default="single-pass", show_default=True, help="Of the graphs."
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Where the JSON goes.")
def main(count: int, start: int, seed: int, most: int, strategy: str, output: Path | None) -> None:
    """Judges random programs by cmdgraph, wgpu-native and Dawn."""
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
    with Pool(strategy=strategy) as pool:
        campaign = Campaign(pool, seed, most)

        told = 0

        def progress(done: int) -> None:
            nonlocal told
            for found in campaign.new[told:]:
                click.echo(
                    f"program {found['number']}: {found['kind']} on {found['package']}: {found['text']}", err=True
                )
                click.echo(f"  {found['program']}", err=True)
            told = len(campaign.new)
            if done % 10_000 < 400 or done == count:
                rate = done / max(campaign.seconds, 1e-9)
                click.echo(f"{done} of {count}, {rate:.0f} a second, {len(campaign.new)} findings", err=True)

        campaign.run(start, count, progress)
        report = campaign.report()
    report["implementations"] = facts(PACKAGES)
    text = json.dumps(report, indent=1)
    if output is None:
        click.echo(text)
    else:
        output.write_text(text + "\n")
    sys.exit(1 if report["new_findings"] else 0)


if __name__ == "__main__":
    main()
