"""The report as a reader gets it: one page that needs nothing, with every figure from the files, and marked doubts."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from cmdgraph.bench import results
from cmdgraph.bench.report import make
from cmdgraph.bench.results import Report, ResultError
from tests.bench.report import made


def _made(folder: Path, mix: bool = False, **reports: Report) -> tuple[str, str]:
    """The page and the Markdown."""
    make(made.put(folder / "results", **reports), folder / "out", mix=mix)
    return tuple((folder / "out" / name).read_text() for name in ("report.html", "report.md"))  # type: ignore[return-value]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A report of a GPU and a software adapter."""
    folder = tmp_path_factory.mktemp("report")
    software = made.strategies(**made.SOFTWARE)
    page, text = _made(folder, gpu=made.strategies(), cpu=software, llm=made.decode(), single=made.dispatch())
    return folder / "out", page, text


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.ids += [value for key, value in attrs if key == "id" and value]
        if tag in ("script", "img", "link", "iframe", "object"):
            self.loaded.append(tag)
        self.loaded += [value for key, value in attrs if key in ("src", "xlink:href") and value and value[0] != "#"]
        if tag == "a" and (named.get("href") or "")[:1] == "#":
            self.loaded += [] if named["href"] else ["empty link"]


def test_the_page_loads_nothing_and_names_are_unique(both: tuple[Path, str, str]) -> None:
    links = _Links()
    links.feed(both[1])

    assert links.loaded == []
    assert "@import" not in both[1]
    assert not re.search(r"url\((?!#)", both[1])
    assert len(links.ids) == len(set(links.ids))


def test_every_plot_is_in_the_page_and_beside_the_text(both: tuple[Path, str, str]) -> None:
    out, page, text = both
    named = re.findall(r"!\[[^\]]+\]\((plots/[\w-]+\.svg)\)", text)

    assert {"plots/strategies.svg", "plots/dispatch.svg", "plots/decode-1.svg", "plots/fusion-1.svg"} <= set(named)
    assert sorted(named) == sorted(str(path.relative_to(out)) for path in out.glob("plots/*"))
    assert page.count("<svg") == len(named)
    assert page.count('role="img" aria-label="') == len(named)
    for name in named:
        assert "prefers-color-scheme: dark" in (out / name).read_text()


def test_figures_come_from_the_files(tmp_path: Path) -> None:
    page, text = _made(tmp_path, one=made.strategies(eager=43.21, replay=0.1234))

    for figure in ("43.2", "0.123", "350x (315–385)"):
        assert figure in page
        assert figure in text


@pytest.mark.parametrize(
    ("report", "sentence"),
    [
        (made.strategies(), "100x (90.0–110) less"),
        (made.strategies(replay=80.0, per_op=90.0), "which is more"),
        (made.strategies(replay=40.0, per_op=90.0), "no difference that could be measured"),
        (made.strategies(replay=80.0, per_op=90.0), "does not help"),
        (made.dispatch(8.0), "single timing is 8.00x too high"),
        (made.dispatch(0.5), "single timing does not mislead here"),
        (made.dtype(), "costs the caller what f32 costs"),
        (made.dtype(2.0), "does **not** cost the caller what f32 costs"),
    ],
)
def test_sentences_have_a_branch_for_each_outcome(tmp_path: Path, report: Report, sentence: str) -> None:
    assert sentence in _made(tmp_path, one=report)[1]


def test_the_extension_is_kept_apart_from_what_there_is_today(tmp_path: Path) -> None:
    report = made.strategies(replay=0.5)
    report["rows"].append({**report["rows"][-1], "name": "native", "host_cpu_us_per_dispatch": made.figure(0.02)})
    text = _made(tmp_path, one=report)[1]

    assert "from 40.0 to 0.500 us of the caller's CPU time" in text
    assert "Natively, as an extension could, it takes 0.0200 us of caller CPU by `native`" in text


def test_what_only_the_extension_gives_is_told_by_what_was_measured(tmp_path: Path) -> None:
    text = _made(tmp_path, one=made.native())[1]

    assert "costs the host 1,530 us today, on two threads, and 81.0 us natively" in text
    assert re.search(r"as recorded \(back to back\):\*\* 1\.11x \(.*\) faster\. Where encoding", text)
    assert re.search(r"2\.00x \(.*\) against barriers as recorded", text)
    assert "no result has rows of the native layer" not in text


