"""The kernels that Vulkan gets are the chain's, and valid SPIR-V: wgpu-native takes them, too."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest

from cmdgraph.bench.peers import spirv
from cmdgraph.bench.peers.elementwise import ELEMENTS
from tests.kit import STORAGE


@pytest.mark.parametrize("op", ["add", "mul"])
def test_the_spirv_kernel_computes(device: Any, op: Literal["add", "mul"]) -> None:
    draw = np.random.default_rng(5)
    x, operand = draw.normal(size=(2, ELEMENTS)).astype(np.float32)
    buffers = [device.create_buffer_with_data(data=data, usage=STORAGE) for data in (x, operand, np.zeros_like(x))]
    pipeline = device.create_compute_pipeline(
        layout="auto", compute={"module": device.create_shader_module(code=spirv.kernel(op)), "entry_point": "main"}
    )
    group = device.create_bind_group(
        layout=pipeline.get_bind_group_layout(0),
        entries=[{"binding": n, "resource": {"buffer": buffer}} for n, buffer in enumerate(buffers)],
    )
    encoder = device.create_command_encoder()
    compute = encoder.begin_compute_pass()
    compute.set_pipeline(pipeline)
    compute.set_bind_group(0, group)
    compute.dispatch_workgroups(1)
    compute.end()
    device.queue.submit([encoder.finish()])

    found = np.frombuffer(device.queue.read_buffer(buffers[2]), np.float32)
    assert np.array_equal(found, x + operand if op == "add" else x * operand)
