"""What a compute bundle of the polyfill costs in headless Chromium: `python -m scripts.bundle_bench`.

Arms run interleaved, in an order shuffled anew each round; the chain that they encode is checked first. JavaScript time
is taken in the page, in short bursts; then, in rounds of their own, the CPU time of the browser's processes over long
ones. Prints Markdown, or JSON with ``-o json``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import click

from cmdgraph.bench import environment, markdown, method, results
from cmdgraph.bench.results import Report
from cmdgraph.bench.statistics import NOISY
from scripts.browser_cpu import BrowserCpu, Cpu
from scripts.webgpu_page import BrowserMissingError, webgpu_page

__all__ = ["measure", "to_markdown"]

DESCRIPTION = (
    "arms interleaved, in an order shuffled anew each round; JavaScript time by performance.now of a cross-origin "
    "isolated page, CPU time of processes by /proc; garbage collection before each round; the GPU is waited for "
    "between samples; results checked before timing"
)
BURSTS = 9  # in a sample, which is their median
TIMES = 3  # runs in a burst: one takes some 120 us, and the clock of a page steps by 5
SLOW = {"per-op": (1, 3)}  # the same two, where a run takes some 20 ms
LONG = 8  # runs in a sample of the processes
REGION = (
    "`js` is JavaScript from createCommandEncoder to the return of the last submit of all dispatches; a sample is the "
    f"median of {BURSTS} bursts (of `per-op` one), a burst the mean of {TIMES} runs; the calls are asynchronous, so "
    "what the GPU process and the GPU do is outside. The arms without the polyfill call the browser's own methods. "
    "`renderer`, `gpu_main`, `gpu_io` and `driver` are CPU time of the page's process (JavaScript is in it), of the "
    "GPU process's main thread, of its thread that receives, and of its others, which on a software adapter run the "
    f"kernels; those and `wall` are over {LONG} runs and one wait for the GPU at their end"
)
SYNC = "onSubmittedWorkDone: for `js` before each burst, outside; for all else once a sample, inside"
HAND_WRITTEN = "one-pass"
SKIPPING = "one-pass, redundant state skipped"
TARGETS = {"bundle_us_per_dispatch": 0.2, "per_op_over_bundle": 50.0, "bundle_over_hand_written": 1.1}
JS = "js_us_per_dispatch"
BEHIND = {
    "renderer": "renderer_cpu_us_per_dispatch",
    "gpu_main": "gpu_main_cpu_us_per_dispatch",
    "gpu_io": "gpu_io_cpu_us_per_dispatch",
    "driver": "driver_cpu_us_per_dispatch",
}
WALL = "wall_us_per_dispatch"


def measure(dispatches: int, pattern: str, rounds: int, warmup: int, seed: int = 0) -> Report:
    """The report of one chain. Times are in us.

    Raises:
        BrowserMissingError: there is no browser.
        MeasurementError: an arm leaves a wrong result; nothing was timed.
    """
    with webgpu_page("bench/index.html") as page:
        page.wait_for_function("() => window.prepare")
        facts = page.evaluate("([count, pattern]) => prepare(count, pattern)", [dispatches, pattern])
        names, version = facts["arms"], page.context.browser.version
        taken = _interleaved(page, names, _scripts(page), rounds, warmup, seed)
        behind = _interleaved(page, names, _processes(page, BrowserCpu(page)), rounds, warmup, seed)
    js = {name: taken[name].returned for name in names}
    rows = [_row(name, js[name], behind[name].returned, dispatches) for name in names]
    return results.make(
        "bundles",
        environment=_environment(facts, version),
        workload={"dispatches": dispatches, "pipelines": 4, "bind_groups": 16, "pattern": pattern},
        method={
            "description": DESCRIPTION,
            "timed_region": REGION,
            "sync": SYNC,
            "rounds": min(taken.rounds, behind.rounds),
            "rounds_wanted": rounds,
            "warmup": warmup,
            "seed": seed,
        },
        interrupted=taken.interrupted or behind.interrupted,
        rows=rows,
        ratios=[
            {"quantity": "js", "over": over, "under": under, **method.ratio(js[over], js[under], seed=seed)}
            for over, under in _comparisons(names)
        ],
        noise=_noise(rows),
        targets=TARGETS,
    )


def to_markdown(report: Report) -> str:
    """The report as text."""
    chain, how = report["workload"], report["method"]
    ratios = {(each["over"], each["under"]): each for each in report["ratios"]}
    rows = [
        [
            row["name"],
            f"{row[JS]['median']:.3f}",
            f"{row[JS]['p10']:.3f}-{row[JS]['p90']:.3f}",
            _interval(ratios.get(("per-op", row["name"]))),
            _interval(ratios.get((row["name"], HAND_WRITTEN))),
            *(f"{row[figure]['median']:.2f}" for figure in (BEHIND["renderer"], BEHIND["gpu_main"], WALL)),
        ]
        for row in report["rows"]
    ]
    header = ["arm", "JS us/dispatch", "p10-p90", "per-op / this (95 % CI)", "this / one-pass (95 % CI)"]
    header += ["page's process, CPU", "GPU process, main thread, CPU", "wall"]
    return "\n".join(
        [
            markdown.facts(report["environment"]),
            "",
            f"Chain of {chain['dispatches']} dispatches over {chain['pipelines']} pipelines ({chain['pattern']}) and "
            f"{chain['bind_groups']} bind groups; us a dispatch, medians of {how['rounds']} interleaved rounds after "
            f"{how['warmup']} warm-ups.",
            "",
            markdown.table(header, rows),
        ]
    )


def _interleaved(
    page: Any, names: list[str], sampler: Callable[[str], Callable[[], Any]], rounds: int, warmup: int, seed: int
) -> method.Samples:
    """What the sampler's runs return, by arm; whoever stops it keeps whole rounds."""

    def collect(*_done: int) -> None:
        page.evaluate("() => collect()")

    def arm(name: str) -> method.Arm:
        def right() -> bool:
            found = page.evaluate("(arm) => check(arm)", name)
            collect()  # what the warm-up left
            return found

        return method.Arm(sampler(name), right)

    return method.Plan(rounds, warmup, seed, collect, warmup_s=0).run({name: arm(name) for name in names})


