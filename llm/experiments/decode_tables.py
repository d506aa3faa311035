"""The report of `python -m llm bench` as Markdown, with tables of the kind that llama-bench prints."""

import statistics
from typing import Any

from cmdgraph.bench import markdown


def to_markdown(report: dict[str, Any]) -> str:
    """The report as Markdown."""
    sections = [markdown.facts(report["environment"]), _speed(report), _costs(report), _fusion(report)]
    sections += [f"**Noise**: {each}." for each in report["noise"]]
    return "\n\n".join(section for section in sections if section)


def _speed(report: dict[str, Any]) -> str:
    model = report["model"]
    common = [
        model["name"],
        f"{model.get('bytes', 0) / 2**20:.0f} MiB {model.get('dtype', '')}".strip(),
        f"{model.get('parameters', 0) / 1e6:.1f} M",
        f"{report['environment'].get('backend', '-')}, {model['kernels']}",
    ]
    header = ["model", "size", "params", "backend", "plan", "strategy", "test", "t/s", "dispatches", "submits"]
    rows = []
    if prefill := report.get("prefill"):
        test = f"pp{prefill['tokens']}"
        rows.append([*common, "prefill", prefill["strategy"], test, _speed_of(prefill), prefill["dispatches"], "-"])
    test = f"tg{report['method'].get('tokens', report['method']['rounds'])}"
    if (texts := model.get("texts", 1)) > 1:
        test += f" x {texts}"
    rows += [
        [*common, row["plan"], row["strategy"], test, _speed_of(row), row["dispatches_total"], row["submits"]]
        for row in report["rows"]
    ]
    rows += [
        [f"{each['name']}, {each['dtype']}", "-", "-", "-", "-", "-", test, _speed_of(each), "-", "-"]
        for each in report.get("torch", [])
    ]
    return markdown.table(header, rows)


def _costs(report: dict[str, Any]) -> str:
    first = ["first token ms"] if any(row.get("ttft_ms") for row in report["rows"]) else []
    header = ["plan", "strategy", "passes", "host CPU us/dispatch", "worker CPU us/dispatch", "ms/token", *first]
    header += ["eager / this, host CPU (95 % CI)", "eager / this, wall (95 % CI)", "same tokens"]
    rows = [
        [
            row["plan"],
            row["strategy"],
            row["passes"],
            _figure(row["host_cpu_us_per_dispatch"], 2),
            _figure(row.get("worker_cpu_us_per_dispatch"), 2),
            _figure(row["ms_per_token"], 2),
            *(_figure(row.get("ttft_ms"), 1) for _ in first),
            _gain(report, "host_cpu", row["name"]),
            _gain(report, "wall", row["name"]),
            "yes" if row["tokens_equal_reference"] else "NO",
        ]
        for row in report["rows"]
    ]
    return markdown.table(header, rows)


def _gain(report: dict[str, Any], quantity: str, name: str) -> str:
    wanted = (quantity, name)
    return next((_ratio(each) for each in report["ratios"] if (each["quantity"], each["under"]) == wanted), "-")


def _fusion(report: dict[str, Any]) -> str:
    """What fusing gains by each strategy, beside what the number of dispatches would allow."""
    found = report.get("fusion", [])
    if not found:
        return ""
    pairs = list(dict.fromkeys((each["over"], each["under"], each["ceiling"]) for each in found))
    header = [f"{over} / {under}: dispatches alone would allow {ceiling:.3f}" for over, under, ceiling in pairs]
    gains = {(each["strategy"], each["under"]): _ratio(each, 2) for each in found}
    strategies = dict.fromkeys(each["strategy"] for each in found)
    rows = [[name, *(gains.get((name, under), "-") for _, under, _ in pairs)] for name in strategies]
    return "What fusing gains, wall time (95 % CI):\n\n" + markdown.table(["strategy", *header], rows)


def _speed_of(row: dict[str, Any]) -> str:
    """Mean and deviation over the rounds."""
    summary = row.get("tokens_per_s")
    if summary is None:
        return "-"
    samples = summary["samples"]
    return f"{statistics.mean(samples):.2f} +- {statistics.pstdev(samples):.2f}"


def _ratio(ratio: dict[str, Any], digits: int = 1) -> str:
    low, high = ratio["ci95_low"], ratio["ci95_high"]
    return f"{ratio['ratio']:.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"


def _figure(summary: dict[str, Any] | None, digits: int) -> str:
    return "-" if summary is None else f"{summary['median']:.{digits}f}"
