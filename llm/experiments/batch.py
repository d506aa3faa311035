"""From how many texts at once on a replay no longer pays: the batch swept, eager steps against replayed ones.

Weights are read once for all texts, so that a step takes little longer while the GPU waits for the caller.
"""

from collections.abc import Sequence
from contextlib import ExitStack

from cmdgraph.bench import trial
from cmdgraph.bench.crossover import crossover
from cmdgraph.bench.experiments import Experiment, Option, OptionError
from cmdgraph.bench.method import Plan, ratio
from cmdgraph.bench.results import Report
from llm.experiments import texts
from llm.experiments.texts import TextArm
from llm.options import Choice
from llm.strategies import AHEAD, EAGER, REPLAYED, runner

__all__ = ["EXPERIMENT", "measure"]

BATCHES = (1, 2, 4, 8, 16, 32, 64)
MOST = 256


def measure(choice: Choice, plan: Plan, *, batches: Sequence[int], strategy: str, tokens: int, depth: int) -> Report:
    """The report. Raises OptionError for fewer than two sizes or too large ones, MeasurementError where a text has
    other tokens than the eager one.
    """
    sizes = sorted(set(batches))
    if len(sizes) < 2 or sizes[-1] > MOST:
        raise OptionError(f"batches: needs two different numbers of at most {MOST}, got {','.join(map(str, sizes))}")
    first = choice.load("fused")
    where = texts.passage(first, depth)
    texts.require_room(first, where, tokens)
    # Many texts of a long context would fill the memory.
    room = choice.context or where.position + tokens
    with ExitStack() as stack:
        arms: dict[str, TextArm] = {}
        for size in sizes:
            loaded = first.with_plan("fused", texts=size, max_context=room)
            expected = texts.reference(loaded, where, tokens)
            for way in (EAGER, strategy):
                run = stack.enter_context(runner(loaded.model, way))
                arms[f"{way}/{size}"] = TextArm(loaded, run, where, expected)
        samples = texts.measure(arms, plan)
        rows = [texts.row(name, arm, samples, texts=arm.loaded.model.texts) for name, arm in arms.items()]
    eager, replay = ([samples[f"{way}/{size}"].wall_s for size in sizes] for way in (EAGER, strategy))
    return trial.report(
        "decode-batch",
        first.model.device,
        plan,
        samples,
        workload={"plan": "fused", "batches": sizes, "tokens_per_sample": tokens, "depth": depth},
        timed_region=texts.TIMED_REGION,
        sync=texts.SYNC,
        rows=rows,
        how={"tokens_per_sample": tokens},
        ratios=[
            {"quantity": "wall", "over": f"{EAGER}/{size}", "under": f"{strategy}/{size}", **ratio(over, under)}
            for size, over, under in zip(sizes, eager, replay, strict=True)
        ],
        findings=[crossover(sizes, eager, replay, "texts at once", "texts at once")],
        notes=[
            "one text is made by 5 dispatches a layer on a GPU, several by 9: matrix kernels replace the fused ones"
        ],
        model=texts.subject(first, where),
    )


EXPERIMENT = Experiment(
    measure,
    help="Sweep the texts made at once until a replay no longer pays, and find where that is.",
    options={
        "batches": Option(BATCHES, "Texts at once."),
        "strategy": Option(AHEAD, "The replay that eager steps are compared with.", choices=tuple(REPLAYED)),
        **texts.OPTIONS,
    },
    quick={"rounds": 3, "batches": (1, 4), "strategy": "single-pass", "tokens": 3},
    rounds=10,
    warmup=1,
)
