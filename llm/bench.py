"""What a token costs by each plan and strategy, with the tokens checked against the golden ones."""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from attrs import define, field

from cmdgraph.bench import environment, method
from llm.errors import ContextError
from llm.generate import Generation
from llm.golden import golden_prompts
from llm.loading import LoadedModel
from llm.report import to_markdown
from llm.strategies import EAGER, Runner, runner
from llm.tensors import expected_shapes

__all__ = ["all_right", "measure", "to_markdown"]

ROUNDS = 3
WARMUP = 1
PROMPT = "p1"
FALLBACK_PROMPT = "The capital of France is"

TIMED_REGION = (
    "a sample is one token: the time from when the one before was read until this one is, in a text of "
    "`tokens` tokens that every arm makes in every round from the same position. All dispatches of the step are "
    "in it, sampling included, and so is reading the token back, of several texts at once that of the first; "
    "`prerecorded-ahead` submits the next two steps before it reads the token of one. CPU time is the caller's, "
    "that of the thread that encodes ahead is given apart; the driver's threads are not counted. "
    "`host_cpu_us_per_dispatch` is that of the calls that submit a step, `host_cpu_us_per_token` that of the whole "
    "text, with waiting and reading. Loading, buffers, pipelines, bind groups and captures are outside"
)


@define
class _Arm:
    """Makes the continuation by one plan and strategy, a text a run, or several that must be alike; those of the
    warm-up are forgotten.
    """

    loaded: LoadedModel
    runner: Runner
    position: int
    first: int
    tokens: int
    runs: int = field(default=0, init=False)
    made: list[list[int]] = field(factory=list, init=False)
    alike: bool = field(default=True, init=False)
    wall_s: list[float] = field(factory=list, init=False)
    cpu_s: list[float] = field(factory=list, init=False)
    worker_s: list[float] = field(factory=list, init=False)

    def run(self) -> None:
        if self.runs == WARMUP:
            self.wall_s.clear()
            self.cpu_s.clear()
            self.worker_s.clear()
            self.runner.cpu_s.clear()
            self.made.clear()
        self.runs += 1
        model = self.loaded.model
        model.seek(self.position, self.first)
        model.read_token()
        worker, cpu, before = self.runner.worker_cpu(), time.thread_time(), time.perf_counter()
        text = []
        for token in self.runner.stream(self.position, self.tokens):
            now = time.perf_counter()
            text.append(token)
            self.wall_s.append(now - before)
            before = now
        self.cpu_s.append((time.thread_time() - cpu) / self.tokens)
        self.worker_s.append((self.runner.worker_cpu() - worker) / self.tokens)
        self.made.append(text)
        others = (model.read_tokens(self.position + 1, self.tokens, k) for k in range(1, model.texts))
        self.alike = self.alike and all(other == text for other in others)


def measure(
    loaded: LoadedModel,
    strategies: Sequence[str],
    tokens: int,
    progress: Callable[[int, int], None] | None = None,
    *,
    plans: Sequence[str] = (),
    rounds: int = ROUNDS,
    prefill: int = 0,
    depth: int = 0,
    per_submit: int = 1,
) -> dict[str, Any]:
    """The report of `rounds` texts of `tokens` tokens by each plan and strategy, interleaved, ready for JSON.

    `plans`: by default the loaded model's own. `prefill`: tokens of a prompt whose prefill is timed too. `depth`: the
    text begins behind so many made-up tokens, not behind a prompt. An arm whose
    tokens differ from the reference has no figures. The reference is the golden text as far as it goes, and behind it,
    or for other models, what the first plan says when called eagerly.

    Raises ContextError where prompt and tokens do not fit the context.
    """
    prompt, golden = _prompt(loaded, depth)
    longest = max(len(prompt) + tokens - 1, prefill)
    if longest > loaded.model.max_context:
        raise ContextError(
            f"{len(prompt)} tokens of prompt and {tokens} more, or a prefill of {prefill}, do not fit the context of "
            f"{loaded.model.max_context}"
        )
    with ExitStack() as stack:
        arms: dict[str, _Arm] = {}
        expected: list[int] = []
        for plan in plans or (loaded.model.plan.name,):
            mine = loaded.with_plan(plan)
            expected = _reference(mine, prompt, golden, tokens, expected)
            for strategy in strategies:
                run = stack.enter_context(runner(mine.model, strategy, per_submit=per_submit))
                arms[f"{plan}/{strategy}"] = _Arm(mine, run, len(prompt) - 1, prompt[-1], tokens)
        method.interleave({n: a.run for n, a in arms.items()}, rounds, WARMUP, progress=progress)
        rows = [_row(arm, expected, per_submit) for arm in arms.values()]
        ratios, fusion = _ratios(arms, expected), _fusion(arms, expected)
        timed = _prefill_row(next(iter(arms.values())), prefill, rounds) if prefill > 1 else None
    return {
        "experiment": "decode",
        "environment": environment.describe(loaded.model.device),
        "model": _model(loaded, len(prompt), min(len(golden), tokens)),
        "method": {
            "description": method.DESCRIPTION,
            "timed_region": TIMED_REGION,
            "warmup": WARMUP,
            "rounds": rounds,
            "tokens": tokens,
            "depth": depth,
            "steps_per_submit": per_submit,
        },
        "rows": rows,
        "prefill": timed,
        "ratios": ratios,
        "fusion": fusion,
    }


def all_right(report: dict[str, Any]) -> bool:
    """Whether every arm made the reference's tokens."""
    return all(row["tokens_equal_reference"] for row in report["rows"])


