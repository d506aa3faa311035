"""Good files to mutate: between them every kind of node, layout and object, and the decode step of a small model."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen

from cmdgraph.container.archive import CONTENTS, MANIFEST
from tests.kit import ADD1, IMMEDIATE, INC, INDIRECT, Kit, captured, open_device

__all__ = ["Saved", "read", "write"]

_WEIGHTS = {"one": 10, "everything": 10, "model": 1}


@frozen
class Saved:
    """A file's two parts, and how often it is chosen: large files take long to load."""

    name: str
    manifest: bytes
    contents: bytes
    weight: int


def write(folder: Path) -> None:
    """Saves the corpus, from wgpu-native, which every worker can load."""
    kit = Kit(open_device("wgpu", ["immediates"]))
    x, y = kit.buffer([1, 2, 3, 4], "x"), kit.buffer([0] * 4, "y")
    words = kit.buffer(np.array([2, 1, 1, 0], np.uint32), "words", usage=INDIRECT)
    captured(kit.device, kit.call(ADD1, x, y), name="one").save(folder / "one.zip")
    captured(kit.device, lambda: _everything(kit, x, y, words), name="everything").save(folder / "everything.zip")
    captured(kit.device, _model(kit.device), name="model").save(folder / "model.zip")


def read(folder: Path) -> list[Saved]:
    """The corpus that `write` saved."""
    found = []
    for path in sorted(folder.glob("*.zip")):
        with zipfile.ZipFile(path) as archive:
            found.append(Saved(path.stem, archive.read(MANIFEST), archive.read(CONTENTS), _WEIGHTS[path.stem]))
    return found


def _everything(kit: Kit, x: Any, y: Any, words: Any) -> None:
    entries = [
        {"binding": n, "visibility": 4, "buffer": {"type": kind, "has_dynamic_offset": not n}}
        for n, kind in enumerate(["read-only-storage", "storage"])
    ]
    explicit = kit.explicit(ADD1, entries)
    immediate = kit.explicit(IMMEDIATE, [entries[1]], immediate_size=8)
    group, other, inc = kit.group(explicit, x, y), _at_one(kit, immediate, y), kit.kernel(INC)
    encoder = kit.device.create_command_encoder()
    encoder.push_debug_group("layer")
    compute = encoder.begin_compute_pass()
    compute.set_pipeline(explicit)
    compute.set_bind_group(0, group, [0])
    compute.dispatch_workgroups(4)
    compute.set_pipeline(immediate)
    compute.set_bind_group(0, other)
    compute.set_immediates(0, np.array([1, 2], np.float32), 0, 8)
    compute.dispatch_workgroups_indirect(words, 0)
    compute.end()
    encoder.copy_buffer_to_buffer(y, 0, x, 8, 8)
    encoder.clear_buffer(y, 0, 4)
    encoder.pop_debug_group()
    kit.submit(encoder.finish())
    kit.write(x, [5])
    kit.run(inc, kit.group(inc, x))


def _at_one(kit: Kit, pipeline: Any, buffer: Any) -> Any:
    entries = [{"binding": 1, "resource": {"buffer": buffer}}]
    return kit.device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)


def _model(device: Any) -> Any:
    from llm.model import Model
    from tests.llm import tiny

    model = Model(device, tiny.LLAMA, tiny.random_weights(tiny.LLAMA), "fused", kernels="cpu")
    model.start([1, 2, 3])
    return model.step