def test_without_native_rows_the_extension_is_not_measured(tmp_path: Path) -> None:
    assert "no result has rows of the native layer" in _made(tmp_path, one=made.strategies())[1]


@pytest.mark.parametrize(
    ("needed", "sentence"), [(0.9, "against barriers as recorded"), (1.8, "no further difference")]
)
def test_barriers_that_gain_nothing_are_told(tmp_path: Path, needed: float, sentence: str) -> None:
    assert sentence in _made(tmp_path, one=made.native(needed=needed))[1]


@pytest.mark.parametrize(("native", "reason"), [(26.0, "not milliseconds"), (40.0, "on the critical path")])
def test_a_model_that_gains_nothing_natively_says_why(tmp_path: Path, native: float, reason: str) -> None:
    report = made.decode()
    row = next(row for row in report["rows"] if row["name"] == "unfused/prerecorded")
    row["tokens_per_s"] = made.figure(25.5, "tokens/s")
    report["rows"].append(
        {**row, "name": "unfused/native", "strategy": "native", "tokens_per_s": made.figure(native, "tokens/s")}
    )

    assert reason in _made(tmp_path, one=report)[1]


def test_layers_of_a_browser_are_told_apart(tmp_path: Path) -> None:
    dawn = {"implementation": {"name": "Dawn", "version": "1"}, "adapter": "SwiftShader Device"}
    dawn = made.strategies(**{**made.SOFTWARE, **dawn})
    text = _made(tmp_path, browser=made.bundles(), dawn=dawn, gpu=made.native())[1]
    cells = {line.split("|")[1].strip(): line for line in text.splitlines() if line.startswith("|")}

    assert "1.70" in cells["wire: to the GPU process and read there"]  # 3.0 and 0.1 less the 1.4 of plain Dawn
    assert "0.200" in cells["JavaScript"]
    assert "1.50" in cells["GPU idle"]  # wall time of the best portable replay, 2.0, less 0.5 on the GPU
    assert "works 15.0 times as long as JavaScript does" in text


def test_a_layer_that_one_of_two_chains_has_is_told(tmp_path: Path) -> None:
    scattered = {**made.native(needed=0.9), "workload": {"links": "scattered"}}
    text = _made(tmp_path, chain=made.strategies(), scattered=scattered)[1]
    (line,) = [line for line in text.splitlines() if line.startswith("| left on the caller when nothing is encoded")]

    assert "| 0.0900 |" in re.sub(" +", " ", line)


def test_two_kinds_of_chain_in_one_browser_are_told_apart(tmp_path: Path) -> None:
    blocks = {**made.bundles(bundle=0.1), "workload": {"pattern": "blocks"}}
    text = _made(tmp_path, turns=made.bundles(bundle=0.3), blocks=blocks)[1]
    rows = [line for line in text.splitlines() if "Chromium; pipelines in" in line and line.startswith("|")]

    assert [row.split("|")[1].strip() for row in rows] == [
        f"swiftshader (software adapter), Chromium; pipelines in {how}" for how in ("turn", "blocks")
    ]
    assert "pipelines in blocks:** a dispatch costs 20.0 us" in text


def test_a_software_adapter_is_marked_wherever_its_figures_are(both: tuple[Path, str, str]) -> None:
    text = both[2]
    captions = re.findall(r"^\*.*llvmpipe.*\*$", text, re.MULTILINE)

    assert len(captions) >= 4
    assert all("**software adapter** llvmpipe" in caption for caption in captions)
    assert "llvmpipe (software adapter), wgpu-native" in text
    assert "**Software adapter:**" in text
    assert "**No GPU:**" not in text


def test_a_report_without_a_gpu_says_so_at_the_top(tmp_path: Path) -> None:
    text = _made(tmp_path, one=made.strategies(**made.SOFTWARE))[1]

    assert text.index("Software adapter only") < text.index("## The question")


