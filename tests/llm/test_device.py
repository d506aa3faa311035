"""Opening a device, and machines where that fails."""

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from llm import device as llm_device
from llm.device import kernels_for, open_device, subgroup_size
from llm.errors import DeviceError


def test_limits_are_the_adapters() -> None:
    device = open_device()
    for name in llm_device.WANTED_LIMITS:
        assert device.limits[name] == device.adapter.limits[name]


@pytest.mark.parametrize(("kind", "kernels"), [("CPU", "cpu"), ("DiscreteGPU", "gpu"), ("IntegratedGPU", "gpu")])
def test_kernels_follow_the_adapter(kind: str, kernels: str) -> None:
    device = SimpleNamespace(adapter=SimpleNamespace(info={"adapter_type": kind}), features=set())
    assert kernels_for(device) == kernels


def test_subgroups_are_found_and_tested() -> None:
    device = open_device()
    has = any(name in device.features for name in llm_device.SUBGROUP_FEATURES)
    assert (subgroup_size(device) > 0) == has


def test_no_subgroups_without_the_feature(device: Any) -> None:
    assert subgroup_size(device) == 0


def test_no_driver() -> None:
    result = _run_without_driver()
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("error: no WebGPU adapter: install a Vulkan driver")


@pytest.mark.parametrize("adapter", [None, SimpleNamespace(info={"backend_type": "OpenGL"})], ids=["none", "OpenGL"])
def test_no_adapter(monkeypatch: pytest.MonkeyPatch, adapter: Any) -> None:
    monkeypatch.setattr(llm_device.wgpu.gpu, "request_adapter_sync", lambda **_: adapter)
    with pytest.raises(DeviceError, match="no WebGPU adapter"):
        open_device()


def test_adapter_without_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: Any) -> None:
        raise RuntimeError("lost\nsecond line")

    limits = dict.fromkeys(llm_device.WANTED_LIMITS, 1)
    info = {"device": "toaster", "backend_type": "Vulkan"}
    adapter = SimpleNamespace(limits=limits, info=info, features=set(), request_device_sync=refuse)
    monkeypatch.setattr(llm_device.wgpu.gpu, "request_adapter_sync", lambda **_: adapter)
    with pytest.raises(DeviceError, match=r"'toaster' gives no device: lost$"):
        open_device()


def _run_without_driver() -> subprocess.CompletedProcess[str]:
    hidden = {"VK_DRIVER_FILES": os.devnull, "VK_ICD_FILENAMES": os.devnull}
    command = [sys.executable, "-m", "llm", "demo", "--tokens", "1"]
    return subprocess.run(command, env=os.environ | hidden, capture_output=True, text=True, timeout=120, check=False)
