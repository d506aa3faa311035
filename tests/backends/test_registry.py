"""Implementations attach themselves when they are imported; every GPU object belongs to one."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import cmdgraph
from cmdgraph.backends import backend_of, loaded, on_load
from cmdgraph.backends.base import FUNCTIONS
from tests import subprocesses
from tests.kit import INC, Kit


def test_objects_belong_to_their_implementation(device: Any, dawn_device: Any) -> None:
    assert backend_of(device).name == "wgpu-native"
    assert backend_of(dawn_device).name == "Dawn"
    assert {backend_of(device), backend_of(dawn_device)} <= set(loaded())


def test_every_kind_of_object_has_a_backend(kit: Kit) -> None:
    pipeline = kit.kernel(INC)
    buffer = kit.buffer()

    for obj in (kit.device, kit.queue, pipeline, buffer, kit.group(pipeline, buffer), kit.texture()):
        assert backend_of(obj) is backend_of(kit.device)


@pytest.mark.parametrize("obj", [None, 1, "device", object(), type("GPUDevice", (), {})()])
def test_what_belongs_to_no_implementation_is_refused(obj: object) -> None:
    with pytest.raises(cmdgraph.BackendError, match="not an object of wgpu-native .* or Dawn"):
        backend_of(obj)


def test_listeners_hear_of_backends_that_are_loaded_already(kit: Kit) -> None:
    heard: list[Any] = []
    on_load(heard.append)

    assert tuple(heard) == loaded()


def test_every_function_of_a_backend_has_an_address(kit: Kit) -> None:
    functions = backend_of(kit.device).functions

    assert set(functions.calls) == set(functions.addresses) == set(FUNCTIONS)
    assert all(address > 0 for address in functions.addresses.values())
    assert len(set(functions.addresses.values())) == len(FUNCTIONS)
    assert (functions.submit_for_index is None) == (functions.submit_for_index_address == 0)


def test_versions_are_told(kit: Kit) -> None:
    assert backend_of(kit.device).version()[0].isdigit()


def test_an_error_scope_collects_and_leaves_no_error(kit: Kit) -> None:
    backend = backend_of(kit.device)
    with backend.error_scope() as scope:
        assert not scope.failed()
        assert scope.error() is None
    kit.call(INC, kit.buffer([0] * 4))()


def test_a_live_device_is_not_lost(kit: Kit) -> None:
    assert backend_of(kit.device).lost(kit.device) is None


def test_one_finder_waits_for_the_implementations() -> None:
    assert [type(finder).__name__ for finder in sys.meta_path].count("_Finder") == 1


def test_the_modules_it_waits_for_keep_their_source() -> None:
    told = subprocesses.run(
        """
        import cmdgraph, inspect, wgpu.backends.wgpu_native._api as api, importlib
        print(len(inspect.getsource(api)) > 1000, api.__spec__.name, api.__spec__.origin == api.__file__)
        """
    )

    assert told.split() == ["True", "wgpu.backends.wgpu_native._api", "True"]


def test_an_implementation_imported_during_a_capture_is_hooked(dawn_device: Any) -> None:
    told = subprocesses.run(
        """
        from tests.kit import INC, Kit, open_device
        import cmdgraph
        native = Kit(open_device("wgpu"))
        c = native.buffer([0] * 4)
        inc = native.call(INC, c)
        with cmdgraph.capture() as graph:
            inc()
            dawn = Kit(open_device("wgpudawn"))
            try:
                dawn.device.create_command_encoder()
            except cmdgraph.CaptureError as error:
                print("another device" in str(error))
        graph.replay()
        print(native.read(c), "recorded" not in type(dawn.device.create_command_encoder()).__module__)
        """
    )

    assert told.split("\n")[:2] == ["True", "[1.0, 1.0, 1.0, 1.0] True"]
