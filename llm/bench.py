"""What a token costs by each strategy, with the tokens checked against the golden ones."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from attrs import define, field

from cmdgraph.bench import environment, markdown, method
from llm.errors import ContextError
from llm.golden import golden_prompts
from llm.loading import LoadedModel
from llm.model import Model
from llm.strategies import EAGER, Runner, TimedStep, runner

WARMUP = 2
PROMPT = "p1"
FALLBACK_PROMPT = "The capital of France is"

TIMED_REGION = (
    "a sample is one decode step with its token read back: 12 bytes of state that name the position, all "
    "dispatches of the step, sampling included, and the read that waits for them. Every strategy runs the "
    "same positions of the same text. CPU time is the calling thread's; the driver's threads are not counted. "
    "`host_cpu_us_per_dispatch` is that of the step's calls, `host_cpu_us_per_token` that of the whole "
    "sample, with the wait and the read that every strategy pays alike. "
    "Loading, buffers, pipelines, bind groups and captures are outside"
)


@define
class _Arm:
    """Generates the continuation by one strategy, a token a run; warm-up runs repeat the first position."""

    model: Model
    runner: Runner
    prompt: Sequence[int]
    step: TimedStep = field(init=False)
    runs: int = field(default=0, init=False)
    tokens: list[int] = field(factory=list, init=False)

    @step.default
    def _timed_step(self) -> TimedStep:
        return TimedStep(self.runner.step)

    def run(self) -> None:
        if self.runs <= WARMUP:
            self.tokens = []
            self.step.cpu_s.clear()
        self.runs += 1
        made = len(self.tokens)
        present = self.tokens[-1] if made else self.prompt[-1]
        self.model.seek(len(self.prompt) - 1 + made, present)
        self.step()
        self.tokens.append(self.model.read_token())


def measure(
    loaded: LoadedModel,
    strategies: Sequence[str],
    tokens: int,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """The report of `tokens` tokens by each of the strategies, interleaved token by token, ready for JSON.

    A strategy whose tokens differ from the reference has no figures. The reference is the golden text as far
    as it goes, and behind it, or for other models, what the model says when called eagerly.

    Raises ContextError where prompt and tokens do not fit the context.
    """
    model = loaded.model
    prompt, golden = _prompt(loaded)
    if len(prompt) + tokens - 1 > model.max_context:
        raise ContextError(
            f"{len(prompt)} tokens of prompt and {tokens} more do not fit the context of {model.max_context}"
        )
    with ExitStack() as stack:
        arms = {name: _Arm(model, stack.enter_context(runner(model, name)), prompt) for name in strategies}
        expected = _reference(model, prompt, golden, tokens)
        series = method.interleave({n: a.run for n, a in arms.items()}, tokens, WARMUP, progress=progress)
    return {
        "experiment": "decode",
        "environment": environment.describe(model.device),
        "model": {
            "name": model.config.name,
            "layers": model.config.layers,
            "kernels": model.plan.kernels,
            "prompt_tokens": len(prompt),
            "golden_tokens": min(len(golden), tokens),
        },
        "method": {
            "description": method.DESCRIPTION,
            "timed_region": TIMED_REGION,
            "warmup": WARMUP,
            "rounds": tokens,
        },
        "rows": [_row(arm, series[name], expected) for name, arm in arms.items()],
        "ratios": _ratios(arms, series, expected),
    }


def all_right(report: dict[str, Any]) -> bool:
    """Whether every strategy made the reference's tokens."""
    return all(row["tokens_equal_reference"] for row in report["rows"])


def to_markdown(report: dict[str, Any]) -> str:
    """The report as Markdown."""
    header = [
        "strategy",
        "dispatches",
        "submits",
        "passes",
        "host CPU us/dispatch",
        "ms/token",
        "same tokens",
    ]
    rows = [
        [
            row["strategy"],
            row["dispatches_total"],
            row["submits"],
            row["passes"],
            _figure(row["host_cpu_us_per_dispatch"], 2),
            _figure(row["ms_per_token"], 1),
            "yes" if row["tokens_equal_reference"] else "NO",
        ]
        for row in report["rows"]
    ]
    ratios = [
        f"{ratio['quantity']}: {ratio['over']} / {ratio['under']} = {ratio['ratio']:.1f} "
        f"(95 % CI {ratio['ci95_low']:.1f}-{ratio['ci95_high']:.1f})"
        for ratio in report["ratios"]
    ]
    return "\n\n".join([markdown.facts(report["environment"]), markdown.table(header, rows), *ratios])


def _prompt(loaded: LoadedModel) -> tuple[Sequence[int], Sequence[int]]:
    """The prompt and what is known to follow."""
    prompts = golden_prompts(loaded.golden)
    if prompts:
        return prompts[PROMPT].ids, prompts[PROMPT].greedy
    return loaded.tokenizer.encode(FALLBACK_PROMPT), ()


def _reference(model: Model, prompt: Sequence[int], golden: Sequence[int], tokens: int) -> list[int]:
    """The tokens that must follow. Leaves the prompt in the cache."""
    model.start(prompt)
    for _ in prompt[:-1]:
        model.step()
    if len(golden) >= tokens:
        return list(golden[:tokens])
    made = []
    for _ in range(tokens):
        model.step()
        made.append(model.read_token())
    return [*golden, *made[len(golden) :]]


def _row(arm: _Arm, series: method.Series, expected: list[int]) -> dict[str, Any]:
    plan, counts = arm.model.plan, arm.runner
    row: dict[str, Any] = {
        "strategy": counts.strategy,
        "plan": plan.name,
        "dispatches": counts.dispatches - len(plan.sampling),
        "sampling_dispatches": len(plan.sampling),
        "dispatches_total": counts.dispatches,
        "submits": counts.submits,
        "passes": counts.passes,
    }
    figures = {
        "host_cpu_us_per_dispatch": [1e6 * seconds / counts.dispatches for seconds in arm.step.cpu_s],
        "host_cpu_us_per_token": [1e6 * seconds for seconds in series.cpu_s],
        "ms_per_token": [1e3 * seconds for seconds in series.wall_s],
    }
    equal = arm.tokens == expected
    row |= {name: method.summary(values) if equal else None for name, values in figures.items()}
    return row | {"tokens": arm.tokens, "tokens_equal_reference": equal}


def _ratios(arms: dict[str, _Arm], series: dict[str, method.Series], expected: list[int]) -> list[dict[str, Any]]:
    """How many times less than `eager` each right strategy costs the host, and takes."""
    right = [name for name, arm in arms.items() if arm.tokens == expected]
    if EAGER not in right:
        return []
    return [
        {"quantity": quantity, "over": EAGER, "under": name, **method.ratio(samples[EAGER], samples[name])}
        for name in right
        if name != EAGER
        for quantity, samples in (
            ("host_cpu", {n: arm.step.cpu_s for n, arm in arms.items()}),
            ("wall", {n: one.wall_s for n, one in series.items()}),
        )
    ]


def _figure(summary: dict[str, Any] | None, digits: int) -> str:
    return "-" if summary is None else f"{summary['median']:.{digits}f}"
