"""torch-webgpu, the backend of the paper: eager PyTorch calls on the device "webgpu".

Its wheel is built for CPython 3.12 on Linux with glibc 2.35 or newer.
"""

from __future__ import annotations

import sys

import numpy as np

from cmdgraph.bench.peers.base import Peer, Prepared, missing
from cmdgraph.bench.peers.elementwise import Elementwise

__all__ = ["PEERS"]

PYTHON = (3, 12)


def _prepare(chain: Elementwise) -> Prepared:
    import torch  # type: ignore[import-not-found,unused-ignore]
    import torch_webgpu  # noqa: F401 - registers the device

    def upload(values: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(values.copy()).to("webgpu")

    operands = [upload(row) for row in chain.operands]
    tensors = {"source": upload(chain.input(0))}

    def run() -> None:
        x = tensors["source"]
        for step in chain.steps:
            x = x + operands[step.operand] if step.op == "add" else x * operands[step.operand]
        tensors["result"] = x

    def read() -> np.ndarray:
        return tensors["result"].to("cpu").numpy()

    return Prepared(
        write=lambda values: tensors.update(source=upload(values)),
        run=run,
        sync=read,  # it offers no other way to wait
        read=read,
        facts={"device": "webgpu"},
    )


def _available() -> str | None:
    if sys.version_info[:2] != PYTHON:
        return f"its wheel needs Python 3.12, this is {sys.version_info[0]}.{sys.version_info[1]}"
    return missing({"torch": "torch", "torch_webgpu": "torch-webgpu"}, hint="pip install torch-webgpu torch==2.9")


PEERS = (
    Peer(
        name="torch-webgpu",
        about="torch-webgpu, eager",
        prepare=_prepare,
        available=_available,
        packages=("torch-webgpu", "torch"),
    ),
)
