"""A process that encodes a chain when it is told to: `python -m cmdgraph.bench.layer_worker PACKAGE DISPATCHES SEED`.

Whether the native layer lies under it is decided by CMDGRAPH_NATIVE. It answers each line on stdin with one on stdout:
the CPU seconds that encoding and submitting the chain once took. The first line says that it is ready.
"""

from __future__ import annotations

import gc
import sys
import time

from cmdgraph import adapters
from cmdgraph.bench.chain import Chain
from cmdgraph.bench.ways import WAYS

__all__ = ["main"]


def main(package: str, dispatches: str, seed: str) -> None:
    chain = Chain(adapters.open_device(package), int(dispatches), int(seed))
    way = WAYS["bare-c-loop"](chain)
    chain.reset()
    way.run(2)
    chain.equals_numpy(2)
    gc.disable()
    print("ready", flush=True)
    for _ in sys.stdin:
        before = time.thread_time()
        way.run(1)
        taken = time.thread_time() - before
        way.wait()
        print(taken, flush=True)
    way.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
