"""Results as the experiments write them, through their own `results.make` and `statistics.summary`, with figures that a
test chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cmdgraph.bench import results
from cmdgraph.bench.results import Report
from cmdgraph.bench.statistics import summary

COMMIT = "c0ffee" * 6 + "abcd"
GPU = {"adapter": "GeForce Test", "vendor": "NVIDIA", "adapter_type": "DiscreteGPU", "software_adapter": False}
SOFTWARE = {"adapter": "llvmpipe (test)", "vendor": "Mesa", "adapter_type": "CPU", "software_adapter": True}
METAL = {"adapter": "Apple M9", "vendor": "Apple", "backend": "Metal", "os": "macOS 26"}


def environment(**changes: Any) -> dict[str, Any]:
    return {
        **GPU,
        "driver": "1.2.3",
        "backend": "Vulkan",
        "implementation": {"name": "wgpu-native", "version": "29.0"},
        "wgpu_py": "0.32.0",
        "cmdgraph": "0.1.0",
        "python": "3.12.0",
        "os": "Debian GNU/Linux 12",
        "cpu": "Test CPU",
        "cores": 8,
        "commit": COMMIT,
        "dirty": False,
        "date": "2026-12-01T00:00:00+00:00",
        "command": "cmdgraph bench test",
        "timer_resolution_s": {"wall": 1e-7, "cpu": 1e-7},
        **changes,
    }


def figure(median: float, unit: str = "us") -> dict[str, Any]:
    """A figure of five samples around a median."""
    return summary([median * factor for factor in (0.9, 0.95, 1.0, 1.05, 1.1)], unit)


def ratio(quantity: str, over: str, under: str, value: float, spread: float = 0.1) -> dict[str, Any]:
    ends = {"ci95_low": value * (1 - spread), "ci95_high": value * (1 + spread)}
    return {"quantity": quantity, "over": over, "under": under, "ratio": value, **ends}


def finding(name: str, value: float | None, text: str = "as it is") -> dict[str, Any]:
    ends = {} if value is None else {"ci95_low": 0.9 * value, "ci95_high": 1.1 * value}
    return {"name": name, "value": value, "unit": "", "text": text, **ends}


def report(experiment: str, rows: Sequence[Mapping[str, Any]], where: Mapping[str, Any], **others: Any) -> Report:
    method = {"description": "interleaved", "timed_region": "all of it", "sync": "once", "rounds": 5, "warmup": 3}
    surroundings = environment(**where)
    return results.make(experiment, environment=surroundings, workload={}, method=method, rows=rows, **others)


def strategies(eager: float = 40.0, replay: float = 0.4, per_op: float = 15.0, **where: Any) -> Report:
    """Costs in us a dispatch, the same for the caller's CPU and wall time; by hand it costs 5."""
    costs = {"eager": eager, "single-pass-public": 5.0, "bare-c-loop": 1.4, "per-op": per_op, "prerecorded": replay}
    rows = [
        {
            "name": name,
            "dispatches": 876,
            "submits": 1,
            "host_cpu_us_per_dispatch": figure(cost),
            "worker_cpu_us_per_dispatch": figure(1.5 if name == "prerecorded" else 0.0),
            "wall_us_per_dispatch": figure(cost),
        }
        for name, cost in costs.items()
    ]
    others = [name for name in costs if name != "eager"]
    ratios = [
        ratio(quantity, "eager", name, eager / costs[name]) for name in others for quantity in ("host_cpu", "wall")
    ]
    return report("strategies", rows, where, ratios=ratios)


def native(today: float = 2.0, recorded: float = 1.8, needed: float = 0.9, **where: Any) -> Report:
    """A chain of 900 by the portable way and natively, us a dispatch of wall time; the CPU costs a tenth."""
    costs = {
        "eager": 40.0,
        "single-pass-public": 5.0,
        "single-pass-timed": 6.0,
        "bare-c-loop": 1.4,
        **{f"prerecorded{mode}": today for mode in ("", "-back-to-back")},
        **{f"native-barriers-as-recorded{mode}": recorded for mode in ("", "-back-to-back")},
        **{f"native{mode}": needed for mode in ("", "-back-to-back")},
    }
    rows = [
        {
            "name": name,
            "dispatches": 900,
            "submits": 1,
            "host_cpu_us_per_dispatch": figure(cost / 10),
            "worker_cpu_us_per_dispatch": figure(1.5 if name.startswith("prerecorded") else 0.0),
            "wall_us_per_dispatch": figure(cost),
            **({"gpu_us_per_dispatch": figure(0.5)} if name == "single-pass-timed" else {}),
        }
        for name, cost in costs.items()
    ]
    return report("strategies", rows, where)


