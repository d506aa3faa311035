"""The number of dispatches as the only variable: the paper's plan, and dispatches that do nothing among its own.

The slope of a token's time over their number is what a dispatch costs in a real model, whatever its kernels take. They
bind a buffer that nobody writes, so they wait for nothing and nothing waits for them.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from attrs import evolve

from cmdgraph.bench import trial
from cmdgraph.bench.experiments import Experiment, Option, OptionError
from cmdgraph.bench.method import Plan, Samples
from cmdgraph.bench.results import Report
from cmdgraph.bench.statistics import line
from llm.experiments import texts
from llm.experiments.texts import TextArm
from llm.loading import LoadedModel
from llm.options import Choice, names
from llm.plans import Op
from llm.runtime import Prepared
from llm.strategies import STRATEGIES, runner

__all__ = ["EXPERIMENT", "measure", "spread"]

COUNTS = (0, 125, 250, 500, 1000)
SERIES = ("eager", "single-pass", "prerecorded-ahead")
NOTHING = Op("nothing", "nothing", "nothing", (), (), ("nothing",), (1, 1, 1))


def measure(choice: Choice, plan: Plan, *, counts: Sequence[int], strategies: str, tokens: int, depth: int) -> Report:
    """The report. Raises OptionError for fewer than two counts, MeasurementError where an arm makes other tokens than
    it must.
    """
    counts = sorted(set(counts))
    if len(counts) < 2:
        raise OptionError(f"counts: needs two different numbers, got {counts[0]} only: a line needs two points")
    ways = names(strategies, "strategy", STRATEGIES)
    loaded = choice.load("paper")
    where = texts.passage(loaded, depth)
    texts.require_room(loaded, where, tokens)
    expected = texts.reference(loaded, where, tokens)
    with ExitStack() as stack:
        arms: dict[str, TextArm] = {}
        for count in counts:
            mine = with_nothing(loaded, count)
            for way in ways:
                run = stack.enter_context(runner(mine.model, way))
                arms[f"{way}/{count}"] = TextArm(mine, run, where, expected)
        samples = texts.measure(arms, plan)
        rows = [texts.row(name, arm, samples, added=int(name.rpartition("/")[2])) for name, arm in arms.items()]
    return trial.report(
        "count",
        loaded.model.device,
        plan,
        samples,
        workload={"plan": "paper", "counts": counts, "tokens_per_sample": tokens, "depth": depth},
        timed_region=texts.TIMED_REGION,
        sync=texts.SYNC,
        rows=rows,
        how={"tokens_per_sample": tokens},
        fits=list(_fits(ways, rows, samples, tokens)),
        notes=[
            "`dispatches` counts the step's own, sampling included, and those added; a token's time is a line over it"
        ],
        model=texts.subject(loaded, where),
    )


def with_nothing(loaded: LoadedModel, count: int) -> LoadedModel:
    """The same model, state included, with `count` dispatches that do nothing between its own."""
    model = loaded.model
    model.runtime.make_buffers({"nothing": 16})
    (nothing,) = model.runtime.prepare([NOTHING])
    return evolve(loaded, model=model.with_dispatches(spread(model.dispatches, nothing, count)))


def spread(dispatches: Sequence[Prepared], nothing: Prepared, count: int) -> list[Prepared]:
    """`count` times `nothing` behind the dispatches, as evenly as it goes."""
    found: list[Prepared] = []
    for number, dispatch in enumerate(dispatches):
        due = (number + 1) * count // len(dispatches) - number * count // len(dispatches)
        found += [dispatch, *[nothing] * due]
    return found


def _fits(
    ways: Sequence[str], rows: Sequence[dict[str, Any]], samples: Samples, tokens: int
) -> Iterator[dict[str, Any]]:
    """How a token's time grows with the dispatches of its step."""
    for way in ways:
        mine = [row for row in rows if row["series"] == way]
        xs = [row["dispatches"] for row in mine]
        for quantity, key in (("wall_us_per_token", "wall_s"), ("host_cpu_us_per_token", "cpu_s")):
            series = [[1e6 * s / tokens for s in getattr(samples[row["name"]], key)] for row in mine]
            yield {"quantity": quantity, "series": way, "against": "dispatches", **line(xs, series, "us")}


EXPERIMENT = Experiment(
    measure,
    help="The number of dispatches as the only variable: what one more costs in a token's time.",
    options={
        "counts": Option(COUNTS, "Dispatches that do nothing, added to the step.", least=0),
        "strategies": Option(",".join(SERIES), "Comma-separated."),
        **texts.OPTIONS,
    },
    quick={"rounds": 3, "counts": (0, 500, 1000), "strategies": "eager,single-pass", "tokens": 4},
    rounds=10,
    warmup=1,
)
