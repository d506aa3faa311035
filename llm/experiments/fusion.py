"""What the paper's three fusions gain: the unfused plan against the paper's, by each way to run them.

If nothing but the number of dispatches counted, the gain would be the ratio of these numbers, whatever the way.
"""

from contextlib import ExitStack
from typing import Any

from cmdgraph.bench import trial
from cmdgraph.bench.experiments import Experiment, Option
from cmdgraph.bench.method import Plan
from cmdgraph.bench.results import Report
from llm.experiments import texts
from llm.experiments.decode import gains
from llm.experiments.texts import TextArm
from llm.options import Choice, names
from llm.strategies import STRATEGIES, runner

__all__ = ["EXPERIMENT", "measure"]

PLANS = ("unfused", "paper")


def measure(choice: Choice, plan: Plan, *, strategies: str, tokens: int, depth: int) -> Report:
    """The report. Raises MeasurementError where an arm makes other tokens than the first one."""
    ways = names(strategies, "strategy", STRATEGIES)
    loaded = choice.load(PLANS[0])
    where = texts.passage(loaded, depth)
    texts.require_room(loaded, where, tokens)
    with ExitStack() as stack:
        arms: dict[str, TextArm] = {}
        expected: list[int] = []
        for name in PLANS:
            mine = loaded.with_plan(name)
            expected = texts.reference(mine, where, tokens, expected)
            for way in ways:
                run = stack.enter_context(runner(mine.model, way))
                arms[f"{name}/{way}"] = TextArm(mine, run, where, expected)
        samples = texts.measure(arms, plan)
        rows = [texts.row(name, arm, samples, strategy=arm.runner.strategy) for name, arm in arms.items()]
        fusion = gains(arms, samples)
    return trial.report(
        "fusion",
        loaded.model.device,
        plan,
        samples,
        workload={"plans": list(PLANS), "tokens_per_sample": tokens, "depth": depth},
        timed_region=texts.TIMED_REGION,
        sync=texts.SYNC,
        rows=rows,
        how={"tokens_per_sample": tokens},
        ratios=[
            {"quantity": "wall", **each, **{side: f"{each[side]}/{each['strategy']}" for side in ("over", "under")}}
            for each in fusion
        ],
        findings=[_finding(each) for each in fusion],
        model=texts.subject(loaded, where),
        fusion=fusion,
    )


def _finding(gain: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": f"fusion by {gain['strategy']}",
        "value": gain["ratio"],
        "unit": "",
        "ci95_low": gain["ci95_low"],
        "ci95_high": gain["ci95_high"],
        "text": f"by {gain['strategy']} the paper's fusions make a token {gain['ratio']:.2f} times as fast; the number "
        f"of dispatches alone would allow {gain['ceiling']:.3f}",
    }


EXPERIMENT = Experiment(
    measure,
    help="What the paper's fusions gain by each strategy, beside what the number of dispatches allows.",
    options={
        "strategies": Option(",".join(STRATEGIES), "Comma-separated."),
        **texts.OPTIONS,
    },
    quick={"rounds": 3, "strategies": "eager,single-pass", "tokens": 4},
    rounds=10,
    warmup=1,
)
