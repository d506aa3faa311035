"""Replays are clean under the Khronos validation layer, synchronisation included, and mistakes are noticed by it."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.native.layer import needs_layer, python
from tests.native.validated import MISTAKES

pytestmark = needs_layer

CHROMIUM = Path("/usr/lib/chromium/libVkLayer_khronos_validation.so")
DEBIAN = Path("/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json")
LAYERS = {"Debian's": DEBIAN, "Chromium's": CHROMIUM}
NOT_SEEN = {"Debian's": {"no barrier before a dispatch", "no barriers at the ends"}}
"""What the release of 2023 does not look at, or not for both implementations' shaders."""
SETTINGS = """
khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG
khronos_validation.report_flags = error
khronos_validation.log_filename = stdout
khronos_validation.enable_message_limit = false
"""
SYNCHRONISATION = {
    "Debian's": "khronos_validation.enables = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT",
    "Chromium's": "khronos_validation.validate_sync = true\n"
    "khronos_validation.syncval_submit_time_validation = true\n"
    "khronos_validation.syncval_shader_accesses_heuristic = true",
}
MANIFEST = {
    "file_format_version": "1.2.0",
    "layer": {
        "name": "VK_LAYER_KHRONOS_validation",
        "type": "GLOBAL",
        "library_path": str(CHROMIUM),
        "api_version": "1.4.300",
        "implementation_version": "1",
        "description": "Khronos validation",
    },
}


# The older one has nothing to add where the newer one is.
OLDER = pytest.param("Debian's", marks=[pytest.mark.long] if CHROMIUM.exists() else [])


@pytest.fixture(scope="module", params=["Chromium's", OLDER])
def layer(request: pytest.FixtureRequest) -> str:
    if not LAYERS[request.param].exists():
        pytest.skip(f"{LAYERS[request.param]} is not there: apt-get install vulkan-validationlayers, or chromium")
    return request.param


@pytest.fixture(scope="module", params=["wgpu", "wgpudawn"])
def told(request: pytest.FixtureRequest, layer: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The errors that the validation layer found in each section of `validated`."""
    folder = tmp_path_factory.mktemp("validation")
    (folder / "vk_layer_settings.txt").write_text(SETTINGS + SYNCHRONISATION[layer])
    place = DEBIAN.parent
    if layer == "Chromium's":
        place = folder
        (folder / "VkLayer_khronos_validation.json").write_text(json.dumps(MANIFEST))
    done = python(
        "-m",
        "tests.native.validated",
        request.param,
        VK_INSTANCE_LAYERS="VK_LAYER_KHRONOS_validation",
        VK_LAYER_PATH=str(place),
        VK_LAYER_SETTINGS_PATH=str(folder),
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    sections = re.split(r"^## (.*)$", done.stdout, flags=re.MULTILINE)[1:]
    assert sections[-2] == "end"
    found: defaultdict[str, set[str]] = defaultdict(set)
    for name, text in zip(sections[::2], sections[1::2], strict=True):
        found[name] |= set(re.findall(r"Validation Error: \[ (\S+) \]", text))
    return found


def test_replays_are_clean(told: dict[str, set[str]]) -> None:
    assert told["right"] == set()


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_noticed(told: dict[str, set[str]], layer: str, mistake: str) -> None:
    if mistake in NOT_SEEN.get(layer, ()):
        pytest.skip("the validation layer is too old")
    found = told[mistake] - told["right"]
    expected = "VUID-vkQueueSubmit-pCommandBuffers-00071" if mistake == "no SIMULTANEOUS_USE" else "SYNC-HAZARD"
    assert any(name.startswith(expected) for name in found), found
