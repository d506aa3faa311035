"""Every experiment on every implementation, as small as it goes: what all reports must say, and what each one adds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cmdgraph import adapters
from cmdgraph.bench import experiments, formats, native_phases, results
from cmdgraph.bench.experiments import batch, bindings, dispatch, dtype, graph_size, phases, validation
from cmdgraph.bench.method import MeasurementError, Plan
from cmdgraph.bench.report import make

TINY: dict[str, dict[str, Any]] = {
    "strategies": {"dispatches": 12},
    "dispatch": {"counts": (1, 3)},
    "phases": {"dispatches": 4},
    "dtype": {"dispatches": 8},
    "validation": {"dispatches": 8},
    "bindings": {"dispatches": 16},
    "batch": {"workgroups": (1, 3), "dispatches": 2, "work": 2},
    "graph-size": {"counts": (3, 7)},
    "peers": {"dispatches": (4,), "peers": "wgpu-one-pass,cmdgraph-single-pass"},
    "checks": {"nodes": (3, 9)},
    "layer": {"dispatches": 6},
    "endurance": {"replays": 20},
}
PLAN = Plan(rounds=2, warmup=1, warmup_s=0)


@pytest.fixture(scope="module", params=["wgpu", "wgpudawn"])
def reports(request: pytest.FixtureRequest) -> dict[str, dict[str, Any]]:
    """The reports of all experiments on one implementation, made once."""
    features = {feature for name in experiments.NAMES for feature in experiments.load(name).features}
    try:
        device = adapters.open_device(request.param, None, sorted(features), ["max-immediate-size"])
    except adapters.AdapterError as error:
        pytest.skip(str(error))
    return {name: experiments.load(name).measure(device, PLAN, **TINY[name]) for name in experiments.NAMES}


def test_every_report_has_the_common_shape(reports: dict[str, dict[str, Any]]) -> None:
    for name, report in reports.items():
        assert json.loads(json.dumps(report, allow_nan=False)) == report, name
        assert (report["format"], report["version"]) == (results.FORMAT, results.VERSION)
        assert report["experiment"] == name
        assert report["interrupted"] is False
        assert report["method"]["timed_region"]
        assert report["method"]["sync"]
        for row in report["rows"]:
            figures = results.figures(row)
            assert figures, row["name"]
            assert {"dispatches_per_sample", "submits_per_sample", "checked"} <= row.keys()
            for figure in figures.values():
                assert len(figure["samples"]) == PLAN.rounds
                assert figure["unit"] == "us"


def test_ratios_fits_and_series_name_rows_that_are_there(reports: dict[str, dict[str, Any]]) -> None:
    for report in reports.values():
        names = {row["name"] for row in report["rows"]}
        assert {each[end] for each in report["ratios"] for end in ("over", "under")} <= names
        for fit in report["fits"]:
            along = [row for row in report["rows"] if row.get("series") == fit["series"]]
            assert len(along) >= 2
            assert all(fit["against"] in row for row in along)


def test_every_report_has_a_section_in_the_page(reports: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    for name, report in reports.items():
        results.write(report, tmp_path / f"{name}.json")
    _, text, *_ = make(tmp_path, tmp_path / "out", mix=True)

    assert "Also measured" not in text.read_text()
    assert len(list((tmp_path / "out" / "plots").iterdir())) >= 9


@pytest.mark.parametrize("kind", formats.FORMATS)
def test_every_report_becomes_text(reports: dict[str, dict[str, Any]], kind: str) -> None:
    for name, report in reports.items():
        text = formats.text(report, kind, experiments.load(name).to_markdown)
        assert report["environment"]["adapter"].split(",")[0] in text or not report["rows"]
        assert "nan" not in text
        if kind == "md" and report["environment"]["software_adapter"]:
            assert "**software adapter**" in text.splitlines()[0]


def test_dispatch_has_a_line_for_each_series(reports: dict[str, dict[str, Any]]) -> None:
    report = reports["dispatch"]
    left_out = {each["row"] for each in report["left_out"]}

    assert {fit["series"] for fit in report["fits"]} == set(dispatch.SERIES) - left_out
    assert len(report["findings"]) == len({fit["series"] for fit in report["fits"]})


def test_phases_are_all_there_and_add_up(reports: dict[str, dict[str, Any]]) -> None:
    report = reports["phases"]
    paths = {"public"} | ({"C"} if native_phases.why_absent() is None else set())

    assert {row["series"] for row in report["rows"]} == paths
    for path in paths:
        assert set(phases.PHASES) < {row["phase"] for row in report["rows"] if row["series"] == path}
        added = next(each for each in report["findings"] if each["name"] == f"{path}: sum of the phases")
        assert 50 < added["value"] <= 100


def test_only_dawn_has_rows_without_validation(reports: dict[str, dict[str, Any]]) -> None:
    report = reports["validation"]
    devices = {row["device"] for row in report["rows"]}

    if report["environment"]["implementation"]["name"] == "Dawn":
        assert devices == {validation.CHECKED, validation.UNCHECKED}
        assert len(report["findings"]) == len(report["rows"])
    else:
        assert devices == {validation.CHECKED}
        assert "no switch" in report["left_out"][0]["reason"]


def test_both_types_and_the_time_on_the_gpu(reports: dict[str, dict[str, Any]]) -> None:
    report = reports["dtype"]
    left_out = {each["row"] for each in report["left_out"]}

    assert {row["type"] for row in report["rows"]} == {"f32", "f16"} - left_out
    for row in report["rows"]:
        assert ("gpu_us_per_dispatch" in row) is (row["series"] == dtype.GPU)
    if dtype.GPU not in left_out:
        assert report["method"]["gpu_time"]["period_ns"] > 0


def test_every_factor_is_varied(reports: dict[str, dict[str, Any]]) -> None:
    report = reports["bindings"]

    for factor, shapes in bindings.FACTORS.items():
        levels = [row[factor] for row in report["rows"] if row["series"] == f"{factor}, single-pass"]
        missing = [each["row"] for each in report["left_out"]]
        assert levels == [level for shape in shapes if f"{factor} {(level := getattr(shape, factor))}" not in missing]


def test_the_crossover_is_a_number_or_says_why_not(reports: dict[str, dict[str, Any]]) -> None:
    (finding,) = reports["batch"]["findings"]

    assert finding["value"] is not None or "no crossing" in finding["text"]
    assert {row["series"] for row in reports["batch"]["rows"]} >= {batch.EAGER, batch.REPLAY}


def test_all_stages_of_a_graph_and_its_memory(reports: dict[str, dict[str, Any]]) -> None:
    report = reports["graph-size"]

    assert {row["series"] for row in report["rows"]} == set(graph_size.STAGES)
    assert [each["nodes"] for each in report["memory"]] == [3, 7]
    assert report["memory"][0]["packed_bytes"] < report["memory"][1]["packed_bytes"]


def test_a_device_without_validation_takes_what_is_invalid(dawn_device: Any) -> None:
    """Otherwise the two devices of `validation` would be the same."""
    from cmdgraph.backends import backend_of

    def too_many_workgroups(device: Any) -> None:
        encoder = device.create_command_encoder()
        encoder.copy_buffer_to_buffer(*(each for n in range(2) for each in (_buffer(device), 0)), 4096)
        encoder.finish()

    unchecked = backend_of(dawn_device).without_validation(dawn_device)
    with pytest.raises(Exception, match="(?i)copy|range|size"):
        too_many_workgroups(dawn_device)
    too_many_workgroups(unchecked)


def _buffer(device: Any) -> Any:
    return device.create_buffer(size=16, usage=0x4 | 0x8)


@pytest.mark.parametrize(
    ("measure", "options"),
    [
        (batch.measure, {"workgroups": (4,)}),
        (batch.measure, {"workgroups": (1, 70000)}),
        (batch.measure, {"dispatches": 3}),
        (bindings.measure, {"dispatches": 2}),
        (graph_size.measure, {"counts": (5,)}),
        (phases.measure, {"dispatches": 0}),
    ],
)
def test_options_that_make_no_sense_are_refused(measure: Any, options: dict[str, Any]) -> None:
    with pytest.raises(experiments.OptionError):
        measure(None, Plan(), **options)


def test_a_kernel_that_adds_something_else_is_not_timed(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from cmdgraph.bench import shapes

    real = shapes._code
    monkeypatch.setattr(shapes, "_code", lambda shape, pipeline: real(shape, pipeline + 1))
    with pytest.raises(MeasurementError, match="binding 0 of set 0 holds"):
        bindings.measure(device, PLAN, dispatches=16, factors={"bindings": (shapes.Shape(),)})


def test_a_batch_that_computes_something_else_is_not_timed(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "SHADER", batch.SHADER.replace("13u", "12u"))
    with pytest.raises(MeasurementError, match="1 workgroups: the result differs from numpy"):
        batch.measure(device, PLAN, **TINY["batch"])
