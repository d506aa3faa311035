"""ONNX Runtime with its WebGPU execution provider, with graph capture off and on.

The provider comes with the build `onnxruntime-webgpu`, or as a plugin (`onnxruntime` with `onnxruntime-ep-webgpu`). The
former ignores provider options from Python, so there capture is asked for by a session entry. Input and output must lie
on the GPU beforehand; since no Python call makes or fills such a tensor, a second session of one Identity node does
both. `synchronize_outputs` returns before the GPU is done when capture is on, so waiting is done by reading the output.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from cmdgraph.bench.peers.base import Peer, Prepared, UnavailableError, missing
from cmdgraph.bench.peers.elementwise import ELEMENTS, Elementwise

__all__ = ["PEERS"]

PROVIDER = "WebGpuExecutionProvider"
CAPTURE = "enableGraphCapture"
OPSET, IR_VERSION = 17, 10
OPERATORS = {"add": "Add", "mul": "Mul"}


def _prepare(chain: Elementwise, *, capture: bool) -> Prepared:
    loader = _session(_model([("Identity", ["x"], "y")]), capture=False)
    session = _session(_chain_model(chain), capture=capture)
    source, target = _on_the_gpu(loader), _on_the_gpu(loader)
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", source)
    binding.bind_ortvalue_output("y", target)

    def write(values: np.ndarray) -> None:
        upload = loader.io_binding()
        upload.bind_cpu_input("x", values)
        upload.bind_ortvalue_output("y", source)
        loader.run_with_iobinding(upload)

    return Prepared(
        write=write,
        run=lambda: session.run_with_iobinding(binding),
        sync=target.numpy,
        read=target.numpy,
        facts={"graph_capture": capture, "graph_optimization": "off", "intra_op_threads": 1},
    )


def _session(model: bytes, *, capture: bool) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # Nothing may be folded or fused: a node is a dispatch.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    # Idle workers of the CPU provider would spin beside the caller.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    capturing = "1" if capture else "0"
    if PROVIDER in onnxruntime.get_available_providers():
        options.add_session_config_entry(f"ep.webgpuexecutionprovider.{CAPTURE}", capturing)
        session = onnxruntime.InferenceSession(model, options, providers=[PROVIDER])
    else:
        options.add_provider_for_devices(_plugin_devices(), {CAPTURE: capturing})
        session = onnxruntime.InferenceSession(model, options)
    if session.get_providers()[0] != PROVIDER:
        raise UnavailableError(f"{PROVIDER} did not start: it takes no adapter here")
    return session


@functools.cache
def _plugin_devices() -> list[Any]:
    """The devices that the plugin offers; it is registered once in a process."""
    import onnxruntime

    try:
        import onnxruntime_ep_webgpu as plugin
    except ModuleNotFoundError as error:
        raise UnavailableError(
            f"this build of ONNX Runtime has no {PROVIDER}: pip install onnxruntime-webgpu"
        ) from error
    onnxruntime.register_execution_provider_library(PROVIDER, plugin.get_library_path())
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == PROVIDER]
    if not devices:
        raise UnavailableError(f"{PROVIDER} finds no device here")
    return devices


def _on_the_gpu(loader: Any) -> Any:
    """A tensor in GPU memory."""
    binding = loader.io_binding()
    binding.bind_cpu_input("x", np.zeros(ELEMENTS, np.float32))
    binding.bind_output("y", "webgpu")
    loader.run_with_iobinding(binding)
    return binding.get_outputs()[0]


def _chain_model(chain: Elementwise) -> bytes:
    names = ["x", *(f"t{n}" for n in range(1, chain.dispatches)), "y"]
    nodes = [
        (OPERATORS[step.op], [names[n], f"operand{step.operand}"], names[n + 1]) for n, step in enumerate(chain.steps)
    ]
    used = sorted({step.operand for step in chain.steps})
    return _model(nodes, {f"operand{number}": chain.operands[number] for number in used})


def _model(nodes: Iterable[tuple[str, list[str], str]], constants: dict[str, np.ndarray] | None = None) -> bytes:
    from onnx import TensorProto, helper, numpy_helper

    graph = helper.make_graph(
        [helper.make_node(operator, inputs, [output]) for operator, inputs, output in nodes],
        "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [ELEMENTS])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [ELEMENTS])],
        [numpy_helper.from_array(values, name) for name, values in (constants or {}).items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version = IR_VERSION
    return model.SerializeToString()


def _available() -> str | None:
    return missing({"onnxruntime": "onnxruntime-webgpu", "onnx": "onnx"})


def _peer(name: str, about: str, *, capture: bool) -> Peer:
    return Peer(
        name=name,
        about=about,
        prepare=functools.partial(_prepare, capture=capture),
        available=_available,
        packages=("onnxruntime-webgpu", "onnxruntime", "onnxruntime-ep-webgpu"),
        # Otherwise software drivers are refused.
        environment=lambda: {"ORT_WEBGPU_EP_ALLOW_SOFTWARE_ADAPTER": "1"},
    )


PEERS = (
    _peer("onnxruntime", "ONNX Runtime WebGPU, graph capture off", capture=False),
    _peer("onnxruntime-capture", "ONNX Runtime WebGPU, graph capture on", capture=True),
)