def _scripts(page: Any) -> Callable[[str], Callable[[], float]]:
    """Seconds of JavaScript, measured in the page itself."""
    call = "([arm, bursts, times]) => sample(arm, bursts, times)"
    return lambda name: lambda: page.evaluate(call, [name, *SLOW.get(name, (BURSTS, TIMES))])


def _processes(page: Any, cpu: BrowserCpu) -> Callable[[str], Callable[[], tuple[float, Cpu]]]:
    """Wall and CPU seconds of one run, by process."""

    def sample(name: str) -> tuple[float, Cpu]:
        before = cpu.read()
        wall = page.evaluate("([arm, times]) => occupy(arm, times)", [name, LONG])
        spent = cpu.read().since(before)
        return wall, spent

    return lambda name: lambda: sample(name)


def _row(name: str, js: list[float], behind: list[tuple[float, Cpu]], dispatches: int) -> dict[str, Any]:
    def figure(seconds: list[float], count: int) -> dict[str, Any]:
        return method.summary([1e6 * s / count for s in seconds], "us")

    spent = [attrs.asdict(cpu) for _, cpu in behind]
    return {
        "name": name,
        "dispatches": dispatches,
        "submits": dispatches if name == "per-op" else 1,
        "checked": "equal to the same chain computed in JavaScript, to the bit",
        JS: figure(js, dispatches),
        **{key: figure([each[part] for each in spent], LONG * dispatches) for part, key in BEHIND.items()},
        WALL: figure([wall for wall, _ in behind], LONG * dispatches),
    }


def _noise(rows: list[dict[str, Any]]) -> list[str]:
    noisy = [row["name"] for row in rows if row[JS]["noisy"]]
    if not noisy:
        return []
    return [
        f"{len(noisy)} of {len(rows)} rows spread by more than {100 * NOISY:.0f} % of their median between p10 and p90 "
        f"in JavaScript time: {'; '.join(noisy)}"
    ]


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
    """What a bundle, per-op submits and hand-written passes cost in Chromium, in JavaScript and behind it."""
    try:
        report = measure(dispatches, pattern, rounds, warmup)
    except (BrowserMissingError, method.MeasurementError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(results.to_json(report) if output == "json" else to_markdown(report))


if __name__ == "__main__":
    main()
