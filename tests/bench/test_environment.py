"""What a report says about where it was made."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from cmdgraph.bench import environment


def _adapter(kind: str) -> SimpleNamespace:
    info = {"device": "Card", "vendor": "Maker", "description": "driver 1.2", "backend_type": "Vulkan"}
    return SimpleNamespace(info={**info, "adapter_type": kind})


@pytest.mark.parametrize(("kind", "software"), [("CPU", True), ("DiscreteGPU", False)])
def test_a_software_adapter_is_marked(kind: str, software: bool) -> None:
    facts = environment.adapter_facts(_adapter(kind))

    assert facts["software_adapter"] is software
    assert (facts["adapter"], facts["driver"], facts["backend"]) == ("Card", "driver 1.2", "Vulkan")


def test_the_commit_and_whether_files_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    assert environment.commit() == (None, None)

    def git(*arguments: str) -> None:
        who = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.com"]
        subprocess.run(["git", "-C", str(tmp_path), *who, *arguments], check=True, capture_output=True)

    git("init")
    assert environment.commit() == (None, None)
    git("commit", "--allow-empty", "-m", "first")
    commit, dirty = environment.commit()
    assert len(commit or "") == 40
    assert dirty is False

    (tmp_path / "new").touch()
    assert environment.commit() == (commit, True)


def test_a_package_that_is_not_installed_has_no_version() -> None:
    assert environment.package_version("numpy")
    assert environment.package_version("no-such-package-at-all") is None


def test_the_machine_has_names() -> None:
    assert environment._cpu_name()
    assert environment._os_name()
