"""What the paper found, in its own numbers: the only figures of the report that are not ours.

J. Maczan, "Characterizing WebGPU Dispatch Overhead for LLM Inference Across Four GPU Vendors, Three Backends, and Three
Browsers", arXiv 2604.02344 (later 2608.08730, "Measuring and Reducing WebGPU Dispatch Overhead for LLM Inference").
"""

from __future__ import annotations

__all__ = [
    "BACKENDS",
    "CUDA_SHARE",
    "DISPATCHES",
    "ENCODER_SHARE",
    "FUSED_DISPATCHES",
    "IMPLEMENTATION_FACTOR",
    "LINK",
    "MODEL",
    "OPERATION_US",
    "RTX_PRO_2000_FACTOR",
    "SINGLE_OP_FACTOR",
    "SUBMIT_SHARE",
    "THROUGHPUT_GAIN",
    "TITLE",
    "TTFT_MS",
    "allowed_by_count",
    "ttft_ratio",
]

TITLE = "Measuring and Reducing WebGPU Dispatch Overhead for LLM Inference"
LINK = "https://arxiv.org/abs/2604.02344"
MODEL = "Qwen2.5-0.5B"

BACKENDS = {"Vulkan": (24.0, 36.0), "Metal": (32.0, 71.0)}
"""us a dispatch, from its fastest to its slowest implementation."""
SINGLE_OP_FACTOR = 20.0
OPERATION_US = 95.0
"""An operation with Python included."""
DISPATCHES, FUSED_DISPATCHES = 876, 564
THROUGHPUT_GAIN = 0.53
TTFT_MS = (71.4, 41.6)
SUBMIT_SHARE, ENCODER_SHARE = 0.40, 0.39
"""Of the CPU cost of a dispatch."""
CUDA_SHARE = (0.11, 0.12)
IMPLEMENTATION_FACTOR = 2.2
"""Between implementations on Metal."""
RTX_PRO_2000_FACTOR = 1.4
"""CUDA on that card against WebGPU on an RTX 5090, both in f32."""


def allowed_by_count() -> float:
    """By what factor time can fall when nothing but the number of dispatches changes."""
    return DISPATCHES / FUSED_DISPATCHES


def ttft_ratio() -> float:
    """By what factor its time to the first token fell."""
    return TTFT_MS[0] / TTFT_MS[1]
