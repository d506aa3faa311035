"""Every kernel against numpy, those for GPUs and those for CPU adapters, on shapes of Hypothesis' choice."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import wgpu
from hypothesis import given, settings
from hypothesis import strategies as st

from llm.plans.plan import padded, workgroup_grid
from llm.shaders import shader_source
from tests.llm.tiny import attend

# Each new shape is a new pipeline, which a software driver takes a twentieth of a second to compile.
few = settings(max_examples=6, deadline=None)
fours = st.integers(1, 80).map(lambda n: 4 * n)
seeds = st.integers(0, 1000)


class Bench:
    """Runs single kernels on a device."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self.module = cache(lambda kernel: device.create_shader_module(code=shader_source(kernel)))

    def run(
        self,
        kernel: str,
        constants: Mapping[str, float],
        buffers: Sequence[np.ndarray],
        workgroups: int,
        read: int = -1,
    ) -> np.ndarray:
        """Dispatch `kernel` with the buffers bound in order; what buffer `read` holds afterwards."""
        pipeline = self.device.create_compute_pipeline(
            layout="auto",
            compute={"module": self.module(kernel), "entry_point": "main", "constants": dict(constants)},
        )
        usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC
        made = [self.device.create_buffer_with_data(data=_filled(data), usage=usage) for data in buffers]
        group = self.device.create_bind_group(
            layout=pipeline.get_bind_group_layout(0),
            entries=[{"binding": n, "resource": {"buffer": buffer}} for n, buffer in enumerate(made)],
        )
        encoder = self.device.create_command_encoder()
        compute_pass = encoder.begin_compute_pass()
        compute_pass.set_pipeline(pipeline)
        compute_pass.set_bind_group(0, group)
        compute_pass.dispatch_workgroups(*workgroup_grid(workgroups))
        compute_pass.end()
        self.device.queue.submit([encoder.finish()])
        kind = buffers[read]
        found = np.frombuffer(self.device.queue.read_buffer(made[read]), kind.dtype)
        return found[: kind.size].reshape(kind.shape)

    def elementwise(self, kernel: str, n: int, *buffers: np.ndarray, **constants: float) -> np.ndarray:
        """A kernel of one invocation an element of the last buffer."""
        return self.run(kernel, {"N": n, **constants}, buffers, -(-n // 64))


@pytest.fixture(scope="module")
def kernels(device: Any) -> Bench:
    return Bench(device)


@few
@given(n=st.integers(1, 700), seed=seeds)
def test_elementwise(kernels: Bench, n: int, seed: int) -> None:
    a, b = _random(seed, 2, n)
    _close(kernels.elementwise("pow", n, a, _empty(n)), a * a)
    _close(kernels.elementwise("add", n, a, b, _empty(n)), a + b)
    _close(kernels.elementwise("mul", n, a, b, _empty(n), PERIOD=n), a * b)
    _close(kernels.elementwise("mul", n, a, b[:1], _empty(n), PERIOD=1), a * b[0])
    _close(kernels.elementwise("silu", n, 10 * a, _empty(n)), 10 * a / (1 + np.exp(-10 * a)))


def test_silu_of_large_numbers(kernels: Bench) -> None:
    x = np.array([-200, -88, 0, 88, 200], dtype=np.float32)
    _close(kernels.elementwise("silu", 5, x, _empty(5)), np.array([0, 0, 0, 88, 200]))


@few
@given(heads=st.integers(1, 12), half=st.integers(1, 70), seed=seeds)
def test_rotate_half(kernels: Bench, heads: int, half: int, seed: int) -> None:
    n = heads * half * 2
    x = _random(seed, heads, 2 * half)
    cosines = _random(seed + 1, 2 * half)
    negated = kernels.elementwise("neg", n // 2, x, _empty(heads, half), HEAD_DIM=2 * half)
    _close(negated, -x[:, half:])
    rotated = kernels.elementwise("cat", n, negated, x, _empty(heads, 2 * half), HEAD_DIM=2 * half)
    _close(rotated, np.concatenate([-x[:, half:], x[:, :half]], axis=1))
    product = kernels.elementwise("mul", n, x, cosines, _empty(heads, 2 * half), PERIOD=2 * half)
    _close(product, x * cosines)


@few
@given(n=fours, seed=seeds)
def test_norm_parts(kernels: Bench, n: int, seed: int) -> None:
    x = _random(seed, n) ** 2
    for kernel in ("mean", "mean_cpu"):
        _close(kernels.run(kernel, {"N": n}, [x, _empty(1)], 1), x.mean(keepdims=True))
    mean = x.mean(keepdims=True)
    _close(kernels.run("add_eps", {"EPS": 0.25}, [mean, _empty(1)], 1), mean + 0.25)
    _close(kernels.run("rsqrt", {}, [mean, _empty(1)], 1), 1 / np.sqrt(mean))


@few
@given(half=st.integers(1, 90), position=st.integers(0, 6), seed=seeds)
def test_rotary(kernels: Bench, half: int, position: int, seed: int) -> None:
    table = _random(seed, 5, half, 2)
    angles = kernels.elementwise("rotary_matmul", half, table, _state(position), _empty(half, 2), CAPACITY=5)
    _close(angles, table[min(position, 4)])
    both = kernels.elementwise("rotary_cat", 2 * half, angles, _empty(2 * half, 2))
    _close(both, np.concatenate([angles, angles]))
    for part in (0, 1):
        found = kernels.elementwise("rotary_mul", 2 * half, both, _empty(2 * half), PART=part, SCALE=1.5)
        _close(found, 1.5 * both[:, part])


@few
@given(n=fours, vocabulary=st.integers(1, 50), seed=seeds)
def test_embedding(kernels: Bench, n: int, vocabulary: int, seed: int) -> None:
    table = _random(seed, vocabulary, n)
    token = seed % vocabulary
    _close(kernels.elementwise("embedding", n, table, _state(0, token), _empty(n)), table[token])
    columns = _columns(table)
    found = kernels.elementwise("embedding_columns", n, columns, _state(0, token), _empty(n), STRIDE=columns.shape[1])
    _close(found, table[token])


@few
@given(rows=st.integers(1, 400), columns=fours, seed=seeds)
def test_matvec(kernels: Bench, rows: int, columns: int, seed: int) -> None:
    w, x, bias = _random(seed, rows, columns), _random(seed + 1, columns), _random(seed + 2, rows)
    expected = w.astype(np.float64) @ x
    sizes = {"ROWS": rows, "COLUMNS": columns}
    _close(kernels.run("matvec", sizes, [w, x, _empty(rows)], -(-rows // 4)), expected)
    _close(kernels.run("matvec_bias", sizes, [w, x, bias, _empty(rows)], -(-rows // 4)), expected + bias)

    filled = padded(rows)
    sizes = {"ROWS": filled, "COLUMNS": columns}
    w, bias_filled = _columns(w), np.pad(bias, (0, filled - rows))
    workgroups = -(-filled // 128)
    _close(kernels.run("matvec_cpu", sizes, [w, x, _empty(filled)], workgroups)[:rows], expected)
    found = kernels.run("matvec_bias_cpu", sizes, [w, x, bias_filled, _empty(filled)], workgroups)
    _close(found[:rows], expected + bias)


@few
@given(width=st.integers(1, 300), position=st.integers(0, 6))
def test_cache_append(kernels: Bench, width: int, position: int) -> None:
    x, cache_before = _random(1, width), _random(2, 5, width)
    sizes = {"WIDTH": width, "CAPACITY": 5}
    found = kernels.run("cache_append", sizes, [x, _state(position), cache_before], -(-width // 64))
    expected = cache_before.copy()
    if position < 5:
        expected[position] = x
    np.testing.assert_array_equal(found, expected)


@settings(few, max_examples=3)  # the slowest to compile
@given(
    kv_heads=st.integers(1, 4),
    group=st.integers(1, 4),
    quads=st.integers(1, 40),
    length=st.integers(1, 400),
    seed=seeds,
)
@pytest.mark.parametrize("kernel", ["sdpa", "sdpa_cpu"])
def test_sdpa(kernels: Bench, kernel: str, kv_heads: int, group: int, quads: int, length: int, seed: int) -> None:
    heads, head_dim, capacity = kv_heads * group, 4 * quads, 400
    q = 3 * _random(seed, heads, head_dim)
    keys, values = _random(seed + 1, 2, capacity, kv_heads, head_dim)
    keys[length:], values[length:] = 1e6, 1e6
    constants = {
        "HEADS": heads,
        "KV_HEADS": kv_heads,
        "HEAD_DIM": head_dim,
        "CAPACITY": capacity,
        "SCALE": head_dim**-0.5,
    }
    buffers = [q, keys, values, _state(length - 1), _empty(heads, head_dim)]
    found = kernels.run(kernel, constants, buffers, heads)
    expected = [
        attend(q[h], keys[:length, h // group], values[:length, h // group], head_dim**-0.5) for h in range(heads)
    ]
    _close(found, np.stack(expected))


@few
@given(n=st.integers(1, 5000), ties=st.booleans(), seed=seeds)
def test_argmax_then_advance(kernels: Bench, n: int, ties: bool, seed: int) -> None:
    logits = _random(seed, n) - 5
    if ties:
        logits = np.round(logits)
    best = kernels.run("argmax", {"N": n, "PARTS": 256}, [logits, np.zeros((256, 2), np.uint32)], 4)
    state, tokens = _advance(kernels, best, position=2, prompt=[5, 6, 7])
    expected = int(np.argmax(logits))
    assert state.tolist()[:3] == [3, 3, expected]
    assert tokens.tolist() == [0, 0, 0, expected, 0]


def test_advance_follows_the_prompt_and_stops_at_the_end(kernels: Bench) -> None:
    best = np.zeros((256, 2), np.uint32)
    state, tokens = _advance(kernels, best, position=1, prompt=[5, 6, 7])
    assert state.tolist()[:3] == [2, 3, 7]
    assert tokens.tolist() == [0, 0, 7, 0, 0]
    state, tokens = _advance(kernels, best, position=4, prompt=[5, 6, 7])
    assert state.tolist()[:3] == [4, 3, 0]
    assert not tokens.any()


def _advance(kernels: Bench, best: np.ndarray, *, position: int, prompt: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """State and tokens after the kernel, with a context of 4."""
    buffers = [
        best,
        np.array(prompt, dtype=np.uint32),
        _state(position, prompt_length=len(prompt)),
        np.zeros(5, dtype=np.uint32),
    ]
    constants = {"PARTS": len(best), "CAPACITY": 4}
    state, tokens = (kernels.run("advance", constants, buffers, 1, read) for read in (2, 3))
    return state, tokens


def _random(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _empty(*shape: int) -> np.ndarray:
    return np.full(shape, np.nan, dtype=np.float32)


def _state(position: int, token: int = 0, prompt_length: int = 0) -> np.ndarray:
    return np.array([position, prompt_length, token, 0], dtype=np.uint32)


def _columns(rows: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.pad(rows, ((0, padded(len(rows)) - len(rows)), (0, 0))).T)


def _filled(data: np.ndarray) -> np.ndarray:
    """The bytes, filled up to a multiple of 16: no binding is smaller than a vec4."""
    raw = np.ascontiguousarray(data).view(np.uint8).reshape(-1)
    return np.pad(raw, (0, -raw.size % 16))


def _close(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)
