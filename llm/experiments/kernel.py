"""Kernels as the only variable: the paper's plan with plain kernels and with tuned ones, at the same dispatches.

Plain: an invocation multiplies a whole row, or takes a whole key; nobody shares one.
Beside it stands what the plans move: with fewer dispatches less goes through memory in between, the weights stay.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import cmdgraph
from cmdgraph.bench import trial
from cmdgraph.bench.experiments import Experiment, Option
from cmdgraph.bench.method import Plan, ratio
from cmdgraph.bench.results import Report
from cmdgraph.bench.statistics import summary
from llm.experiments import texts
from llm.experiments.texts import TextArm
from llm.loading import LoadedModel
from llm.options import Choice, names
from llm.plans import PLANS
from llm.plans.shapes import Shape, Shapes
from llm.strategies import STRATEGIES, runner

__all__ = ["EXPERIMENT", "PLAIN", "measure", "moved"]

PLAN = "paper"
SERIES = ("eager", "single-pass", "prerecorded-ahead")
PLAIN = Shapes(
    row=Shape(64, 1),
    long=Shape(64, 1),
    gate_up=Shape(64, 1),
    logits=Shape(64, 1),
    attention=Shape(64, 1),
    half=False,
)
NOTES = (
    "`weights_bytes` are the ranges that a step's nodes bind and none of them writes, each once; `between_bytes` the "
    "ranges of buffers that the step itself writes, read and written, once for each node that binds them, the cache "
    "of keys and values excepted",
    "plain kernels are those for any GPU, without subgroups, also on an adapter that is a CPU",
)


def measure(choice: Choice, plan: Plan, *, strategies: str, tokens: int, depth: int) -> Report:
    """The report. Raises MeasurementError where plain kernels make other tokens than tuned ones."""
    ways = names(strategies, "strategy", STRATEGIES)
    tuned = choice.load(PLAN)
    where = texts.passage(tuned, depth)
    texts.require_room(tuned, where, tokens)
    expected = texts.reference(tuned, where, tokens)
    plain = tuned.with_plan(PLAN, kernels="gpu", shapes=PLAIN)
    texts.fill(plain, where)
    with ExitStack() as stack:
        arms = {
            f"{kernels}/{way}": TextArm(loaded, stack.enter_context(runner(loaded.model, way)), where, expected)
            for kernels, loaded in (("plain", plain), ("tuned", tuned))
            for way in ways
        }
        samples = texts.measure(arms, plan)
        rows = [texts.row(name, arm, samples, kernels=name.partition("/")[0]) for name, arm in arms.items()]
    plans = [moved(tuned.with_plan(name)) for name in PLANS]
    return trial.report(
        "kernel",
        tuned.model.device,
        plan,
        samples,
        workload={"plan": PLAN, "tokens_per_sample": tokens, "depth": depth},
        timed_region=texts.TIMED_REGION,
        sync=texts.SYNC,
        rows=rows,
        how={"tokens_per_sample": tokens},
        ratios=[
            {"quantity": "wall", "over": f"plain/{way}", "under": f"tuned/{way}", **_ratio(samples, way)}
            for way in ways
        ],
        findings=[*_speeds(ways, rows, plans), *(_finding(each) for each in plans)],
        notes=list(NOTES),
        model=texts.subject(tuned, where),
        plans=plans,
    )


def moved(loaded: LoadedModel) -> dict[str, Any]:
    """What a step of the model's plan moves, in bytes, by the nodes of its graph."""
    with cmdgraph.capture(loaded.model.device, name=loaded.model.plan.name) as graph:
        loaded.model.step()
    accesses = [access for node in graph.nodes for access in node.accesses()]
    written = {id(access.resource) for access in accesses if access.writes}
    weights = {
        (id(access.resource), access.start): access.end - access.start
        for access in accesses
        if id(access.resource) not in written
    }
    between = sum(
        (access.end - access.start) * (access.reads + access.writes)
        for access in accesses
        if id(access.resource) in written and not access.resource.label.endswith("_cache")
    )
    found = {"plan": loaded.model.plan.name, "nodes": len(graph), "weights_bytes": sum(weights.values())}
    graph.release()
    return {**found, "between_bytes": between}


def _ratio(samples: Any, way: str) -> dict[str, float]:
    return ratio(samples[f"plain/{way}"].wall_s, samples[f"tuned/{way}"].wall_s)


def _speeds(
    ways: Sequence[str], rows: Sequence[dict[str, Any]], plans: Sequence[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """How fast the weights are read by the last of the ways, waiting and all included."""
    weights = next(each["weights_bytes"] for each in plans if each["plan"] == PLAN)
    for row in rows:
        if row["series"] != ways[-1]:
            continue
        speed = summary([weights / 1e3 / us for us in row["wall_us_per_token"]["samples"]], "GB/s")
        yield {
            "name": f"weights read, {row['name']}",
            "value": speed["median"],
            "unit": "GB/s",
            "ci95_low": speed["ci95_low"],
            "ci95_high": speed["ci95_high"],
            "text": f"{row['kernels']} kernels read the weights at {speed['median']:.3g} GB/s, by {ways[-1]}",
        }


def _finding(plan: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": f"moved between dispatches, {plan['plan']}",
        "value": plan["between_bytes"] / 1e6,
        "unit": "MB",
        "text": f"the {plan['nodes']} dispatches of the plan {plan['plan']} hand on at most "
        f"{plan['between_bytes'] / 1e6:.1f} MB through memory, beside {plan['weights_bytes'] / 1e6:.0f} MB of weights",
    }


EXPERIMENT = Experiment(
    measure,
    help="Plain against tuned kernels at the same number of dispatches, and what each plan moves.",
    options={
        "strategies": Option(",".join(SERIES), "Comma-separated."),
        **texts.OPTIONS,
    },
    quick={"rounds": 2, "strategies": "eager,single-pass", "tokens": 2},
    rounds=10,
    warmup=1,
)
