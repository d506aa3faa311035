"""Programs to look at, on stand-ins: no GPU is asked."""

from __future__ import annotations

from attrs import evolve

from cmdgraph.objects import ModuleRecord
from cmdgraph.program import Node, Program
from tests.stand_ins import GPUBuffer, GPUObject, dispatch

CODE = (
    "// {number}\n@group(0) @binding(0) var<storage, read> x: array<f32>;\n"
    + "fn helper() -> u32 { return 1u; }\n" * 60
)


def named(node: Node, *path: str, label: str = "") -> Node:
    return evolve(node, place=evolve(node.place, groups=path, label=label))


def layered(layers: int, *, labels: str = "{op}") -> Program:
    """A program like a decoder's: in each layer two blocks of 18 dispatches by 12 shaders, one after another."""
    modules = [ModuleRecord(GPUObject(f"module {n}"), CODE.replace("{number}", str(n))) for n in range(12)]
    stream, nodes = GPUBuffer(64, "stream"), []
    for layer in range(layers):
        weights = GPUBuffer(1 << 16, f"layer.{layer}.weights")
        for block in ("attention", "mlp"):
            for op in range(18):
                node = dispatch((weights, 0, 1 << 16, False), (stream, 0, 64, True))
                node = evolve(node, pipeline=evolve(node.pipeline, module=modules[op % 12]))
                nodes.append(named(node, f"layer {layer}", block, label=labels.replace("{op}", f"{block}.{op}")))
    return Program(None, tuple(nodes))


def diamond() -> Program:
    """One node, two that could run at once, one that waits for both."""
    a, b, c = (GPUBuffer(64, name) for name in "abc")
    return Program(
        None,
        (
            named(dispatch((a, 0, 64, True)), "first"),
            named(dispatch((a, 0, 64, False), (b, 0, 64, True)), "second", label="left"),
            named(dispatch((a, 0, 64, False), (c, 0, 64, True)), "second", label="right"),
            named(dispatch((b, 0, 64, False), (c, 0, 64, False), (a, 0, 64, True)), "third"),
        ),
    )
