"""Building the layer: what it is made from, and the words when something is missing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cmdgraph.errors import NativeError
from cmdgraph.native import build as building
from cmdgraph.native.places import LAYER

HEADER = """
#define VK_HEADER_VERSION 321
#define VK_HEADER_VERSION_COMPLETE VK_MAKE_API_VERSION(0, 1, 4, VK_HEADER_VERSION)
typedef void (VKAPI_PTR *PFN_vkCmdDispatch)(VkCommandBuffer commandBuffer, uint32_t groupCountX);
typedef void (VKAPI_PTR *PFN_vkCmdSetBlendConstants)(VkCommandBuffer commandBuffer, const float blendConstants[4]);
typedef VkResult (VKAPI_PTR *PFN_vkCmdSetMarkerINTEL)(VkCommandBuffer commandBuffer, const VkInfo* pInfo);
typedef void (VKAPI_PTR *PFN_vkCmdCopyImage2)(VkCommandBuffer commandBuffer, const VkCopyImageInfo2* pInfo);
typedef void (VKAPI_PTR *PFN_vkCmdBeginDebugUtilsLabelEXT)(VkCommandBuffer commandBuffer, const VkLabel* pLabel);
"""


def _can_build() -> bool:
    try:
        building._header(building._compiler())
    except NativeError:
        return False
    return True


CC = shutil.which("cc") or shutil.which("gcc")


def test_every_command_that_no_graph_can_hold_is_watched() -> None:
    found = building._other_commands(HEADER)

    assert [name for _, name, _ in found] == ["CmdSetBlendConstants", "CmdSetMarkerINTEL", "CmdCopyImage2"]
    assert building._list(found).count(" X(") == 3


def test_a_watching_function_forwards_everything() -> None:
    text = building._functions(building._other_commands(HEADER))

    assert "->next.CmdSetBlendConstants(commandBuffer, blendConstants);" in text
    assert "return cg_device_of(commandBuffer)->next.CmdSetMarkerINTEL(commandBuffer, pInfo);" in text
    assert 'cg_refuse_command(commandBuffer, "vkCmdCopyImage2");' in text
    assert text.count("cg_wrote") == 1  # copies wait for the next submit; the others do not


def test_the_manifest_names_the_version_of_the_header() -> None:
    layer = building._manifest(HEADER)["layer"]

    assert isinstance(layer, dict)
    assert (layer["name"], layer["api_version"]) == (LAYER, "1.4.321")


@pytest.mark.skipif(not _can_build(), reason="no C compiler or no Vulkan headers")
def test_it_builds_without_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = building.build(tmp_path)

    assert library.parent == tmp_path
    assert sorted(path.name for path in tmp_path.iterdir()) == ["VkLayer_cmdgraph.json", "libVkLayer_cmdgraph.so"]
    manifest = json.loads((tmp_path / "VkLayer_cmdgraph.json").read_text())
    assert manifest["layer"]["library_path"] == f"./{library.name}"
    assert capsys.readouterr().err == ""


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NativeError, match="no C compiler: apt-get install gcc libc6-dev"):
        building.build(tmp_path)


def test_missing_headers_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    with pytest.raises(NativeError, match="no Vulkan headers: apt-get install libvulkan-dev"):
        building.build(tmp_path)


@pytest.mark.skipif(not _can_build(), reason="no C compiler or no Vulkan headers")
def test_what_does_not_compile_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compiler, target = tmp_path / "cc", tmp_path / "target"
    target.mkdir()
    compiler.write_text(
        f'#!/bin/sh\ncase "$*" in *-shared*) echo "queue.c:1: no C" >&2; exit 1;; esac\nexec {CC} "$@"\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))

    with pytest.raises(NativeError, match="the layer does not compile:\nqueue.c:1: no C"):
        building.build(target)
    assert list(target.iterdir()) == []


def test_without_sources_it_says_where_to_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(building, "SOURCES", tmp_path / "gone")
    with pytest.raises(NativeError, match="build it in a checkout, with `make native`"):
        building.build(tmp_path)
