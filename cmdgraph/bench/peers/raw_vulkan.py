"""Vulkan without WebGPU: the same command buffer submitted again, which WebGPU does not offer, or recorded each time.

With barriers each dispatch waits for the one before, as the chain demands. Without them the dispatches must not depend
on each other: then each reads the input and writes a result of its own, all of which are checked.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from cmdgraph.bench.peers.base import Peer, Prepared, UnavailableError, missing
from cmdgraph.bench.peers.elementwise import Elementwise
from cmdgraph.bench.peers.vulkan_device import VulkanDevice

__all__ = ["PEERS"]

IN_FLIGHT = 16
"""Command buffers that are recorded in turn: one may be recorded again when the GPU is done with it."""


def _prepare(chain: Elementwise, *, again: bool, barriers: bool) -> Prepared:
    device = _open()
    count = chain.dispatches
    # Blocks of ELEMENTS floats in one buffer: the input, the operands, then what is written.
    first_written = 1 + len(chain.operands)
    if barriers:
        written = [first_written + n % 2 for n in range(count)]
        reads = [0, *written[:-1]]
    else:
        written = [first_written + n for n in range(count)]
        reads = [0] * count
    blocks = device.blocks(max(written) + 1)
    for number, row in enumerate(chain.operands, 1):
        blocks[number] = row
    steps = device.bind(
        [(step.op, (read, 1 + step.operand, out)) for step, read, out in zip(chain.steps, reads, written, strict=True)]
    )
    result = blocks[written[-1]] if barriers else blocks[first_written:]
    record = functools.partial(device.record, steps, barriers=barriers)
    return Prepared(
        write=lambda values: blocks.__setitem__(0, values),
        run=_recorder(device, record) if again else _resubmitter(device, record),
        sync=device.wait,
        read=result.copy,
        close=device.close,
        facts={**device.facts, "barriers": barriers, "recorded": "each time, from Python" if again else "once"},
    )


def _resubmitter(device: VulkanDevice, record: Callable[[Any], None]) -> Callable[[], None]:
    commands = device.command_buffer()
    record(commands)
    return device.submitter(commands)


def _recorder(device: VulkanDevice, record: Callable[[Any], None]) -> Callable[[], None]:
    ring = [device.command_buffer() for _ in range(IN_FLIGHT)]
    submits = [device.submitter(commands) for commands in ring]
    state = {"runs": 0}

    def run() -> None:
        turn = state["runs"] % IN_FLIGHT
        if turn == 0 and state["runs"]:
            device.wait()
        record(ring[turn])
        submits[turn]()
        state["runs"] += 1

    return run


def _open() -> VulkanDevice:
    try:
        return VulkanDevice()
    except OSError as error:
        raise UnavailableError(f"no Vulkan loader: {error}") from error


def _peer(name: str, about: str, *, again: bool, barriers: bool) -> Peer:
    return Peer(
        name=name,
        about=about,
        prepare=functools.partial(_prepare, again=again, barriers=barriers),
        available=lambda: missing({"vulkan": "vulkan"}),
        packages=("vulkan",),
        dependent=barriers,
    )


PEERS = (
    _peer("vulkan-recorded", "Vulkan, recorded again each time", again=True, barriers=True),
    _peer("vulkan-resubmitted", "Vulkan, recorded once, submitted again", again=False, barriers=True),
    _peer("vulkan-recorded-apart", "the same without dependencies and barriers", again=True, barriers=False),
    _peer("vulkan-resubmitted-apart", "the same without dependencies and barriers", again=False, barriers=False),
)
