"""The names of the peers, and why one cannot run here."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cmdgraph.bench.peers import registry, torch_webgpu
from cmdgraph.bench.peers.base import missing
from cmdgraph.replay import STRATEGIES


def test_every_strategy_is_a_peer_on_both_implementations() -> None:
    peers = registry.peers()

    for strategy in STRATEGIES:
        for name in (f"cmdgraph-{strategy}", f"cmdgraph-{strategy}-dawn"):
            assert peers[name][1].ours
    assert not peers["wgpu-naive"][1].ours
    assert next(iter(peers)) == "onnxruntime"


def test_patterns_choose_in_the_order_of_the_table() -> None:
    assert registry.choose("wgpu-naive, onnxruntime*") == ["onnxruntime", "onnxruntime-capture", "wgpu-naive"]
    assert registry.choose("*") == list(registry.peers())


@pytest.mark.parametrize("patterns", ["cuda", "", "onnxruntime,", "vulkan*,nonsense-*"])
def test_a_name_that_nobody_has_is_refused(patterns: str) -> None:
    with pytest.raises(KeyError, match=r"no peer '.*'; there are onnxruntime, onnxruntime-capture, tinygrad"):
        registry.choose(patterns)


def test_what_is_not_installed_is_named_with_the_way_to_get_it() -> None:
    assert missing({"numpy": "numpy"}) is None
    assert (
        missing({"no_such_module": "no-such", "nor_this": "nor-this", "numpy": "numpy"})
        == "no-such and nor-this not installed: pip install 'cmdgraph[peers]'"
    )


def test_torch_webgpu_needs_its_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 13, 1))

    assert torch_webgpu.PEERS[0].available() == "its wheel needs Python 3.12, this is 3.13"


def test_asking_for_the_names_loads_none_of_the_libraries() -> None:
    heavy = "onnxruntime onnx tinygrad torch torch_webgpu vulkan pydawn"
    code = (
        "import sys; from cmdgraph.bench.peers import registry\n"
        "[peer.available() for _, peer in registry.peers().values()]\n"
        f"print([name for name in '{heavy}'.split() if name in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"