def bundles(bundle: float = 0.2, gpu_process: float = 3.0, **where: Any) -> Report:
    """JavaScript in us a dispatch; a pass by hand costs 0.2."""
    costs = {"per-op": 20.0, "one-pass": 0.2, "bundle": bundle}
    rows = [
        {
            "name": name,
            "js_us_per_dispatch": figure(cost),
            "renderer_cpu_us_per_dispatch": figure(2 * cost),
            "gpu_main_cpu_us_per_dispatch": figure(gpu_process),
            "gpu_io_cpu_us_per_dispatch": figure(0.1),
            "wall_us_per_dispatch": figure(15.0),
        }
        for name, cost in costs.items()
    ]
    ratios = [ratio("js", "per-op", "bundle", 20.0 / bundle), ratio("js", "bundle", "one-pass", bundle / 0.2)]
    browser = {"implementation": {"name": "Chromium", "version": "150"}, "adapter": "swiftshader"}
    return report("bundles", rows, {**SOFTWARE, **browser, **where}, ratios=ratios)


def decode(
    unfused: float = 60.0, paper: float = 38.0, dispatches: tuple[int, int] = (876, 564), **where: Any
) -> Report:
    """Milliseconds of a token by each plan's eager dispatches; replays take a tenth."""
    plans = {"unfused": (unfused, dispatches[0]), "paper": (paper, dispatches[1])}
    rows = [
        {
            "name": f"{plan}/{strategy}",
            "plan": plan,
            "strategy": strategy,
            "dispatches": count,
            "dispatches_total": count + 2,
            "submits": count,
            "host_cpu_us_per_dispatch": figure(30.0),
            "ms_per_token": figure(ms * share, "ms"),
            "tokens_per_s": figure(1e3 / ms / share, "tokens/s"),
        }
        for plan, (ms, count) in plans.items()
        for strategy, share in (("eager", 1.0), ("prerecorded", 0.1))
    ]
    ratios = [ratio("wall", f"{plan}/eager", f"{plan}/prerecorded", 10.0) for plan in plans]
    allowed = dispatches[0] / dispatches[1]
    fusion = [
        {"strategy": name, "over": "unfused", "under": "paper", "ceiling": allowed}
        | ratio("wall", "unfused", "paper", unfused / paper, 0.01)
        for name in ("eager", "prerecorded")
    ]
    model = {"name": "qwen2.5-0.5b (random weights)", "dtype": "f16", "remark": "random weights"}
    torch = [{"name": "PyTorch 2.0+cu1 eager", "tokens_per_s": figure(62.0, "tokens/s")}]
    return report("decode", rows, where, ratios=ratios, fusion=fusion, model=model, torch=torch)


def dispatch(overstated: float | None = 8.0, **where: Any) -> Report:
    rows = [{"name": "single-op", "series": "single-op", "dispatches": 1, "wall_us_per_dispatch": figure(320.0)}]
    rows += [
        {"name": f"eager/{n}", "series": "eager", "dispatches": n, "wall_us_per_dispatch": figure(40 + 100 / n)}
        for n in (1, 64)
    ]
    line = {"value": 40.0, "unit": "us", "ci95_low": 39.0, "ci95_high": 41.0}
    fits = [
        {"quantity": quantity, "series": "eager", "against": "dispatches", "slope": line, "intercept": line}
        for quantity in ("wall_us_per_run", "host_cpu_us_per_run")
    ]
    return report("dispatch", rows, where, fits=fits, findings=[finding("single-op overstates eager", overstated)])


def count(slope: float = 40.0, **where: Any) -> Report:
    rows = [
        {"name": f"eager/{n}", "series": "eager", "dispatches": 564 + n, "wall_us_per_token": figure(slope * (564 + n))}
        for n in (0, 500)
    ]
    line = {"value": slope, "unit": "us", "ci95_low": slope - 1, "ci95_high": slope + 1}
    fits = [
        {"quantity": quantity, "series": "eager", "against": "dispatches", "slope": line, "intercept": line}
        for quantity in ("wall_us_per_token", "host_cpu_us_per_token")
    ]
    return report("count", rows, where, fits=fits, model={"name": "a model", "dtype": "f16"})


def decode_batch(crossing: float | None = 12.0, **where: Any) -> Report:
    rows = [
        {
            "name": f"{way}/{n}",
            "series": way,
            "texts": n,
            "dispatches": 218,
            "tokens_per_s": figure(100.0 * n, "tokens/s"),
        }
        for n in (1, 64)
        for way in ("eager", "single-pass")
    ]
    ratios = [ratio("wall", f"eager/{n}", f"single-pass/{n}", 2.0) for n in (1, 64)]
    found = finding("crossover", crossing, "from 12 texts at once on it ends" if crossing else "no crossing")
    return report(
        "decode-batch", rows, where, ratios=ratios, findings=[found], model={"name": "a model", "dtype": "f16"}
    )


def dtype(value: float = 1.0, **where: Any) -> Report:
    rows = [
        {"name": f"eager, {kind}", "host_cpu_us_per_dispatch": figure(40.0 * share)}
        for kind, share in (("f16", value), ("f32", 1.0))
    ]
    return report("dtype", rows, where, ratios=[ratio("host_cpu", "eager, f16", "eager, f32", value, 0.02)])


def put(folder: Path, **reports: Report) -> Path:
    """Writes each report as NAME.json into the folder, and gives the folder."""
    folder.mkdir(exist_ok=True)
    for name, each in reports.items():
        results.write(each, folder / f"{name}.json")
    return folder
