"""Fixtures for all tests: one device of each implementation, and the acceptance kernels on it."""

from __future__ import annotations

import os
import tempfile
from typing import Any

os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())  # Mesa warns without it, and warnings are errors here

import pytest

import cmdgraph  # noqa: F401 - before any pipeline or bind group is made
from cmdgraph.replay import walker
from tests.kit import STRATEGIES, WALKERS, Kit


@pytest.fixture(scope="session")
def device() -> Any:
    """A device of wgpu-native."""
    import wgpu

    return wgpu.gpu.request_adapter_sync(power_preference="high-performance").request_device_sync()


@pytest.fixture(scope="session")
def dawn_device() -> Any:
    """A device of Dawn; skips where wgpudawn is not installed or finds no adapter it takes."""
    wgpudawn = pytest.importorskip("wgpudawn")
    try:
        adapter = wgpudawn.gpu.request_adapter_sync()
    except RuntimeError as error:
        pytest.skip(f"Dawn finds no adapter: {error}")
    return adapter.request_device_sync()


@pytest.fixture(params=["wgpu-native", "dawn"])
def any_device(request: pytest.FixtureRequest) -> Any:
    """The same test on both implementations."""
    return request.getfixturevalue("device" if request.param == "wgpu-native" else "dawn_device")


@pytest.fixture(scope="session")
def kits() -> dict[int, Kit]:
    """One kit for each device, so that a kernel is compiled once."""
    return {}


@pytest.fixture
def kit(any_device: Any, kits: dict[int, Kit]) -> Kit:
    """Kernels and naive calls on each implementation's device."""
    return kits.setdefault(id(any_device), Kit(any_device))


@pytest.fixture
def native(device: Any, kits: dict[int, Kit]) -> Kit:
    """Kernels and naive calls on wgpu-native's device, for what does not depend on the implementation."""
    return kits.setdefault(id(device), Kit(device))


@pytest.fixture(params=WALKERS)
def walking(request: pytest.FixtureRequest) -> str:
    """The name of each walker; skips the compiled one where it is absent."""
    if request.param == "c" and not walker.available():
        pytest.skip(f"the C walker is absent: {walker.why_absent()}")
    return request.param


@pytest.fixture(params=STRATEGIES)
def strategy(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def way(walking: str, strategy: str) -> tuple[str, str]:
    """Each walker with each strategy."""
    return walking, strategy


@pytest.fixture(params=["wgpu", "wgpudawn"])
def package(request: pytest.FixtureRequest) -> str:
    """The package of each implementation, for code that opens its own device."""
    if request.param == "wgpudawn":
        request.getfixturevalue("dawn_device")
    return request.param