def _model(loaded: LoadedModel, prompt: int, golden: int) -> dict[str, Any]:
    model, config = loaded.model, loaded.model.config
    return {
        "name": loaded.source.title,
        "remark": loaded.source.remark,
        "layers": config.layers,
        "parameters": sum(math.prod(shape) for shape in expected_shapes(config).values()),
        "bytes": model.store.nbytes,
        "dtype": model.store.dtype,
        "kernels": model.plan.kernels,
        "texts": model.texts,
        "prompt_tokens": prompt,
        "golden_tokens": golden,
    }


def _prompt(loaded: LoadedModel, depth: int) -> tuple[Sequence[int], Sequence[int]]:
    """The prompt and what is known to follow."""
    if depth:
        return _made_up(loaded, depth), ()
    prompts = golden_prompts(loaded.golden)
    if prompts:
        return prompts[PROMPT].ids, prompts[PROMPT].greedy
    return loaded.tokenizer.encode(FALLBACK_PROMPT), ()


def _reference(
    loaded: LoadedModel, prompt: Sequence[int], golden: Sequence[int], tokens: int, known: list[int]
) -> list[int]:
    """The tokens that must follow. Leaves the prompt in the cache."""
    model = loaded.model
    model.start(prompt)
    for batch in model.batches(len(prompt)):
        model.prefill(batch)
    for _ in prompt[1:] if model.texts > 1 else ():
        model.step()
    if known or len(golden) >= tokens:
        return known or list(golden[:tokens])
    made = []
    for _ in range(tokens):
        model.step()
        made.append(model.read_token())
    return [*golden, *made[len(golden) :]]


def _made_up(loaded: LoadedModel, count: int) -> list[int]:
    """Tokens that are not all the same."""
    return [1 + 7 * n % (loaded.model.config.vocab - 1) for n in range(count)]


def _right(arm: _Arm, expected: list[int]) -> bool:
    return arm.alike and all(text == expected for text in arm.made)


def _row(arm: _Arm, expected: list[int], per_submit: int) -> dict[str, Any]:
    plan, counts = arm.loaded.model.plan, arm.runner
    row: dict[str, Any] = {
        "strategy": counts.strategy,
        "plan": plan.name,
        "dispatches": counts.dispatches - len(plan.sampling),
        "sampling_dispatches": len(plan.sampling),
        "dispatches_total": counts.dispatches,
        "categories": dict(plan.counts()),
        "submits": counts.submits,
        "passes": counts.passes,
    }
    figures = {
        "host_cpu_us_per_dispatch": [1e6 * seconds / counts.dispatches / per_submit for seconds in counts.cpu_s],
        "worker_cpu_us_per_dispatch": [1e6 * seconds / counts.dispatches for seconds in arm.worker_s],
        "host_cpu_us_per_token": [1e6 * seconds for seconds in arm.cpu_s],
        "ms_per_token": [1e3 * seconds for seconds in arm.wall_s],
        "tokens_per_s": [arm.loaded.model.texts * len(text) / sum(text) for text in _texts(arm)],
    }
    equal = _right(arm, expected)
    row |= {name: method.summary(values) if equal else None for name, values in figures.items()}
    return row | {"tokens": arm.made[-1], "tokens_equal_reference": equal}


def _texts(arm: _Arm) -> list[list[float]]:
    return [arm.wall_s[start : start + arm.tokens] for start in range(0, len(arm.wall_s), arm.tokens)]


def _prefill_row(arm: _Arm, tokens: int, rounds: int) -> dict[str, Any]:
    """How fast a prompt of `tokens` tokens is run in batches, its last token by a decode step and read."""
    model = arm.loaded.model
    prompt = _made_up(arm.loaded, tokens)
    seconds = []
    for _ in range(1 + rounds):
        model.start(prompt)
        model.read_token()
        before = time.perf_counter()
        generation = Generation(model, arm.runner, prompt, 1)
        generation.fill_cache()
        for _ in arm.runner.stream(tokens - 1, 1):
            pass
        seconds.append(time.perf_counter() - before)
    batches = model.batches(tokens)
    return {
        "tokens": tokens,
        "batches": batches,
        "dispatches": sum(len(model.prepare_prefill(batch).ops) for batch in batches) + arm.runner.dispatches,
        "strategy": arm.runner.strategy,
        "tokens_per_s": method.summary([tokens / each for each in seconds[1:]]),
    }


def _ratios(arms: dict[str, _Arm], expected: list[int]) -> list[dict[str, Any]]:
    """How many times less than `eager` each right strategy of the same plan costs the host, and takes."""
    ratios = []
    for arm in arms.values():
        plan = arm.loaded.model.plan.name
        eager = arms.get(f"{plan}/{EAGER}")
        if eager is None or arm is eager or not (_right(arm, expected) and _right(eager, expected)):
            continue
        ratios += [
            {
                "quantity": quantity,
                "plan": plan,
                "over": EAGER,
                "under": arm.runner.strategy,
                **method.ratio(over, under),
            }
            for quantity, over, under in (
                ("host_cpu", eager.runner.cpu_s, arm.runner.cpu_s),
                ("wall", eager.wall_s, arm.wall_s),
            )
        ]
    return ratios


def _fusion(arms: dict[str, _Arm], expected: list[int]) -> list[dict[str, Any]]:
    """How many times faster than `unfused` each other plan is by the same strategy, beside the ratio of their
    dispatches: what counts alone would allow.
    """
    found = []
    for arm in arms.values():
        plan = arm.loaded.model.plan
        unfused = arms.get(f"unfused/{arm.runner.strategy}")
        if unfused is None or arm is unfused or not (_right(arm, expected) and _right(unfused, expected)):
            continue
        found.append(
            {
                "strategy": arm.runner.strategy,
                "over": "unfused",
                "under": plan.name,
                "ceiling": len(unfused.loaded.model.plan.forward) / len(plan.forward),
                **method.ratio(unfused.wall_s, arm.wall_s),
            }
        )
    return found
