"""The debug groups of steps and prefills: the structure that graphs of a model show."""

from typing import Any

import pytest

import cmdgraph
from llm.model import Model
from llm.plans import PLANS
from llm.strategies import runner
from tests.llm import tiny

INSIDE = [(f"layer {n}", block) for n in range(2) for block in ("attention", "mlp")]


@pytest.fixture(scope="module")
def weights() -> Any:
    return tiny.random_weights(tiny.QWEN2)


@pytest.mark.parametrize("kernels", ["gpu", "cpu"])
@pytest.mark.parametrize("plan", PLANS)
def test_a_step_shows_its_layers(device: Any, weights: Any, plan: str, kernels: Any) -> None:
    model = Model(device, tiny.QWEN2, weights, plan, kernels=kernels)
    with cmdgraph.capture(device) as graph:
        model.step()
    paths = [node.path for node in graph.nodes]
    assert list(dict.fromkeys(paths)) == [("embedding",), *INSIDE, ("output",), ("sampling",)]
    assert paths == sorted(paths, key=list(dict.fromkeys(paths)).index), "a group is left and entered again"
    summary = graph.summary(by="group")
    assert all(name in summary for name in ("embedding", "layer 1", "output", "sampling"))
    assert "attention" in graph.summary(by="block")
    graph.release()


def test_a_prefill_shows_its_layers(device: Any, weights: Any) -> None:
    model = Model(device, tiny.QWEN2, weights)
    model.prepare_prefill(8)
    with cmdgraph.capture(device) as graph:
        model.prefill(8)
    assert list(dict.fromkeys(node.path for node in graph.nodes)) == [("embedding",), *INSIDE[:-1], ("advance",)]
    graph.release()


def test_eager_steps_can_do_without(device: Any, weights: Any) -> None:
    """What replays are compared with has no names to pay for; it makes the same tokens."""
    model = Model(device, tiny.QWEN2, weights)
    with cmdgraph.capture(device) as graph:
        model.step(named=False)
    assert {node.path for node in graph.nodes} == {()}
    with runner(model, "eager") as run:
        model.start([5])
        run.step()
        unnamed = model.read_token()
    model.start([5])
    model.step()
    assert model.read_token() == unnamed
    graph.release()
