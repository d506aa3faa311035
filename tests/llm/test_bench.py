"""The report of `python -m llm bench`: what it holds, and that a wrong strategy has no figures."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest

from llm import bench
from llm.errors import ContextError
from llm.loading import LoadedModel, Source, load_model
from llm.model import Model
from llm.plans import KERNEL_SETS
from llm.presets import PRESETS, RANDOM, RandomWeights
from llm.strategies import STRATEGIES, Runner, Ticket
from llm.tokenizer import stand_in_tokenizer
from tests.llm import tiny


@pytest.fixture(scope="module")
def loaded(device: Any, tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    path = tiny.write_model(tmp_path_factory.mktemp("model") / "tiny.gguf", tiny.LLAMA)
    return load_model(str(path), plan="unfused", device=device)


@pytest.fixture(scope="module")
def report(loaded: LoadedModel) -> dict[str, Any]:
    return bench.measure(loaded, STRATEGIES, tokens=5, plans=["unfused", "paper"], prefill=20)


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
        assert len(row["ms_per_token"]["samples"]) == 5 * bench.ROUNDS
        assert len(row["tokens_per_s"]["samples"]) == bench.ROUNDS
    assert rows["unfused", "eager"]["submits"] == 86
    assert (rows["unfused", "single-pass"]["submits"], rows["unfused", "single-pass"]["passes"]) == (1, 1)
    assert bench.all_right(report)


def test_ratios_and_environment(report: dict[str, Any]) -> None:
    assert {(ratio["quantity"], ratio["plan"], ratio["under"]) for ratio in report["ratios"]} == {
        (quantity, plan, strategy)
        for quantity in ("host_cpu", "wall")
        for plan in ("unfused", "paper")
        for strategy in STRATEGIES[1:]
    }
    assert report["environment"]["adapter"]
    assert report["model"]["kernels"] in KERNEL_SETS


def test_fusion_beside_what_counts_allow(report: dict[str, Any]) -> None:
    assert [(each["strategy"], each["under"]) for each in report["fusion"]] == [(s, "paper") for s in STRATEGIES]
    assert all(each["ceiling"] == 84 / 58 for each in report["fusion"])


def test_prefill_row(report: dict[str, Any]) -> None:
    assert report["prefill"]["tokens"] == 20
    assert report["prefill"]["batches"] == [32]
    assert report["prefill"]["tokens_per_s"]["median"] > 0


def test_markdown(report: dict[str, Any]) -> None:
    text = bench.to_markdown(report)
    for words in ("single-pass", "pp20", "tg5", "host_cpu: eager / single-pass", "fusion, eager: unfused / paper"):
        assert words in text


def test_depth(loaded: LoadedModel) -> None:
    report = bench.measure(loaded, ["single-pass"], tokens=2, rounds=1, depth=30)
    assert report["model"]["prompt_tokens"] == 30
    assert bench.all_right(report)


def test_several_texts(tmp_path: Path, device: Any) -> None:
    """Each text makes a token a step, and all are right."""
    path = tiny.write_model(tmp_path / "tiny.gguf", tiny.LLAMA)
    loaded = load_model(str(path), plan="fused", device=device, texts=3)
    report = bench.measure(loaded, ["single-pass"], tokens=4, rounds=1)
    row = report["rows"][0]
    assert bench.all_right(report)
    assert row["tokens_per_s"]["median"] == pytest.approx(3 * 4e3 / sum(row["ms_per_token"]["samples"]))
    assert "tg4 x 3" in bench.to_markdown(report)


def test_random_weights_are_marked(device: Any) -> None:
    config = attrs.evolve(PRESETS["qwen2.5-0.5b"], layers=1, vocab=512)
    source = Source(config, stand_in_tokenizer(512), RandomWeights(config), remark=RANDOM)
    report = bench.measure(LoadedModel(source, Model(device, config, source.weights)), ["per-op"], 2, rounds=1)
    assert report["model"]["name"] == "qwen2.5-0.5b (random weights)"
    assert "(random weights)" in bench.to_markdown(report)


def test_one_strategy_has_no_ratios(loaded: LoadedModel) -> None:
    assert bench.measure(loaded, ["per-op"], tokens=2)["ratios"] == []


def test_wrong_tokens_have_no_figures(loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay that does nothing is fast; it must not look good."""
    monkeypatch.setattr(bench, "runner", _idle_replay)
    report = bench.measure(loaded, ["eager", "single-pass"], tokens=3)
    eager, replayed = report["rows"]
    assert eager["tokens_equal_reference"]
    assert not replayed["tokens_equal_reference"]
    assert replayed["ms_per_token"] is replayed["host_cpu_us_per_dispatch"] is None
    assert report["ratios"] == []
    assert not bench.all_right(report)
    assert "NO" in bench.to_markdown(report)


def test_text_that_does_not_fit(loaded: LoadedModel) -> None:
    with pytest.raises(ContextError, match="do not fit the context of 64"):
        bench.measure(loaded, ["eager"], tokens=60)


def test_golden_tokens_are_the_reference(smollm2: LoadedModel) -> None:
    report = bench.measure(smollm2, ["single-pass"], tokens=3, rounds=1, plans=["unfused", "fused"])
    assert bench.all_right(report)
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
