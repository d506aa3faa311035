"""The experiments with a model, as small as they go: what each report must say, and what they refuse."""

from pathlib import Path
from typing import Any

import pytest

from cmdgraph.bench import formats, results
from cmdgraph.bench.experiments import OptionError
from cmdgraph.bench.method import MeasurementError
from llm import experiments
from llm.errors import ContextError, UsageError
from llm.experiments import batch, count, fusion, kernel, texts
from llm.experiments.texts import TextArm
from tests.llm import tiny
from tests.llm.experiments.kit import SHORT, choice_of

TINY: dict[str, dict[str, Any]] = {
    "fusion": {"strategies": "eager,single-pass", "tokens": 3, "depth": 0},
    "count": {"counts": (0, 40, 7), "strategies": "eager,prerecorded-ahead", "tokens": 3, "depth": 5},
    "kernel": {"strategies": "eager,single-pass", "tokens": 3, "depth": 0},
    "batch": {"batches": (1, 3), "strategy": "single-pass", "tokens": 3, "depth": 0},
}
# The tiny models have 2 layers, and every plan 2 dispatches of sampling.
UNFUSED, PAPER = 2 * 36 + 12, 2 * 23 + 12


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The report of each, made once."""
    choice = choice_of(tmp_path_factory.mktemp("model"))
    return {name: experiments.load(name).measure(choice, SHORT, **options) for name, options in TINY.items()}


def test_every_report_has_the_common_shape(reports: dict[str, dict[str, Any]]) -> None:
    for name, report in reports.items():
        assert (report["format"], report["version"]) == (results.FORMAT, results.VERSION)
        assert report["experiment"] == ("decode-batch" if name == "batch" else name)
        assert report["model"]["name"] == "tiny llama"
        assert report["method"]["rounds"] == SHORT.rounds
        names = {row["name"] for row in report["rows"]}
        for row in report["rows"]:
            assert {"series", "dispatches_per_sample", "submits_per_sample", "checked"} <= row.keys()
            assert all(len(figure["samples"]) == SHORT.rounds for figure in results.figures(row).values())
            tokens = 3 * row.get("texts", 1)
            wall = row["wall_us_per_token"]["samples"][0]
            assert row["tokens_per_s"]["samples"][0] == pytest.approx(tokens / 3 * 1e6 / wall)
        assert {ratio[side] for ratio in report["ratios"] for side in ("over", "under")} <= names
        for kind in formats.FORMATS:
            assert formats.text(report, kind, experiments.load(name).to_markdown)


def test_fusion_stands_beside_what_the_count_allows(reports: dict[str, dict[str, Any]]) -> None:
    report = reports["fusion"]
    assert [(gain["strategy"], gain["ceiling"]) for gain in report["fusion"]] == [
        ("eager", UNFUSED / PAPER),
        ("single-pass", UNFUSED / PAPER),
    ]
    assert [finding["value"] for finding in report["findings"]] == [gain["ratio"] for gain in report["fusion"]]


def test_count_changes_nothing_but_the_count(reports: dict[str, dict[str, Any]]) -> None:
    report = reports["count"]
    found = [(row["name"], row["added"], row["dispatches"]) for row in report["rows"]]
    assert found == [
        (f"{way}/{added}", added, PAPER + 2 + added) for added in (0, 7, 40) for way in ("eager", "prerecorded-ahead")
    ]
    fits = {(fit["series"], fit["quantity"], fit["against"]) for fit in report["fits"]}
    assert ("eager", "wall_us_per_token", "dispatches") in fits
    assert len(fits) == 4
    costs = {row["name"]: row["host_cpu_us_per_token"]["median"] for row in report["rows"]}
    assert costs["eager/40"] > costs["eager/0"]


@pytest.mark.parametrize("added", [0, 1, 3, 7, 20])
def test_nothing_is_spread_evenly(added: int) -> None:
    found: list[Any] = count.spread(list("abcdefg"), "-", added)  # type: ignore[arg-type]
    assert [each for each in found if each != "-"] == list("abcdefg")
    gaps = [len(gap) for gap in "".join(found).translate(str.maketrans("abcdefg", "|" * 7)).split("|")[1:]]
    assert sum(gaps) == added
    assert max(gaps) - min(gaps) <= 1


def test_kernels_run_at_the_same_count(reports: dict[str, dict[str, Any]]) -> None:
    report = reports["kernel"]
    assert {row["dispatches"] for row in report["rows"]} == {PAPER + 2}
    assert [row["name"] for row in report["rows"]] == [
        f"{kernels}/{way}" for kernels in ("plain", "tuned") for way in ("eager", "single-pass")
    ]


def test_what_plans_move(reports: dict[str, dict[str, Any]]) -> None:
    """Fewer dispatches hand on less, over the same weights, which every plan reads at least."""
    plans = {plan["plan"]: plan for plan in reports["kernel"]["plans"]}
    assert plans["unfused"]["nodes"] == UNFUSED + 2
    handed = [plans[name]["between_bytes"] for name in ("unfused", "paper", "fused")]
    assert handed == sorted(handed, reverse=True)
    matrices = sum(weight.size for weight in tiny.random_weights(tiny.LLAMA).values() if weight.ndim == 2)
    assert all(plan["weights_bytes"] >= 4 * matrices for plan in plans.values())


def test_batches_are_whole(reports: dict[str, dict[str, Any]]) -> None:
    report = reports["batch"]
    assert [(row["name"], row["texts"]) for row in report["rows"]] == [
        ("eager/1", 1),
        ("single-pass/1", 1),
        ("eager/3", 3),
        ("single-pass/3", 3),
    ]
    (finding,) = report["findings"]
    assert finding["name"] == "crossover"
    assert finding["value"] is None or 1 < finding["value"] < 3


def test_what_cannot_be_measured(tmp_path: Path) -> None:
    choice = choice_of(tmp_path)
    with pytest.raises(OptionError, match="counts: needs two different numbers, got 5"):
        count.measure(choice, SHORT, **{**TINY["count"], "counts": (5, 5)})
    with pytest.raises(OptionError, match="batches: needs two different numbers of at most 256, got 1,300"):
        batch.measure(choice, SHORT, **{**TINY["batch"], "batches": (1, 300)})
    with pytest.raises(UsageError, match="no strategy 'fast'"):
        kernel.measure(choice, SHORT, **{**TINY["kernel"], "strategies": "fast"})
    with pytest.raises(ContextError, match="do not fit the context of 64"):
        fusion.measure(choice, SHORT, **{**TINY["fusion"], "tokens": 60})


def test_wrong_tokens_are_not_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that begins at another position has other tokens."""
    monkeypatch.setattr(TextArm, "rewind", lambda self: self.loaded.model.seek(0, 3))
    with pytest.raises(MeasurementError, match="wrong tokens"):
        fusion.measure(choice_of(tmp_path), SHORT, **TINY["fusion"])


def test_the_passage_is_golden_made_up_or_a_sentence(tmp_path: Path) -> None:
    loaded = choice_of(tmp_path).load("unfused")
    assert texts.passage(loaded).prompt == loaded.tokenizer.encode(texts.FALLBACK_PROMPT)
    assert texts.passage(loaded, 9).position == 8
