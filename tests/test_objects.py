"""The records of objects: which layouts are equal, what a group may write, how things are named."""

from __future__ import annotations

import pytest
import wgpu

from cmdgraph.objects import BufferUsage, GroupLayout, LayoutEntry, describe
from tests.kit import INC, Kit
from tests.stand_ins import GPUBuffer, dispatch


def test_usage_bits_are_those_of_webgpu() -> None:
    ours = {name: value for name, value in vars(BufferUsage).items() if name.isupper()}

    assert ours == {name: getattr(wgpu.BufferUsage, name) for name in ours}
    assert len(ours) >= 10


def test_how_objects_are_named(kit: Kit) -> None:
    labelled, plain = kit.buffer(label="kv.3"), kit.buffer()

    assert describe(labelled) == 'buffer "kv.3"'
    assert describe(plain) == f"unlabelled buffer #{plain.uid}"
    assert describe(kit.group(kit.kernel(INC), plain, label="g")) == 'bind group "g"'


@pytest.mark.parametrize(
    ("kind", "detail", "writes"),
    [
        ("uniform", (), False),
        ("read-only-storage", (), False),
        ("storage", (), True),
        ("texture", (), False),
        ("storage-texture", ("write-only",), True),
        ("storage-texture", ("read-only",), False),
    ],
)
def test_which_entries_may_write(kind: str, detail: tuple[str, ...], writes: bool) -> None:
    assert LayoutEntry(0, kind, detail=detail).writes is writes


def test_layouts_are_equivalent_by_entries_and_pipeline() -> None:
    entries = {0: LayoutEntry(0, "storage")}
    pipeline = object()

    assert GroupLayout(entries).equivalent(GroupLayout(dict(entries)))
    assert not GroupLayout(entries).equivalent(GroupLayout({0: LayoutEntry(0, "uniform")}))
    assert not GroupLayout(entries).equivalent(GroupLayout({0: LayoutEntry(0, "storage", min_size=16)}))
    assert GroupLayout(entries, pipeline).equivalent(GroupLayout(entries, pipeline))
    assert not GroupLayout(entries, pipeline).equivalent(GroupLayout(entries))


def test_dynamic_entries_come_by_binding() -> None:
    layout = GroupLayout(
        {
            7: LayoutEntry(7, "storage", dynamic=True),
            2: LayoutEntry(2, "uniform", dynamic=True),
            4: LayoutEntry(4, "uniform"),
        }
    )

    assert [entry.binding for entry in layout.dynamic] == [2, 7]


def test_a_group_knows_whether_a_buffer_is_bound_twice() -> None:
    a, b = GPUBuffer(), GPUBuffer()
    once, twice = dispatch((a, 0, 4, False), (b, 0, 4, True)), dispatch((a, 0, 4, False), (a, 0, 4, False))

    assert once.groups[0] is not None
    assert once.groups[0].record.distinct
    assert twice.groups[0] is not None
    assert not twice.groups[0].record.distinct
