"""The command as users run it: output, exit codes, one line for each error."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cmdgraph.bench import results
from llm.golden import golden_prompts
from tests.llm import tiny

COMMAND = [sys.executable, "-m", "llm"]
SHORT = "The capital of France is"


@pytest.fixture(scope="module")
def tiny_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny.write_model(tmp_path_factory.mktemp("model") / "tiny.gguf", tiny.LLAMA))


@pytest.mark.parametrize("strategy", ["eager", "per-op", "prerecorded"])
def test_generate(tiny_path: str, strategy: str) -> None:
    result = _run("generate", "Hi", "--no-chat", "--tokens", "6", "--model", tiny_path, "--strategy", strategy)
    assert result.returncode == 0, result.stderr
    assert result.stdout == _run("generate", "Hi", "--no-chat", "--tokens", "6", "--model", tiny_path).stdout
    assert len(result.stdout) > 1
    assert result.stderr.count("\n") == 1
    assert "stopped by: length" in result.stderr


@pytest.mark.usefixtures("model_path")
def test_generate_with_the_real_model() -> None:
    result = _run("generate", SHORT, "--no-chat", "--tokens", "3")
    assert result.returncode == 0, result.stderr
    assert golden_prompts("smollm2-135m")["p1"].greedy_text.startswith(result.stdout.rstrip("\n"))
    assert "Paris" in result.stdout


def test_bench_prints_one_json_document(tiny_path: str) -> None:
    result = _run(
        "bench", "--model", tiny_path, "--strategies", "single-pass", "--tokens", "4", "--prefill", "9", "-o", "json"
    )
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert [row["strategy"] for row in report["rows"]] == ["single-pass"] * 3
    assert [row["plan"] for row in report["rows"]] == ["unfused", "paper", "fused"]
    assert "\r" not in result.stderr
    assert "round 3 of 3" in result.stderr


def test_an_experiment_writes_a_file_too(tiny_path: str, tmp_path: Path) -> None:
    path = tmp_path / "fusion.json"
    arguments = ["--strategies", "eager", "--tokens", "3", "-r", "2", "--quiet", "-o", "csv", "--file", str(path)]
    result = _run("fusion", "--model", tiny_path, *arguments)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("experiment,adapter")
    assert results.read(path)["experiment"] == "fusion"
    refused = _run("fusion", "--model", tiny_path, "--file", str(tmp_path / "no" / "x.json"))
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "cannot write" in refused.stderr


def test_demo(tiny_path: str) -> None:
    result = _run("demo", "--tokens", "4", "--model", tiny_path)
    assert result.returncode == 0, result.stderr
    for words in ("submits a token", "host CPU us a dispatch", "ms a token", "| same tokens"):
        assert words in result.stdout
    assert " yes " in result.stdout


def test_demo_too_short_to_time(tiny_path: str) -> None:
    result = _run("demo", "--tokens", "1", "--model", tiny_path)
    assert result.returncode == 0, result.stderr
    assert "nan" in result.stdout


def test_generate_draws_the_same_text_from_the_same_seed(tiny_path: str) -> None:
    def draw(seed: str) -> str:
        arguments = ["--temperature", "2", "--top-k", "50", "--top-p", "0.95", "--seed", seed, "--model", tiny_path]
        result = _run("generate", "Hi", "--no-chat", "--tokens", "12", "--steps-per-submit", "4", *arguments)
        assert result.returncode == 0, result.stderr
        return result.stdout

    assert draw("1") == draw("1") != draw("2")


def test_several_texts_at_once(tiny_path: str) -> None:
    """Text k is the one of the k-th seed, whoever stops first."""
    common = ["generate", "Hi", "--no-chat", "--tokens", "8", "--temperature", "2", "--model", tiny_path]
    together = _run(*common, "--seed", "4", "--batch", "2")
    assert together.returncode == 0, together.stderr
    first, second = (_run(*common, "--seed", seed).stdout for seed in ("4", "5"))
    assert together.stdout == f"{first}\n--- seed 5 ---\n{second}"
    _assert_refused(_run(*common, "--plan", "paper", "--batch", "2"), "go with the plan 'fused', not with 'paper'")


@pytest.mark.usefixtures("model_path")
def test_check_with_the_real_model() -> None:
    result = _run("check", "--plan", "fused", "--tokens", "3")
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("ok ") == 3


def test_check_without_golden_values(tiny_path: str) -> None:
    _assert_refused(_run("check", "--model", tiny_path), "there are no golden values for tiny llama")


def test_help() -> None:
    result = _run("--help")
    assert result.returncode == 0
    for command in ("generate", "bench", "check", "tune", "demo", "fetch", "fusion", "count", "kernel", "batch"):
        assert command in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["generate", "Hi", "--model", "none.gguf"], "no model file at none.gguf"),
        (["generate", "Hi", "--model", __file__], "not a GGUF file"),
        (["generate"], "Missing argument 'PROMPT'"),
        (["generate", "Hi", "--tokens", "0"], "0 is not in the range x>=1"),
        (["generate", "Hi", "--strategy", "fast"], "'fast' is not one of"),
        (
            ["bench", "--strategies", "eager,fast"],
            "no strategy 'fast'; there are: eager, per-op, single-pass, prerecorded",
        ),
        (["count", "--counts", "5"], "counts: needs two different numbers, got 5 only"),
        (["batch", "--batches", "1,x"], "'1,x' is no list of whole numbers with commas between them"),
        (["kernel", "-o", "xml"], "'xml' is not one of"),
        (["bench", "--plan", "best"], "no plan 'best'; there are: unfused, paper, fused"),
        (["generate", "Hi", "--temperature", "-1"], "--temperature -1.0: a number 0 or more is needed"),
        (["generate", "Hi", "--temperature", "nan"], "--temperature nan: a number 0 or more is needed"),
        (["generate", "Hi", "--temperature", "1", "--top-p", "0"], "--top-p 0.0: a number above 0 and at most 1"),
        (["generate", "Hi", "--top-k", "5"], "give a --temperature above 0"),
        (["generate", "Hi", "--weights", "x"], "--weights goes with a preset"),
        (["generate", "Hi", "--dtype", "int3"], "'int3' is not one of"),
        (["train"], "No such command 'train'"),
    ],
    ids=lambda value: " ".join(value)[:30] if isinstance(value, list) else "",
)
def test_bad_input(arguments: list[str], words: str) -> None:
    _assert_refused(_run(*arguments), words)


def test_prompt_longer_than_the_context(tiny_path: str) -> None:
    result = _run("generate", "x" * 20, "--no-chat", "--context", "8", "--model", tiny_path)
    _assert_refused(result, "20 tokens, but the context holds 8")


def test_truncated_model(tiny_path: str, tmp_path: Path) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(Path(tiny_path).read_bytes()[:-4000])
    _assert_refused(_run("generate", "Hi", "--model", str(path)), "the file is truncated: tensor")


def test_closed_pipe(tiny_path: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [*COMMAND, "generate", "Hi", "--no-chat", "--tokens", "30", "--model", tiny_path]
    try:
        result = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, timeout=120, check=False)
    finally:
        os.close(writer)
    assert result.returncode == 1
    assert result.stderr == b""


def test_interrupt(tiny_path: str) -> None:
    """The rounds that are done are kept."""
    command = [*COMMAND, "bench", "--model", tiny_path, "--tokens", "9", "--prefill", "0", "-r", "4000", "-o", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "round" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        out, err = process.communicate(timeout=60)
    assert time.monotonic() - start < 30
    assert process.returncode == 130
    report = json.loads(out)
    assert report["interrupted"]
    assert 0 < report["method"]["rounds"] < 4000
    assert all(len(row["tokens_per_s"]["samples"]) == report["method"]["rounds"] for row in report["rows"])
    assert err.endswith(f"interrupted after {report['method']['rounds']} of 4000 rounds; the samples so far are kept\n")
    assert "Traceback" not in err


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=120, check=False)


def _assert_refused(result: subprocess.CompletedProcess[str], words: str) -> None:
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1, result.stderr
    assert result.stderr.startswith("error: ")
    assert words in result.stderr
