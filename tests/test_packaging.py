"""What `pip install .` gives: `cmdgraph` and nothing else; the walker too where there is a compiler."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "cmdgraph")
BUILT = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd", "_walker.c", "_phases.c", "*.egg-info")


def _can_compile() -> bool:
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")
    return compiler is not None and Path(sysconfig.get_path("include"), "Python.h").exists()


def _build(folder: Path, **variables: str) -> Path:
    """A wheel from a copy of the sources, so that nothing is left in the checkout."""
    source = folder / "source"
    source.mkdir()
    for name in SOURCES:
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, source / name, ignore=BUILT)
        elif path.exists():
            shutil.copy(path, source)
    # Without isolation: what building needs is in the development environment, and no network is asked.
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "--no-index"]
    subprocess.run([*command, "-w", str(folder), str(source)], check=True, env={**os.environ, **variables})
    (wheel,) = folder.glob("*.whl")
    return wheel


def _install(wheel: Path, folder: Path) -> Path:
    """An environment with the wheel in it; its dependencies are seen in the development environment."""
    builder = venv.EnvBuilder(with_pip=False)
    builder.create(folder)
    python = folder / "bin" / "python"
    command = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "-q",
        "--no-deps",
        "--no-index",
    ]
    subprocess.run([*command, str(wheel)], check=True)
    here = _ask(python, "import sysconfig; print(sysconfig.get_path('purelib'))")
    # Only what lies in that folder is seen this way; a checkout installed there for development is not.
    Path(here, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def _ask(python: Path, program: str) -> str:
    result = subprocess.run(
        [str(python), "-I", "-c", program], capture_output=True, text=True, check=True, cwd=python.parent
    )
    return result.stdout.strip()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def wheel_without_compiler(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _build(tmp_path_factory.mktemp("pure"), CC="/bin/false")


def test_the_wheel_holds_the_package_alone(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    packages = {str(path.parent.relative_to(ROOT)) for path in (ROOT / "cmdgraph").rglob("__init__.py")}

    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {"cmdgraph"}
    assert {name.rpartition("/")[0] for name in names if name.endswith("/__init__.py")} == packages
    assert not [name for name in names if name.endswith((".c", ".h"))]
    assert "cmdgraph/py.typed" in names
    parts = {
        path for path in (ROOT / "cmdgraph" / "view" / "page").iterdir() if path.suffix in (".html", ".css", ".js")
    }
    assert parts
    assert {str(path.relative_to(ROOT)) for path in parts} <= set(names)


def test_the_wheel_has_the_walker_for_every_later_python(wheel: Path) -> None:
    if not _can_compile():
        pytest.skip("no C compiler with Python headers")
    assert "-cp311-abi3-" in wheel.name
    assert sorted(name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".so")) == [
        "cmdgraph/bench/_phases.abi3.so",
        "cmdgraph/replay/_walker.abi3.so",
    ]


def test_without_a_compiler_the_wheel_builds_without_the_walker(wheel_without_compiler: Path) -> None:
    assert not [name for name in zipfile.ZipFile(wheel_without_compiler).namelist() if name.endswith(".so")]


def test_the_wheel_works_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    python = _install(wheel, tmp_path / "env")

    assert _ask(python, "import cmdgraph; print(cmdgraph.__file__)").startswith(str(tmp_path))
    assert _info(python)["walker"]["available"] is _can_compile()


def test_the_wheel_without_the_walker_works_and_says_so(wheel_without_compiler: Path, tmp_path: Path) -> None:
    python = _install(wheel_without_compiler, tmp_path / "env")
    walker = _info(python)["walker"]

    assert walker["available"] is False
    assert walker["why_absent"]


def _info(python: Path) -> dict:
    """What `cmdgraph info` tells; it fails where there is no GPU, but tells all the same."""
    command = [str(python.with_name("cmdgraph")), "info", "-o", "json"]
    # A PYTHONPATH would put the checkout before the installed wheel.
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=python.parent, env=plain)
    assert result.returncode in (0, 1), result.stderr
    return json.loads(result.stdout)
