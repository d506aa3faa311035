"""What a compute bundle of the polyfill costs in JavaScript, in headless Chromium: `python -m scripts.bundle_bench`.

Arms run interleaved, in an order shuffled anew each round; the chain that they encode is checked first. Prints
Markdown, or JSON with ``-o json``.
"""

from __future__ import annotations

import json
from typing import Any

import click

from cmdgraph.bench import environment, markdown, method
from scripts.webgpu_page import BrowserMissingError, webgpu_page

DESCRIPTION = (
    "arms interleaved, in an order shuffled anew each round; JavaScript time by performance.now of a cross-origin "
    "isolated page; garbage collection before each round; the GPU is waited for between samples; results checked "
    "before timing"
)
BURSTS = 5  # in a sample, which is their median
TIMES = 3  # runs in a burst: one takes some 150 us, and the clock of a page steps by 5
REGION = (
    "JavaScript from createCommandEncoder to the return of the last submit of all dispatches; a sample is the median "
    f"of {BURSTS} bursts, a burst the mean of {TIMES} runs; the calls are asynchronous, so what the GPU process and "
    "the GPU do is outside. The arms without the polyfill call the browser's own methods"
)
HAND_WRITTEN = "one-pass"
SKIPPING = "one-pass, redundant state skipped"
TARGETS = {"bundle_us_per_dispatch": 0.2, "per_op_over_bundle": 50.0, "bundle_over_hand_written": 1.1}


def measure(dispatches: int, pattern: str, rounds: int, warmup: int, seed: int = 0) -> dict[str, Any]:
    """The report of one chain.

    Raises:
        BrowserMissingError: there is no browser.
        MeasurementError: an arm leaves a wrong result; nothing was timed.
    """
    with webgpu_page("bench/index.html") as page:
        page.wait_for_function("() => window.prepare")
        facts = page.evaluate("([count, pattern]) => prepare(count, pattern)", [dispatches, pattern])
        arms = facts["arms"]
        samples = _samples(page, arms, rounds, warmup, seed)
        version = page.context.browser.version if page.context.browser else page.evaluate("navigator.userAgent")
    return {
        "experiment": "bundles",
        "environment": _environment(facts, version),
        "method": {
            "description": DESCRIPTION,
            "timed_region": REGION,
            "rounds": rounds,
            "warmup": warmup,
            "seed": seed,
        },
        "chain": {"dispatches": dispatches, "pipelines": 4, "bind_groups": 16, "pattern": pattern},
        "rows": [
            {"strategy": arm, "js_us_per_dispatch": method.summary([1e6 * s / dispatches for s in samples[arm]])}
            for arm in arms
        ],
        "ratios": [
            {"quantity": "js", "over": over, "under": under, **method.ratio(samples[over], samples[under], seed=seed)}
            for over, under in _comparisons(arms)
        ],
        "targets": TARGETS,
    }


def to_markdown(report: dict[str, Any]) -> str:
    """The report as text."""
    chain, how = report["chain"], report["method"]
    ratios = {(each["over"], each["under"]): each for each in report["ratios"]}
    rows = [
        [
            row["strategy"],
            f"{row['js_us_per_dispatch']['median']:.3f}",
            f"{row['js_us_per_dispatch']['p10']:.3f}-{row['js_us_per_dispatch']['p90']:.3f}",
            _interval(ratios.get(("per-op", row["strategy"]))),
            _interval(ratios.get((row["strategy"], HAND_WRITTEN))),
        ]
        for row in report["rows"]
    ]
    header = ["arm", "JS us/dispatch", "p10-p90", "per-op / this (95 % CI)", "this / one-pass (95 % CI)"]
    return "\n".join(
        [
            markdown.facts(report["environment"]),
            "",
            f"Chain of {chain['dispatches']} dispatches over {chain['pipelines']} pipelines ({chain['pattern']}) and "
            f"{chain['bind_groups']} bind groups; medians of {how['rounds']} interleaved rounds after {how['warmup']} "
            "warm-ups.",
            "",
            markdown.table(header, rows),
        ]
    )


def _samples(page: Any, arms: list[str], rounds: int, warmup: int, seed: int) -> dict[str, list[float]]:
    """Seconds of JavaScript, measured in the page itself."""

    def collect(*_done: int) -> None:
        page.evaluate("() => collect()")

    def made(arm: str) -> method.Arm:
        def right() -> bool:
            found = page.evaluate("(arm) => check(arm)", arm)
            collect()  # what the warm-up left
            return found

        return method.Arm(
            lambda: page.evaluate("([arm, bursts, times]) => sample(arm, bursts, times)", [arm, BURSTS, TIMES]), right
        )

    taken = method.interleave({arm: made(arm) for arm in arms}, rounds, warmup, seed=seed, progress=collect)
    return {arm: series.returned for arm, series in taken.items()}


def _comparisons(arms: list[str]) -> list[tuple[str, str]]:
    others = [arm for arm in arms if arm != "per-op"]
    against = [(arm, base) for base in (HAND_WRITTEN, SKIPPING) for arm in others if arm not in (HAND_WRITTEN, base)]
    return [("per-op", arm) for arm in others] + against


def _environment(facts: dict[str, Any], version: str) -> dict[str, Any]:
    return {
        "adapter": facts["name"] or facts["architecture"] or facts["description"],
        "vendor": facts["vendor"],
        "driver": facts["description"] or "no version told",
        "backend": "WebGPU",
        "adapter_type": "CPU" if facts["software"] else "GPU",
        "software_adapter": facts["software"],
        "implementation": {"name": "Chromium", "version": version},
        "cross_origin_isolated": facts["isolated"],
        "timer_resolution_s": {"wall": facts["resolution"]},
        "wgpu_py": environment.package_version("wgpu"),
        **environment.machine(),
        "command": _command(),
    }


def _command() -> str:
    context = click.get_current_context(silent=True)
    given = (
        [] if context is None else [f"--{name} {value}" for name, value in context.params.items() if name != "output"]
    )
    return " ".join(["python -m scripts.bundle_bench", *given, "-o json"])


def _interval(ratio: dict[str, float] | None) -> str:
    return f"{ratio['ratio']:.2f} ({ratio['ci95_low']:.2f}-{ratio['ci95_high']:.2f})" if ratio else "1"


@click.command()
@click.option("--dispatches", default=1000, show_default=True, type=click.IntRange(1, 65536))
@click.option("--pattern", default="changing", show_default=True, type=click.Choice(["changing", "blocks"]))
@click.option("--rounds", default=60, show_default=True, type=click.IntRange(1))
@click.option("--warmup", default=5, show_default=True, type=click.IntRange(1))
@click.option("-o", "--output", default="md", show_default=True, type=click.Choice(["md", "json"]))
def main(dispatches: int, pattern: str, rounds: int, warmup: int, output: str) -> None:
    """JavaScript time of a bundle, of per-op submits and of hand-written passes, in Chromium."""
    try:
        report = measure(dispatches, pattern, rounds, warmup)
    except (BrowserMissingError, method.MeasurementError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(json.dumps(report, indent=2) if output == "json" else to_markdown(report))


if __name__ == "__main__":
    main()
