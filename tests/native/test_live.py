"""Runs, with the layer on, what needs it: each suite in a process of its own."""

from __future__ import annotations

import json

import pytest

from tests.native.layer import needs_layer, python

pytestmark = needs_layer

SUITES = {
    "the layer": ["tests/native/live"],
    "strategies": ["tests/replay", "-k", "c-native]"],
    "changes": ["tests/test_graph.py", "-k", "c-native]"],
}
PROPERTIES = ("machine", "injection")


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_holds_over_native_replays(suite: str) -> None:
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *SUITES[suite])
    assert done.returncode == 0, done.stdout[-8000:]
    assert " passed" in done.stdout


@pytest.mark.long
def test_acceptance_cases_hold_over_native_replays() -> None:
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "tests/test_acceptance.py")
    assert done.returncode == 0, done.stdout[-8000:]


@pytest.mark.long
def test_random_programs_are_right_to_the_bit(dawn_device: object) -> None:
    done = python("-m", "tests.fuzz", "--count", "2000", "--seed", "7", "--strategy", "native")
    report = json.loads(done.stdout)
    assert (done.returncode, report["new_findings"]) == (0, [])
    assert all(count > 500 for count in report["replays_without_encoding"].values())


@pytest.mark.parametrize("package", ["wgpu", "wgpudawn"])
def test_graphs_follow_the_model_whatever_happens(package: str, dawn_device: object) -> None:
    done = python("-m", "tests.properties.machine", package, "15", "native")
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-6000:]}"


@pytest.mark.parametrize("package", ["wgpu", "wgpudawn"])
def test_an_event_at_every_point_gives_the_right_error(package: str, dawn_device: object) -> None:
    done = python("-W", "ignore", "-m", "tests.properties.injection", package, "native")
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-6000:]}"


@pytest.mark.long
@pytest.mark.parametrize("driver", ["/usr/lib/chromium/vk_swiftshader_icd.json"])
@pytest.mark.parametrize("package", ["wgpu", "wgpudawn"])
def test_another_driver_does_the_same(package: str, driver: str) -> None:
    from pathlib import Path

    if not Path(driver).exists():
        pytest.skip("no SwiftShader: it comes with Debian's chromium")
    done = python("-m", "tests.properties.machine", package, "100", "native", VK_DRIVER_FILES=driver)
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-6000:]}"


@pytest.mark.parametrize("package", ["wgpu", "wgpudawn"])
def test_a_process_ends_while_replays_are_under_way(package: str, dawn_device: object) -> None:
    program = f"""
import {package}
from tests.kit import INC, Kit, captured, open_device
from tests.native.live.test_lifetime import SPIN

kit = Kit(open_device("{package}"))
graph = captured(kit.device, kit.call(SPIN, kit.buffer([0, 0, 0, 0])))
graph.strategy = "native"
for _ in range(6):
    graph.replay(times=3)
assert graph.stats.ahead == 17
print("ends")
"""
    done = python("-c", program)
    assert (done.returncode, done.stdout.strip()) == (0, "ends"), done.stderr[-3000:]
