"""The packed array is the C walker's own layout, and changes and idles as it should."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cmdgraph.backends.base import FUNCTIONS
from cmdgraph.replay import walker
from cmdgraph.replay.packed import COMMAND, Op, Packed

HEADER = Path(walker.__file__).with_name("walker.h")


@pytest.fixture(scope="module")
def compiled() -> Any:
    if not walker.available():
        pytest.skip(f"the C walker is absent: {walker.why_absent()}")
    from cmdgraph.replay import _walker

    return _walker


def test_the_command_has_the_layout_of_the_c_struct(compiled: Any) -> None:
    ffi = compiled.ffi

    assert ffi.sizeof("cmdgraph_command") == COMMAND.itemsize == 56


@pytest.fixture(scope="module")
def header() -> str:
    if not HEADER.exists():
        pytest.skip("walker.h is not installed")
    return HEADER.read_text()


C_SIZES = {"uint32_t": 4, "void *": 8, "uint64_t": 8}


def test_the_fields_stand_where_the_header_says(header: str) -> None:
    body = re.search(r"typedef struct \{([^}]*)\} cmdgraph_command;", header)
    assert body is not None
    offset, expected = 0, {}
    for kind, names in re.findall(r"(uint32_t|uint64_t|void) ([^;]+);", body.group(1)):
        size = 8 if kind == "void" else C_SIZES[kind]
        for name in names.split(","):
            offset = -(-offset // size) * size
            expected[name.strip(" *")] = (offset, size)
            offset += size
    assert COMMAND.fields is not None
    found = {name: (place, kind.itemsize) for name, (kind, place, *_) in COMMAND.fields.items()}

    assert found == expected
    assert offset == COMMAND.itemsize


def test_operations_have_the_numbers_of_the_header(header: str) -> None:
    body = re.search(r"enum cmdgraph_op \{([^}]*)\}", header)
    assert body is not None
    names = re.findall(r"CMDGRAPH_(\w+)", body.group(1))

    assert names == [op.name for op in Op]
    assert [op.value for op in Op] == list(range(len(names)))


def test_functions_stand_in_the_order_of_the_header(header: str) -> None:
    body = re.search(r"typedef struct \{([^}]*)\} cmdgraph_functions;", header)
    assert body is not None
    names = re.findall(r"\(\*(\w+)\)\(", body.group(1))

    assert names == [*FUNCTIONS, "submit_for_index"]


def _packed() -> Packed:
    rows = [
        (Op.ENCODER, 0, 0, 0, 0, 0, 0, 0, 0),
        (Op.BEGIN_PASS, 0, 0, 0, 0, 0, 0, 0, 0),
        (Op.PIPELINE, 0, 0, 0, 11, 0, 0, 0, 0),
        (Op.DISPATCH, 4, 5, 6, 0, 0, 0, 0, 0),
        (Op.INDIRECT, 0, 0, 0, 12, 0, 8, 0, 0),
        (Op.END_PASS, 0, 0, 0, 0, 0, 0, 0, 0),
        (Op.COPY, 0, 0, 0, 13, 14, 4, 8, 16),
        (Op.CLEAR, 0, 0, 0, 15, 0, 4, 0, 12),
        (Op.SUBMIT, 0, 0, 0, 0, 0, 0, 0, 0),
    ]
    return Packed(np.array(rows, COMMAND), [-1, 0, 0, 0, 1, 1, 2, 3, -1], {0: 3}, [])


def test_counts_operations() -> None:
    packed = _packed()

    assert len(packed) == 9
    assert packed.count(Op.DISPATCH) == packed.count(Op.SUBMIT) == 1
    assert packed.count(Op.GROUP) == 0


def test_workgroups_change_in_place() -> None:
    packed = _packed()
    address, generation = packed.address, packed.generation

    packed.set_workgroups(0, (7, 8, 9))

    assert tuple(packed.commands[3])[1:4] == (7, 8, 9)
    assert packed.address == address == packed.commands.ctypes.data
    assert packed.generation > generation
    with pytest.raises(KeyError):
        packed.set_workgroups(1, (1, 1, 1))  # an indirect dispatch has no size of its own


def test_idle_commands_do_nothing_and_leave_the_others_alone() -> None:
    packed = _packed()
    before = packed.commands.copy()
    idle = packed.idle()

    assert (packed.commands == before).all()
    assert idle.count(Op.INDIRECT) == 0
    assert idle.count(Op.DISPATCH) == 2
    dispatches = idle.commands[idle.commands["op"] == Op.DISPATCH]
    assert not dispatches["x"].any()
    assert not dispatches["y"].any()
    assert not dispatches["z"].any()
    assert not idle.commands["w"][idle.commands["op"] == Op.COPY].any()
    assert idle.count(Op.CLEAR) == 0  # wgpu-native aborts on a clear of no bytes
    assert idle.node_of == [-1, 0, 0, 0, 1, 1, 2, -1]
    assert len(idle.node_of) == len(idle)
    assert idle.address != packed.address
