"""The table that the rotary kernels look angles up in."""

import numpy as np

from llm.config import ModelConfig


def rotary_table(config: ModelConfig, positions: int) -> np.ndarray:
    """(positions, head_dim / 2, 2) float32: cos and sin of position * theta^(-2j / head_dim), computed in
    float64.
    """
    exponents = np.arange(0, config.head_dim, 2, dtype=np.float64) / config.head_dim
    angles = np.arange(positions, dtype=np.float64)[:, None] * config.rope_theta**-exponents
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1).astype(np.float32)
