"""The command as users run it: output, exit codes, one line for each error."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from llm.golden import golden_prompts
from tests.llm import tiny

COMMAND = [sys.executable, "-m", "llm"]
SHORT = "The capital of France is"


@pytest.fixture(scope="module")
def tiny_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny.write_model(tmp_path_factory.mktemp("model") / "tiny.gguf", tiny.LLAMA))


@pytest.mark.parametrize("strategy", ["eager", "per-op", "single-pass"])
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
    result = _run("bench", "--model", tiny_path, "--tokens", "4", "-o", "json")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert [row["strategy"] for row in report["rows"]] == ["eager", "per-op", "single-pass"]
    assert "\r" not in result.stderr
    assert "token 4 of 4" in result.stderr


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


def test_help() -> None:
    result = _run("--help")
    assert result.returncode == 0
    for command in ("generate", "bench", "demo", "fetch"):
        assert command in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["generate", "Hi", "--model", "none.gguf"], "no model file at none.gguf"),
        (["generate", "Hi", "--model", __file__], "not a GGUF file"),
        (["generate"], "Missing argument 'PROMPT'"),
        (["generate", "Hi", "--tokens", "0"], "0 is not in the range x>=1"),
        (["generate", "Hi", "--strategy", "fast"], "'fast' is not one of"),
        (["bench", "--strategies", "eager,fast"], "no strategy 'fast'; there are: eager, per-op, single-pass"),
        (["bench", "--plan", "best"], "'best' is not"),
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
    command = [*COMMAND, "bench", "--model", tiny_path, "--tokens", "40", "--strategies", "eager"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "token" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        out, err = process.communicate(timeout=60)
    assert time.monotonic() - start < 30
    assert process.returncode == 130
    assert out == ""
    assert err.endswith("error: interrupted\n")
    assert "Traceback" not in err


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=120, check=False)


def _assert_refused(result: subprocess.CompletedProcess[str], words: str) -> None:
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1, result.stderr
    assert result.stderr.startswith("error: ")
    assert words in result.stderr
