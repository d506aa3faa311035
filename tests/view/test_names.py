"""Names and the tree of debug groups."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cmdgraph.program import Place
from cmdgraph.view import names
from tests.stand_ins import GPUBuffer, clear, dispatch
from tests.view.graphs import named

paths = st.lists(st.lists(st.sampled_from("ab"), max_size=3).map(tuple), max_size=20)


@given(paths)
def test_the_tree_holds_every_node_in_order_under_its_path(found: list[tuple[str, ...]]) -> None:
    seen: list[tuple[int, tuple[str, ...]]] = []

    def walk(group: names.Group, path: tuple[str, ...]) -> None:
        for child in group.children:
            if isinstance(child, int):
                seen.append((child, path))
            else:
                assert child.children, "an empty group"
                walk(child, (*path, child.name))

    walk(names.tree(found), ())

    assert seen == list(enumerate(found))


def test_groups_that_are_opened_anew_in_each_encoder_are_one() -> None:
    tree = names.tree([("layer", "q"), ("layer", "k"), ("layer", "k"), (), ("layer",)]).to_data()

    assert tree["children"] == [
        {"name": "layer", "children": [{"name": "q", "children": [0]}, {"name": "k", "children": [1, 2]}]},
        3,
        {"name": "layer", "children": [4]},
    ]


def test_a_node_is_called_by_the_closest_name() -> None:
    node = dispatch((GPUBuffer(), 0, 4, True))

    assert names.node_name(named(node, label="query")) == "query"
    assert names.node_name(node) == "bound"
    assert names.node_name(clear(GPUBuffer(), 0, 4)) == "clear_buffer"
    assert names.shader_name(node) == "kernel"


def test_a_place_is_told_without_its_folders() -> None:
    node = named(clear(GPUBuffer(), 0, 4))
    object.__setattr__(node, "place", Place("C:\\Users\\me\\model.py", 3))

    assert names.place_of(node) == "model.py:3"