def test_doubts_are_told(tmp_path: Path) -> None:
    noisy = {**made.dtype(dirty=True), "interrupted": True, "noise": ["the machine was busy"]}
    older = made.strategies(eager=80.0, date="2026-01-01T00:00:00+00:00", commit="d" * 40)
    text = _made(tmp_path, mix=True, new=made.strategies(), old=older, noisy=noisy)[1]

    for doubt in (
        "**Not one clean commit:**", "**Changed files:** the checkout was not clean for `noisy.json`",
        "**Interrupted:** fewer samples than wanted in `noisy.json`", "the machine was busy",
        "**Measured 2 times:**", "80.0 and 40.0 us a dispatch, 2.00x apart",
    ):  # fmt: skip
        assert doubt in text


def test_platforms_that_nobody_measured_are_named(both: tuple[Path, str, str]) -> None:
    rows = [[cell.strip() for cell in line.split("|")[1:3]] for line in both[2].splitlines() if line.startswith("|")]

    for platform in ("AMD, Vulkan", "Intel, Vulkan", "Apple, Metal", "Windows, D3D12", "Chromium"):
        assert [platform, "not measured"] in rows
    assert ["NVIDIA, Vulkan", "measured"] in rows


def test_what_a_file_says_is_text_and_no_markup(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script> [x](http://evil.example) **bold** `code` | cell"
    page, text = _made(tmp_path, one=made.strategies(adapter=evil, driver=evil, command=evil, cpu=evil))

    assert "<script" not in page
    assert "evil.example)</a>" not in page
    assert 'href="http://evil' not in page
    assert "<strong>bold" not in page
    assert "alert(1)" in page
    assert all(line.count("|") - line.count("\\|") >= 3 for line in text.splitlines() if line.startswith("|"))


def test_dispatches_and_texts_of_a_model_are_swept(tmp_path: Path) -> None:
    text = _made(tmp_path, count=made.count(), batch=made.decode_batch())[1]
    assert "one more dispatch that does nothing costs 40.0 us by `eager`" in text
    assert "from 12 texts at once on it ends" in text
    assert {path.name for path in (tmp_path / "out" / "plots").iterdir()} == {"count.svg", "decode-batch.svg"}
    again = _made(tmp_path, count=made.count(0.5), batch=made.decode_batch(None))[1]
    assert "costs by `eager` too little to be told from noise" in again
    assert "no crossing" in again


def test_fusing_is_told_of_by_either_experiment(tmp_path: Path) -> None:
    mine = {**made.decode(), "experiment": "fusion", "torch": []}
    text = _made(tmp_path, fusion=mine)[1]
    assert "## Fewer dispatches" in text
    assert "Also measured" not in text


def test_an_experiment_without_a_section_is_shown_all_the_same(tmp_path: Path) -> None:
    rows = [{"name": "a", "wall_us_per_thing": made.figure(123.0)}]
    text = _made(tmp_path, one=made.report("brand-new", rows, {}, findings=[made.finding("x", 1.0, "it works")]))[1]

    assert "## Also measured: brand-new" in text
    assert "wall us a thing" in text
    assert "it works." in text


def test_a_row_without_its_figure_is_refused_with_its_name(tmp_path: Path) -> None:
    report = made.strategies()
    del report["rows"][1]["wall_us_per_dispatch"]

    with pytest.raises(ResultError, match="one.json: strategies: row 'single-pass-public' has no figure 'wall_us_"):
        _made(tmp_path, one=report)
    assert not (tmp_path / "out").exists()


def test_the_same_results_make_the_same_bytes(tmp_path: Path) -> None:
    source = made.put(tmp_path / "results", one=made.strategies(), two=made.dispatch())
    first, second = (make(source, tmp_path / name) for name in ("a", "b"))

    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_a_place_that_cannot_be_written_is_told_and_left_alone(tmp_path: Path) -> None:
    source = made.put(tmp_path / "results", one=made.strategies())
    (tmp_path / "file").write_text("mine")

    for target in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/report")):
        with pytest.raises(ResultError, match="cannot write the report into"):
            make(source, target)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_failed_write_leaves_the_report_that_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = made.put(tmp_path / "results", one=made.strategies())
    before = {path: path.read_bytes() for path in make(source, tmp_path / "out")}
    results.write(made.strategies(eager=99.0), source / "one.json")
    write = Path.write_text

    def full(path: Path, *arguments: Any, **named: Any) -> int:
        if path.name == "report.md":
            raise OSError(28, "No space left on device")
        return write(path, *arguments, **named)

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(ResultError, match="No space left on device"):
        make(source, tmp_path / "out")

    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()} == before
