"""tinygrad's TinyJit on its WEBGPU device: kernels recorded on the second call, run again from the third on."""

from __future__ import annotations

import importlib.util
import platform
import sys
from pathlib import Path

from cmdgraph.bench.peers.base import Peer, Prepared, missing
from cmdgraph.bench.peers.elementwise import Elementwise

__all__ = ["PEERS"]

CALLS_UNTIL_RECORDED = 3


def _prepare(chain: Elementwise) -> Prepared:
    from tinygrad import Device, Tensor, TinyJit

    operands = [Tensor(row).realize() for row in chain.operands]
    source = Tensor(chain.input(0)).realize()

    def model(x: Tensor) -> Tensor:
        for step in chain.steps:
            y = x + operands[step.operand] if step.op == "add" else x * operands[step.operand]
            x = y.contiguous().realize()  # else neighbours become one kernel
        return x

    step = TinyJit(model)
    for _ in range(CALLS_UNTIL_RECORDED):
        result = step(source)

    return Prepared(
        write=lambda values: source.assign(Tensor(values)).realize(),
        run=lambda: step(source),
        sync=Device["WEBGPU"].synchronize,
        read=lambda: result.numpy(),
        facts={"device": "WEBGPU"},
    )


def _environment() -> dict[str, str]:
    """tinygrad takes the Dawn that dawn-python brings."""
    spec = importlib.util.find_spec("pydawn")
    assert spec is not None
    assert spec.origin is not None
    machine = {"AMD64": "x86_64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    name = {
        "linux": f"libwebgpu_dawn_{platform.machine()}.so",
        "darwin": f"libwebgpu_dawn_{machine}.dylib",
        "win32": "libwebgpu_dawn.dll",
    }.get(sys.platform, "libwebgpu_dawn.so")
    return {"DEV": "WEBGPU", "WEBGPU_PATH": str(Path(spec.origin).parent / "lib" / name)}


PEERS = (
    Peer(
        name="tinygrad",
        about="tinygrad TinyJit on WEBGPU",
        prepare=_prepare,
        available=lambda: missing({"tinygrad": "tinygrad", "pydawn": "dawn-python"}),
        packages=("tinygrad", "dawn-python"),
        environment=_environment,
    ),
)
