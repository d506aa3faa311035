"""The report of `python -m llm bench`: what it holds, and that a wrong strategy has no figures."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from llm import bench
from llm.errors import ContextError
from llm.loading import LoadedModel, load_model
from llm.model import Model
from llm.strategies import STRATEGIES, Runner
from tests.llm import tiny


@pytest.fixture(scope="module")
def loaded(device: Any, tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    path = tiny.write_model(tmp_path_factory.mktemp("model") / "tiny.gguf", tiny.LLAMA)
    return load_model(str(path), device=device)


@pytest.fixture(scope="module")
def report(loaded: LoadedModel) -> dict[str, Any]:
    return bench.measure(loaded, STRATEGIES, tokens=5)


def test_rows(report: dict[str, Any]) -> None:
    rows = {row["strategy"]: row for row in report["rows"]}
    assert list(rows) == ["eager", "per-op", "single-pass"]
    for row in rows.values():
        assert (row["dispatches"], row["sampling_dispatches"], row["dispatches_total"]) == (84, 2, 86)
        assert row["plan"] == "unfused"
        assert row["tokens_equal_reference"]
        assert len(row["tokens"]) == 5
        for quantity in ("host_cpu_us_per_dispatch", "host_cpu_us_per_token", "ms_per_token"):
            assert {"median", "p10", "p90", "samples"} <= row[quantity].keys()
            assert len(row[quantity]["samples"]) == 5
    assert rows["eager"]["submits"] == rows["per-op"]["submits"] == 86
    assert (rows["single-pass"]["submits"], rows["single-pass"]["passes"]) == (1, 1)
    assert bench.all_right(report)


def test_ratios_and_environment(report: dict[str, Any]) -> None:
    assert {(ratio["quantity"], ratio["under"]) for ratio in report["ratios"]} == {
        (quantity, strategy) for quantity in ("host_cpu", "wall") for strategy in ("per-op", "single-pass")
    }
    assert report["environment"]["adapter"]
    assert report["model"]["kernels"] in ("cpu", "gpu")


def test_markdown(report: dict[str, Any]) -> None:
    text = bench.to_markdown(report)
    assert "| single-pass |" in text
    assert "host_cpu: eager / single-pass" in text


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
    report = bench.measure(smollm2, STRATEGIES, tokens=3)
    assert bench.all_right(report)
    assert [row["dispatches"] for row in report["rows"]] == [1092] * 3
    assert report["rows"][0]["tokens"] == [7042, 30, 198]


@contextmanager
def _idle_replay(model: Model, strategy: str) -> Iterator[Runner]:
    """Eager works, a replay does nothing."""
    yield Runner(strategy, model.step if strategy == "eager" else lambda: None, 86, 1, 1)
