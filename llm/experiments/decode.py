"""What a token costs by each plan and strategy, and how long the first one takes: `python -m llm bench`."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from attrs import frozen

from cmdgraph.bench import method, trial
from cmdgraph.bench.experiments import Experiment, Option, OptionError
from cmdgraph.bench.method import Plan, Samples, summary
from cmdgraph.bench.results import Report
from llm import torch_rows
from llm.experiments import texts
from llm.experiments.decode_tables import to_markdown
from llm.experiments.texts import TextArm
from llm.generate import Generation
from llm.loading import LoadedModel
from llm.options import Choice, names
from llm.plans import PLANS
from llm.strategies import EAGER, STRATEGIES, runner

__all__ = ["EXPERIMENT", "failure", "gains", "measure", "to_markdown"]

MOST_STEPS = 64

TIMED_REGION = (
    f"{texts.TIMED_REGION}. `ms_per_token` has each token of every text, from when the one before was read until this "
    "one is, of several texts at once that of the first. CPU time is the caller's, that of the thread that encodes "
    "ahead is given apart; the driver's threads are not counted. `host_cpu_us_per_dispatch` is that of the calls that "
    "submit a step, `host_cpu_us_per_token` that of the whole text, with waiting and reading. `ttft_ms` is the time "
    "from a prompt of `prefill_tokens` tokens, run in batches, to its first token, read"
)


@frozen
class _FirstToken:
    """Makes the first token of a prompt a run; afterwards the passage is in the cache again."""

    text: TextArm
    prompt: Sequence[int]

    def run(self) -> None:
        model, steps = self.text.loaded.model, self.text.runner
        generation = Generation(model, steps, self.prompt, 1)
        for _ in generation:
            pass

    def settle(self) -> None:
        texts.fill(self.text.loaded, self.text.where)
        self.text.rewind()


def measure(
    loaded: LoadedModel,
    strategies: Sequence[str],
    tokens: int,
    plan: Plan,
    *,
    plans: Sequence[str] = (),
    prefill: int = 0,
    depth: int = 0,
    per_submit: int = 1,
) -> Report:
    """The report of texts of `tokens` tokens by each plan (by default the loaded model's own) and strategy.

    `prefill`: tokens of a prompt whose first token is timed too. `depth`: the texts begin behind so many made-up
    tokens, not behind a prompt. An arm whose tokens differ from the reference has no figures. The reference is the
    golden text as far as it goes, and behind it, or for other models, what the first plan says when called eagerly.

    Raises ContextError where prompt and tokens do not fit the context.
    """
    where = texts.passage(loaded, depth)
    texts.require_room(loaded, where, tokens, prefill)
    with ExitStack() as stack:
        arms: dict[str, TextArm] = {}
        expected: list[int] = []
        for name in plans or (loaded.model.plan.name,):
            mine = loaded.with_plan(name)
            expected = texts.reference(mine, where, tokens, expected)
            for strategy in strategies:
                run = stack.enter_context(runner(mine.model, strategy, per_submit=per_submit))
                arms[f"{name}/{strategy}"] = TextArm(mine, run, where, expected)
        for arm in arms.values():
            arm.rewind()
        first = {f"{name}, first token": _FirstToken(arm, texts.made_up(loaded, prefill)) for name, arm in arms.items()}
        timed = {name: method.Arm(each.run, settle=each.settle) for name, each in first.items() if prefill > 1}
        samples = plan.run({**{name: arm.arm() for name, arm in arms.items()}, **timed})
        rows = [_row(name, arm, samples, per_submit) for name, arm in arms.items()]
    right = {name: arm for name, arm in arms.items() if arm.right(samples, name)}
    return trial.report(
        "decode",
        loaded.model.device,
        plan,
        samples,
        workload={"texts": loaded.model.texts, "tokens": tokens, "depth": depth, "prefill_tokens": prefill},
        timed_region=TIMED_REGION,
        sync=texts.SYNC,
        rows=rows,
        how={"tokens": tokens, "tokens_per_sample": tokens, "depth": depth, "steps_per_submit": per_submit},
        ratios=list(_ratios(right, samples)),
        model=texts.subject(loaded, where),
        prefill=_prefill(right, samples, prefill),
        fusion=gains(right, samples),
    )


def failure(report: Report) -> str | None:
    """Names the rows that have no figures, since their tokens differ from the reference."""
    wrong = [row["name"] for row in report["rows"] if not row["tokens_equal_reference"]]
    return f"wrong tokens by {', '.join(wrong)}; their figures are left out" if wrong else None


def gains(arms: Mapping[str, TextArm], samples: Samples) -> list[dict[str, Any]]:
    """How many times faster than `unfused` each other plan is by the same strategy, beside the ratio of their
    dispatches: what counts alone would allow. Arms are called plan/strategy.
    """
    found = []
    for name, arm in arms.items():
        plan, strategy = arm.loaded.model.plan, arm.runner.strategy
        unfused = arms.get(f"unfused/{strategy}")
        if unfused is None or arm is unfused:
            continue
        over, under = (_wall(samples, each) for each in (f"unfused/{strategy}", name))
        ceiling = len(unfused.loaded.model.plan.forward) / len(plan.forward)
        pair = {"strategy": strategy, "over": "unfused", "under": plan.name, "ceiling": ceiling}
        found.append({**pair, **method.ratio(over, under)})
    return found


def _row(name: str, arm: TextArm, samples: Samples, per_submit: int) -> dict[str, Any]:
    plan, counts, tokens = arm.loaded.model.plan, arm.runner, len(arm.expected)
    right, series = arm.right(samples, name), samples[name]
    row: dict[str, Any] = {
        "name": name,
        "series": counts.strategy,
        "strategy": counts.strategy,
        "plan": plan.name,
        "dispatches": counts.dispatches - len(plan.sampling),
        "sampling_dispatches": len(plan.sampling),
        "dispatches_total": counts.dispatches,
        "categories": dict(plan.counts()),
        "submits": counts.submits,
        "passes": counts.passes,
        "dispatches_per_sample": counts.dispatches * tokens,
        "submits_per_sample": counts.submits * tokens,
        "tokens": series.returned[-1].tokens,
        "tokens_equal_reference": right,
        "checked": texts.CHECKED if right else None,
    }
    figures = {
        "host_cpu_us_per_dispatch": ("us", [1e6 * s / counts.dispatches / per_submit for s in _cpu(samples, name)]),
        "worker_cpu_us_per_dispatch": ("us", [1e6 * s / tokens / counts.dispatches for s in series.worker_s]),
        "host_cpu_us_per_token": ("us", [1e6 * s / tokens for s in series.cpu_s]),
        "ms_per_token": ("ms", [1e3 * s for s in _wall(samples, name)]),
        "tokens_per_s": ("tokens/s", [arm.loaded.model.texts * tokens / sum(t.wall_s) for t in series.returned]),
        "ttft_ms": ("ms", [1e3 * s for s in _first_token(samples, name)]),
    }
    return row | {
        figure: summary(values, unit) if right else None for figure, (unit, values) in figures.items() if values
    }


def _wall(samples: Samples, name: str) -> list[float]:
    return [seconds for text in samples[name].returned for seconds in text.wall_s]


def _cpu(samples: Samples, name: str) -> list[float]:
    return [seconds for text in samples[name].returned for seconds in text.submit_cpu_s]


def _first_token(samples: Samples, name: str) -> list[float]:
    series = samples.get(f"{name}, first token")
    return series.wall_s if series is not None else []


def _prefill(arms: Mapping[str, TextArm], samples: Samples, tokens: int) -> dict[str, Any] | None:
    """How fast the arm that is best at it runs a prompt, the step that makes the first token included."""
    timed = {name: summary(found)["median"] for name in arms if (found := _first_token(samples, name))}
    if not timed:
        return None
    best = min(timed, key=lambda name: timed[name])
    model, run = arms[best].loaded.model, arms[best].runner
    batches = model.batches(tokens)
    return {
        "tokens": tokens,
        "batches": batches,
        "dispatches": sum(len(model.prepare_prefill(batch).ops) for batch in batches) + run.dispatches,
        "strategy": run.strategy,
        "plan": model.plan.name,
        "tokens_per_s": summary([tokens / seconds for seconds in _first_token(samples, best)], "tokens/s"),
    }


def _ratios(arms: Mapping[str, TextArm], samples: Samples) -> Iterator[dict[str, Any]]:
    """How many times less than `eager` each strategy of the same plan costs the host, and takes."""
    for name, arm in arms.items():
        eager = f"{arm.loaded.model.plan.name}/{EAGER}"
        if name == eager or eager not in arms:
            continue
        for quantity, of in (("host_cpu", _cpu), ("wall", _wall)):
            ratio = method.ratio(of(samples, eager), of(samples, name))
            yield {"quantity": quantity, "over": eager, "under": name, **ratio}


def _command(
    choice: Choice,
    how_often: Plan,
    /,
    *,
    plan: str,
    strategies: str,
    tokens: int,
    prefill: int,
    depth: int,
    steps_per_submit: int,
    batch: int,
    torch: bool,
) -> Report:
    if steps_per_submit > MOST_STEPS:
        raise OptionError(f"steps-per-submit: at most {MOST_STEPS}, got {steps_per_submit}")
    chosen, ways = names(plan, "plan", list(PLANS)), names(strategies, "strategy", STRATEGIES)
    loaded = choice.load(chosen[0], texts=batch)
    if batch > 1:
        prefill = 0  # several texts have no prefill of their own
    report = measure(
        loaded, ways, tokens, how_often, plans=chosen, prefill=prefill, depth=depth, per_submit=steps_per_submit
    )
    if torch:
        report["torch"] = torch_rows.measure(loaded.model.config, loaded.model.store.dtype, tokens * how_often.rounds)
    return report


EXPERIMENT = Experiment(
    _command,
    help="Compare plans and strategies on the model's decode step, with the tokens checked.",
    options={
        "plan": Option(",".join(PLANS), "Comma-separated."),
        "strategies": Option(",".join(STRATEGIES), "Comma-separated."),
        **texts.OPTIONS,
        "prefill": Option(128, "Time the first token of a prompt of so many tokens too; 0 or 1: do not.", least=0),
        "steps_per_submit": Option(1, "Steps that one submit holds."),
        "batch": Option(1, "Texts at once; with the plan fused."),
        "torch": Option(False, "Rows of PyTorch on CUDA, eager and by a CUDA graph."),
    },
    quick={"rounds": 2, "plan": "unfused", "strategies": "eager,per-op,single-pass", "tokens": 8, "prefill": 8},
    rounds=3,
    warmup=1,
    to_markdown=to_markdown,
    failure=failure,
)
