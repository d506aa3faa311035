"""PyTorch on CUDA: eager calls, and the same calls in a CUDA graph. Not WebGPU: what a vendor's own graphs give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cmdgraph.bench.peers.base import Peer, Prepared, UnavailableError, missing
from cmdgraph.bench.peers.elementwise import Elementwise

__all__ = ["PEERS"]

WARM_UP_CALLS = 3


def _eager(chain: Elementwise) -> Prepared:
    torch = _torch()
    work = _Work(torch, chain)
    return work.prepared(work.call, "eager")


def _graph(chain: Elementwise) -> Prepared:
    torch = _torch()
    work = _Work(torch, chain)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_UP_CALLS):
            work.call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work.call()
    return work.prepared(graph.replay, "CUDA graph")


class _Work:
    """The tensors, and the chain as eager calls between two of them."""

    def __init__(self, torch: Any, chain: Elementwise) -> None:
        self.torch = torch
        self.source = torch.from_numpy(chain.input(0)).cuda()
        operands = list(torch.from_numpy(chain.operands).cuda())
        turns = [torch.empty_like(self.source) for _ in range(2)]
        function = {"add": torch.add, "mul": torch.mul}
        # Before each dispatch: what it reads, its operand, what it writes.
        read = [self.source, *(turns[n % 2] for n in range(chain.dispatches - 1))]
        self.calls = [
            (function[step.op], read[n], operands[step.operand], turns[n % 2]) for n, step in enumerate(chain.steps)
        ]
        self.result = self.calls[-1][-1]

    def call(self) -> None:
        for function, x, operand, out in self.calls:
            function(x, operand, out=out)

    def prepared(self, run: Callable[[], object], how: str) -> Prepared:
        torch = self.torch
        return Prepared(
            write=lambda values: self.source.copy_(torch.from_numpy(values)),
            run=run,
            sync=torch.cuda.synchronize,
            read=lambda: np.asarray(self.result.cpu()),
            facts={"adapter": torch.cuda.get_device_name(), "cuda": torch.version.cuda, "how": how},
        )


def _torch() -> Any:
    import torch  # type: ignore[import-not-found,unused-ignore]

    if not torch.cuda.is_available():
        raise UnavailableError("PyTorch sees no CUDA device")
    return torch


def _available() -> str | None:
    return missing({"torch": "torch"}, hint="pip install torch, where there is a CUDA device")


PEERS = (
    Peer(
        name="torch-cuda",
        about="PyTorch on CUDA, eager",
        prepare=_eager,
        available=_available,
        packages=("torch",),
    ),
    Peer(
        name="torch-cuda-graph",
        about="PyTorch on CUDA, CUDA graph",
        prepare=_graph,
        available=_available,
        packages=("torch",),
    ),
)
