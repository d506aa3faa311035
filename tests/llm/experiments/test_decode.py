"""The report of `python -m llm bench`: what it holds, and that a wrong strategy has no figures."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest

from cmdgraph.bench import results
from cmdgraph.bench.method import Plan
from llm.errors import ContextError
from llm.experiments import decode
from llm.loading import LoadedModel, Source, load_model
from llm.model import Model
from llm.plans import KERNEL_SETS
from llm.presets import PRESETS, RANDOM, RandomWeights
from llm.strategies import STRATEGIES, Runner, Ticket
from llm.tokenizer import stand_in_tokenizer
from tests.llm import tiny
from tests.llm.experiments.kit import SHORT

ONE = Plan(rounds=1, warmup=1, warmup_s=0)


@pytest.fixture(scope="module")
def loaded(device: Any, tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    path = tiny.write_model(tmp_path_factory.mktemp("model") / "tiny.gguf", tiny.LLAMA)
    return load_model(str(path), plan="unfused", device=device)


@pytest.fixture(scope="module")
def report(loaded: LoadedModel) -> dict[str, Any]:
    return decode.measure(loaded, STRATEGIES, 5, SHORT, plans=["unfused", "paper"], prefill=20)


def test_rows(report: dict[str, Any]) -> None:
    rows = {(row["plan"], row["strategy"]): row for row in report["rows"]}
    assert list(rows) == [(plan, strategy) for plan in ("unfused", "paper") for strategy in STRATEGIES]
    for (plan, _), row in rows.items():
        forward = 84 if plan == "unfused" else 58
        assert (row["dispatches"], row["sampling_dispatches"], row["dispatches_total"]) == (forward, 2, forward + 2)
        assert sum(row["categories"].values()) == forward
        assert row["tokens_equal_reference"]
        assert len(row["tokens"]) == 5
        for quantity in ("host_cpu_us_per_dispatch", "host_cpu_us_per_token", "ms_per_token", "tokens_per_s"):
            assert {"median", "p10", "p90", "samples"} <= row[quantity].keys()
        assert len(row["ms_per_token"]["samples"]) == 5 * SHORT.rounds
        assert len(row["tokens_per_s"]["samples"]) == SHORT.rounds
    assert rows["unfused", "eager"]["submits"] == 86
    assert (rows["unfused", "single-pass"]["submits"], rows["unfused", "single-pass"]["passes"]) == (1, 1)
    assert decode.failure(report) is None


def test_ratios_and_environment(report: dict[str, Any]) -> None:
    assert {(each["quantity"], each["over"], each["under"]) for each in report["ratios"]} == {
        (quantity, f"{plan}/eager", f"{plan}/{strategy}")
        for quantity in ("host_cpu", "wall")
        for plan in ("unfused", "paper")
        for strategy in STRATEGIES[1:]
    }
    assert report["environment"]["adapter"]
    assert report["model"]["kernels"] in KERNEL_SETS


def test_fusion_beside_what_counts_allow(report: dict[str, Any]) -> None:
    assert [(each["strategy"], each["under"]) for each in report["fusion"]] == [(s, "paper") for s in STRATEGIES]
    assert all(each["ceiling"] == 84 / 58 for each in report["fusion"])


def test_the_shape_is_common(report: dict[str, Any]) -> None:
    assert (report["format"], report["version"]) == (results.FORMAT, results.VERSION)
    assert [row["name"] for row in report["rows"]][:2] == ["unfused/eager", "unfused/per-op"]
    assert report["method"]["rounds"] == report["method"]["rounds_wanted"] == SHORT.rounds
    assert all(each["unit"] for row in report["rows"] for each in results.figures(row).values())


def test_the_first_token_of_a_prompt(report: dict[str, Any]) -> None:
    """A prompt takes longer than a token, and does not disturb the texts, which are right."""
    for row in report["rows"]:
        assert len(row["ttft_ms"]["samples"]) == SHORT.rounds
        assert row["ttft_ms"]["unit"] == "ms"
    fastest = min(row["ttft_ms"]["median"] for row in report["rows"])
    assert report["prefill"]["tokens_per_s"]["max"] == pytest.approx(
        20e3 / min(min(row["ttft_ms"]["samples"]) for row in report["rows"] if row["ttft_ms"]["median"] == fastest)
    )


def test_prefill_row(report: dict[str, Any]) -> None:
    assert report["prefill"]["tokens"] == 20
    assert report["prefill"]["batches"] == [32]
    assert report["prefill"]["tokens_per_s"]["median"] > 0


def test_markdown(report: dict[str, Any]) -> None:
    text = decode.to_markdown(report)
    for words in (
        "single-pass",
        "pp20",
        "tg5",
        "eager / this, wall",
        "unfused / paper: dispatches alone would allow 1.448",
    ):
        assert words in text


def test_earlier_reports_can_be_read(report: dict[str, Any], tmp_path: Path) -> None:
    """Those of version 0 had no row names, no units, and named the plan of a ratio apart."""
    old = {key: report[key] for key in ("experiment", "environment", "model", "method", "prefill", "fusion")}
    old["rows"] = [{key: value for key, value in row.items() if key != "name"} for row in report["rows"]]
    old["ratios"] = [_plan_apart(ratio) for ratio in report["ratios"]]
    path = tmp_path / "old.json"
    path.write_text(json.dumps(old))
    found = results.read(path)
    assert found["ratios"][0] | {"plan": ""} == report["ratios"][0] | {"plan": ""}
    assert decode.to_markdown(found) == decode.to_markdown({**report, "noise": []})


def _plan_apart(ratio: dict[str, Any]) -> dict[str, Any]:
    plan, _, over = ratio["over"].partition("/")
    return {**ratio, "plan": plan, "over": over, "under": ratio["under"].partition("/")[2]}


def test_depth(loaded: LoadedModel) -> None:
    report = decode.measure(loaded, ["single-pass"], 2, SHORT, depth=30)
    assert report["model"]["prompt_tokens"] == 30
    assert decode.failure(report) is None


def test_several_texts(tmp_path: Path, device: Any) -> None:
    """Each text makes a token a step, and all are right."""
    path = tiny.write_model(tmp_path / "tiny.gguf", tiny.LLAMA)
    loaded = load_model(str(path), plan="fused", device=device, texts=3)
    report = decode.measure(loaded, ["single-pass"], 4, ONE)
    row = report["rows"][0]
    assert decode.failure(report) is None
    assert row["tokens_per_s"]["median"] == pytest.approx(3 * 4e3 / sum(row["ms_per_token"]["samples"]))
    assert "tg4 x 3" in decode.to_markdown(report)


def test_random_weights_are_marked(device: Any) -> None:
    config = attrs.evolve(PRESETS["qwen2.5-0.5b"], layers=1, vocab=512)
    source = Source(config, stand_in_tokenizer(512), RandomWeights(config), remark=RANDOM)
    loaded = LoadedModel(source, Model(device, config, source.weights))
    report = decode.measure(loaded, ["per-op"], 2, ONE)
    assert report["model"]["name"] == "qwen2.5-0.5b (random weights)"
    assert "(random weights)" in decode.to_markdown(report)


def test_one_strategy_has_no_ratios(loaded: LoadedModel) -> None:
    assert decode.measure(loaded, ["per-op"], 2, ONE)["ratios"] == []


def test_wrong_tokens_have_no_figures(loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay that does nothing is fast; it must not look good."""
    monkeypatch.setattr(decode, "runner", _idle_replay)
    report = decode.measure(loaded, ["eager", "single-pass"], 3, SHORT)
    eager, replayed = report["rows"]
    assert eager["tokens_equal_reference"]
    assert not replayed["tokens_equal_reference"]
    assert replayed["ms_per_token"] is replayed["host_cpu_us_per_dispatch"] is None
    assert report["ratios"] == []
    assert decode.failure(report) == "wrong tokens by unfused/single-pass; their figures are left out"
    assert "NO" in decode.to_markdown(report)


def test_text_that_does_not_fit(loaded: LoadedModel) -> None:
    with pytest.raises(ContextError, match="do not fit the context of 64"):
        decode.measure(loaded, ["eager"], 60, ONE)


def test_golden_tokens_are_the_reference(smollm2: LoadedModel) -> None:
    report = decode.measure(smollm2, ["single-pass"], 3, ONE, plans=["unfused", "fused"])
    assert decode.failure(report) is None
    assert [row["dispatches"] for row in report["rows"]] == [1092, 243]
    assert report["rows"][0]["tokens"] == [7042, 30, 198]


@contextmanager
def _idle_replay(model: Model, strategy: str, *, per_submit: int) -> Iterator[Runner]:
    """Eager works, a replay does nothing."""
    step = model.step if strategy == "eager" else lambda: None

    def submit() -> Ticket:
        step()
        return Ticket(lambda first, count: [model.read_token()])

    yield Runner(strategy, step, submit, model.prefill, 86, 1, 1)
