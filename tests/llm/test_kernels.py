"""Every kernel against numpy, those for GPUs and those for CPU adapters, on shapes of Hypothesis' choice."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import wgpu
from hypothesis import given, settings
from hypothesis import strategies as st

from llm.blocks import Blocks
from llm.device import open_device, subgroup_size
from llm.packing import pack
from llm.plans.plan import BLOCKS, Format, Layout, Stored, padded, workgroup_grid
from llm.shaders import shader_source
from tests.llm.tiny import attend

# Each new shape is a new pipeline, which a software driver takes a twentieth of a second to compile.
few = settings(max_examples=4, deadline=None)
fewer = settings(few, max_examples=2)
fours = st.integers(1, 80).map(lambda n: 4 * n)
seeds = st.integers(0, 1000)


FORMATS: tuple[Format, ...] = ("f32", "f16", "q8", "q4", "q6k", "q4k")
every_format = pytest.mark.parametrize("kind", FORMATS)
# For kernels that read a matrix by the same functions as those that are tried with every format.
two_formats = pytest.mark.parametrize("kind", ["f16", "q4"])
REDUCE = {"WORKGROUP": 64, "LANES": 8}


class Bench:
    """Runs single kernels on a device; `reduce` is the part that adds up among invocations."""

    def __init__(self, device: Any, reduce: str) -> None:
        self.device = device
        size = subgroup_size(device)
        self.reduce = {**REDUCE, "SUBGROUP": size} if reduce == "reduce_subgroups" else REDUCE
        self.reduce_part = reduce
        self.module = cache(self._module)

    def _module(self, kernel: str, parts: tuple[str, ...]) -> Any:
        return self.device.create_shader_module(code=shader_source(kernel, parts))

    def run(
        self,
        kernel: str,
        constants: Mapping[str, float],
        buffers: Sequence[np.ndarray],
        workgroups: int | tuple[int, int, int],
        read: int | Sequence[int] = -1,
        parts: tuple[str, ...] = (),
    ) -> Any:
        """Dispatch `kernel` with the buffers bound in order; what buffer `read` holds afterwards, or each of them."""
        pipeline = self.device.create_compute_pipeline(
            layout="auto",
            compute={"module": self.module(kernel, parts), "entry_point": "main", "constants": dict(constants)},
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
        compute_pass.dispatch_workgroups(*(workgroups if isinstance(workgroups, tuple) else workgroup_grid(workgroups)))
        compute_pass.end()
        self.device.queue.submit([encoder.finish()])
        if isinstance(read, int):
            return self._read(made[read], buffers[read])
        return [self._read(made[n], buffers[n]) for n in read]

    def _read(self, buffer: Any, like: np.ndarray) -> np.ndarray:
        found = np.frombuffer(self.device.queue.read_buffer(buffer), like.dtype)
        return found[: like.size].reshape(like.shape)

    def elementwise(self, kernel: str, n: int, *buffers: np.ndarray, **constants: float) -> np.ndarray:
        """A kernel of one invocation an element of the last buffer."""
        return self.run(kernel, {"N": n, **constants}, buffers, -(-n // 64))

    def reduced(
        self,
        kernel: str,
        constants: Mapping[str, float],
        buffers: Sequence[np.ndarray],
        workgroups: Any,
        read: Any = -1,
        parts: tuple[str, ...] = (),
    ) -> Any:
        """A kernel for GPUs that adds up in its workgroup."""
        return self.run(kernel, {**self.reduce, **constants}, buffers, workgroups, read, (*parts, self.reduce_part))

    def rows(
        self,
        kernel: str,
        matrix: "Matrix",
        constants: Mapping[str, float],
        buffers: Sequence[np.ndarray],
        teams: int,
        multiply: tuple[str, ...] = ("products", "team_rows"),
        read: Any = -1,
    ) -> Any:
        """A kernel for GPUs on a matrix, `teams` groups of LANES invocations."""
        parts = ("rows", f"rows_{matrix.kind}", *multiply, self.reduce_part)
        sizes = {"COLUMNS": matrix.columns, **self.reduce, **constants}
        workgroups = -(-teams // (REDUCE["WORKGROUP"] // REDUCE["LANES"]))
        return self.run(kernel, sizes, [matrix.packed("rows"), *buffers], workgroups, read, parts)

    def columns(
        self,
        kernel: str,
        matrix: "Matrix",
        constants: Mapping[str, float],
        buffers: Sequence[np.ndarray],
        rows: int,
        read: Any = -1,
    ) -> Any:
        """A kernel for CPU adapters on a matrix, an invocation 4 of `rows` rows."""
        parts = ("columns", f"columns_{matrix.kind}")
        sizes = {"COLUMNS": matrix.columns, "STRIDE": padded(matrix.rows), **constants}
        workgroups = -(-padded(rows) // 128)
        return self.run(kernel + "_cpu", sizes, [matrix.packed("columns"), *buffers], workgroups, read, parts)


class Matrix:
    """A random matrix in one of the formats, with the values that it stands for. Quantised rows have whole blocks."""

    def __init__(self, kind: Format, rows: int, columns: int, seed: int) -> None:
        self.kind = kind
        self.rows = rows
        self.columns = padded(columns, BLOCKS[kind][0]) if kind in BLOCKS else columns
        rng = np.random.default_rng(seed)
        shape = (rows, self.columns)
        if kind in ("q6k", "q4k"):
            self._blocks, self.values = _super_blocks(kind, rows, self.columns, rng)
        elif kind in ("q4", "q8"):
            numbers = rng.integers(0, 16, shape, np.uint8) if kind == "q4" else rng.integers(-128, 128, shape, np.int8)
            scales, minima = (rng.standard_normal((2, rows, self.columns // 32)) / 16).astype(np.float16)
            self._blocks = Blocks(numbers, scales, minima if kind == "q4" else None)
            wide = np.repeat(scales.astype(np.float64), 32, axis=1)
            low = np.repeat(minima.astype(np.float64), 32, axis=1) if kind == "q4" else 0.0
            self.values = numbers * wide + low
        else:
            values = rng.standard_normal(shape).astype(np.float32)
            self.values = values.astype(np.float16 if kind == "f16" else np.float32).astype(np.float64)

    def packed(self, layout: Layout) -> np.ndarray:
        return pack(Stored(("w",), layout, self.kind, 0, self.rows, self.columns), self)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.values.astype(np.float32)

    def blocks(self, name: str) -> Blocks:
        return self._blocks


def _super_blocks(kind: Format, rows: int, columns: int, rng: np.random.Generator) -> tuple[Blocks, np.ndarray]:
    """Random blocks of 256 columns and their values."""
    scales, minima = (rng.standard_normal((2, rows, columns // 256)) / 256).astype(np.float16)
    wide = np.repeat(scales.astype(np.float64), 256, axis=1)
    if kind == "q6k":
        numbers = rng.integers(0, 64, (rows, columns), np.uint8)
        parts = rng.integers(-128, 128, (rows, columns // 16), np.int8)
        return Blocks(numbers, scales, None, parts), (numbers - 32.0) * wide * np.repeat(parts, 16, axis=1)
    numbers = rng.integers(0, 16, (rows, columns), np.uint8)
    parts, lows = rng.integers(0, 64, (2, rows, columns // 32), np.uint8)
    low = np.repeat(minima.astype(np.float64), 256, axis=1) * np.repeat(lows, 32, axis=1)
    return Blocks(numbers, scales, minima, parts, lows), numbers * wide * np.repeat(parts, 32, axis=1) - low


@pytest.fixture(scope="module", params=["reduce_barriers", "reduce_subgroups"])
def reducing(request: pytest.FixtureRequest) -> Bench:
    """Kernels that add up among invocations, both ways."""
    device = open_device()
    if request.param == "reduce_subgroups" and not subgroup_size(device):
        pytest.skip("this adapter has no regular subgroups")
    return Bench(device, request.param)


@pytest.fixture(scope="module")
def kernels(device: Any) -> Bench:
    return Bench(device, "reduce_barriers")


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
    _close(kernels.run("mean_cpu", {"N": n}, [x, _empty(1)], 1), x.mean(keepdims=True))
    mean = x.mean(keepdims=True)
    _close(kernels.run("add_eps", {"EPS": 0.25}, [mean, _empty(1)], 1), mean + 0.25)
    _close(kernels.run("rsqrt", {}, [mean, _empty(1)], 1), 1 / np.sqrt(mean))


@fewer
@given(n=fours, rows=st.integers(1, 3), seed=seeds)
def test_norms(reducing: Bench, n: int, rows: int, seed: int) -> None:
    x, gain = _random(seed, rows, n), _random(seed + 1, n)
    _close(reducing.reduced("mean", {"N": n}, [x[0], _empty(1)], 1), x[0].mean(keepdims=True))
    expected = _rms_norm(x, gain)
    sizes = {"COLUMNS": n, "EPS": 1e-5}
    _close(reducing.reduced("rms_norm", sizes, [x, gain, _empty(rows, n)], rows), expected)


@fewer
@given(n=fours, rows=st.integers(1, 3), seed=seeds)
def test_norm_cpu(kernels: Bench, n: int, rows: int, seed: int) -> None:
    x, gain, sizes = _random(seed, rows, n), _random(seed + 1, n), {"COLUMNS": n, "EPS": 1e-5, "ROWS": rows}
    _close(kernels.run("rms_norm_cpu", sizes, [x, gain, _empty(rows, n)], rows), _rms_norm(x, gain))


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


@every_format
@fewer
@given(n=fours, vocabulary=st.integers(5, 50), seed=seeds)
def test_embedding(kernels: Bench, kind: Format, n: int, vocabulary: int, seed: int) -> None:
    """Whole, and in two buffers of which one holds the token."""
    table = Matrix(kind, vocabulary, n, seed)
    n, token = table.columns, seed % vocabulary
    state, out = _state(0, token + 3), _empty(padded(n, 8))
    parts, sizes = ("rows", f"rows_{kind}"), {"COLUMNS": n, "ROWS": vocabulary, "FIRST": 3}
    found = kernels.run("embedding", sizes, [table.packed("rows"), state, out], -(-n // 256), parts=parts)
    _close(found[:n], table.values[token])
    elsewhere = {**sizes, "FIRST": token + 4}
    untouched = kernels.run("embedding", elsewhere, [table.packed("rows"), state, 0 * _random(1, n)], 1, parts=parts)
    assert not untouched.any()
    parts, sizes = ("columns", f"columns_{kind}"), {"COLUMNS": n, "STRIDE": padded(vocabulary), "FIRST": 3}
    found = kernels.run("embedding_cpu", sizes, [table.packed("columns"), state, _empty(n)], -(-n // 64), parts=parts)
    _close(found, table.values[token])


@every_format
@fewer
@given(rows=st.integers(1, 300), columns=fours, first=st.integers(0, 9), team=st.sampled_from([1, 2, 4]), seed=seeds)
def test_matvec(reducing: Bench, kind: Format, rows: int, columns: int, first: int, team: int, seed: int) -> None:
    """Rows from `first` on of a larger matrix, one, two or four a team; odd sizes, one row, one chunk."""
    w = Matrix(kind, first + rows + 3, columns, seed)
    x = _random(seed + 1, w.columns)
    sizes, buffers = {"ROWS": rows, "FIRST": first, "TEAM_ROWS": team}, [np.pad(x, (0, -x.size % 8)), _empty(rows)]
    expected = (w.values @ x)[first : first + rows]
    _near(reducing.rows("matvec", w, sizes, buffers, -(-rows // team)), expected)


@fewer
@given(rows=st.integers(1, 300), columns=fours, first=st.integers(0, 9), team=st.sampled_from([1, 2, 4]), seed=seeds)
def test_matvec_adds(reducing: Bench, rows: int, columns: int, first: int, team: int, seed: int) -> None:
    """A bias, or to what is there."""
    w = Matrix("f32", first + rows + 3, columns, seed)
    x, bias, y = _random(seed + 1, w.columns), _random(seed + 2, w.rows), _random(seed + 3, rows)
    expected = (w.values @ x)[first : first + rows]
    wide = np.pad(x, (0, -x.size % 8))
    sizes, teams = {"ROWS": rows, "FIRST": first, "TEAM_ROWS": team}, -(-rows // team)
    found = reducing.rows("matvec_bias", w, sizes, [wide, bias, _empty(rows)], teams)
    _near(found, expected + bias[first : first + rows])
    sizes = {"ROWS": rows, "TEAM_ROWS": team}
    _near(reducing.rows("matvec_add", w, sizes, [wide, y], teams), y + (w.values @ x)[:rows])


@every_format
@fewer
@given(quads=st.integers(1, 60), columns=fours, first=st.integers(0, 3), seed=seeds)
def test_matvec_cpu(kernels: Bench, kind: Format, quads: int, columns: int, first: int, seed: int) -> None:
    rows, first = 4 * quads, 4 * first
    w = Matrix(kind, first + rows, columns, seed)
    x = _random(seed + 1, w.columns)
    sizes, expected = {"ROWS": rows, "FIRST": first}, w.values @ x
    _near(kernels.columns("matvec", w, sizes, [x, _empty(rows)], rows), expected[first:])


@fewer
@given(quads=st.integers(1, 60), columns=fours, first=st.integers(0, 3), seed=seeds)
def test_matvec_cpu_adds(kernels: Bench, quads: int, columns: int, first: int, seed: int) -> None:
    rows, first = 4 * quads, 4 * first
    w = Matrix("f32", first + rows, columns, seed)
    x, bias, y = _random(seed + 1, w.columns), _random(seed + 2, w.rows), _random(seed + 3, w.rows)
    sizes, expected = {"ROWS": rows, "FIRST": first}, w.values @ x
    found = kernels.columns("matvec_bias", w, sizes, [x, bias, _empty(rows)], rows)
    _near(found, (expected + bias)[first:])
    _near(kernels.columns("matvec_add", w, {}, [x, y], w.rows), y + expected)


@fewer
@given(quads=st.integers(1, 30), first=st.integers(0, 3), columns=fours, seed=seeds)
def test_key_value(reducing: Bench, quads: int, first: int, columns: int, seed: int) -> None:
    rows, first = 4 * quads, 4 * first
    w = Matrix("f32", first + 2 * rows, columns, seed)
    x, bias = _random(seed + 1, columns), _random(seed + 2, w.rows)
    expected = (w.values @ x + bias)[first:]
    sizes, buffers = {"ROWS": rows, "FIRST": first}, [np.pad(x, (0, -x.size % 8)), bias, _empty(rows), _empty(rows)]
    _near(np.concatenate(reducing.rows("key_value", w, sizes, buffers, 2 * rows, read=(3, 4))), expected)
    if reducing.reduce_part == "reduce_barriers":  # the kernel for CPU adapters adds nothing up: once is enough
        _near(np.concatenate(reducing.columns("key_value", w, sizes, buffers, 2 * rows, read=(3, 4))), expected)


@two_formats
@fewer
@given(quads=st.integers(1, 30), columns=fours, seed=seeds)
def test_gate_and_up(reducing: Bench, kind: Format, quads: int, columns: int, seed: int) -> None:
    rows = 4 * quads
    w = Matrix(kind, 2 * rows, columns, seed)
    x, gain = _random(seed + 1, w.columns), _random(seed + 2, w.columns)
    wide, wide_gain = (np.pad(values, (0, -values.size % 8)) for values in (x, gain))
    sizes, out = {"ROWS": rows}, [_empty(rows), _empty(rows)]
    gate, up = np.split(w.values @ x, 2)
    found = reducing.rows("gate_up_silu", w, sizes, [wide, *out], rows, ("products",), read=(2, 3))
    _near(found[0], gate / (1 + np.exp(-gate)))
    _near(found[1], up)
    gate, up = np.split(w.values @ _rms_norm(x, gain), 2)
    sizes = {"ROWS": rows, "EPS": 1e-5}
    found = reducing.rows("norm_gate_up", w, sizes, [wide, wide_gain, out[0]], rows, ("normed_products",))
    _near(found, gate / (1 + np.exp(-gate)) * up)


@two_formats
@fewer
@given(quads=st.integers(1, 30), columns=fours, seed=seeds)
def test_gate_and_up_cpu(kernels: Bench, kind: Format, quads: int, columns: int, seed: int) -> None:
    rows = 4 * quads
    w = Matrix(kind, 2 * rows, columns, seed)
    x, sizes, out = _random(seed + 1, w.columns), {"ROWS": rows}, [_empty(rows), _empty(rows)]
    gate, up = np.split(w.values @ x, 2)
    silu = gate / (1 + np.exp(-gate))
    found = kernels.columns("gate_up_silu", w, sizes, [x, *out], rows, read=(2, 3))
    _near(found[0], silu)
    _near(found[1], up)
    _near(kernels.columns("gate_up", w, sizes, [x, out[0]], rows), silu * up)


@two_formats
@fewer
@given(rows=st.integers(1, 400), columns=fours, workgroups=st.integers(1, 5), seed=seeds)
def test_logits(reducing: Bench, kind: Format, rows: int, columns: int, workgroups: int, seed: int) -> None:
    """Any number of workgroups walks the whole matrix; the best of each is the best of what it walked."""
    w = Matrix(kind, rows, columns, seed)
    x, gain = _random(seed + 1, w.columns), _random(seed + 2, w.columns)
    wide, wide_gain = (np.pad(values, (0, -values.size % 8)) for values in (x, gain))
    parts = ("rows", f"rows_{kind}", "logits_walk", reducing.reduce_part)
    sizes = {"COLUMNS": w.columns, "ROWS": rows, "START": 2, **reducing.reduce}
    found = reducing.run("logits", sizes, [w.packed("rows"), wide, _empty(rows + 2)], workgroups, parts=parts)
    _near(found[2:], w.values @ x)
    best = np.zeros((workgroups + 1, 2), np.uint32)
    buffers = [w.packed("rows"), wide, wide_gain, _empty(rows + 2), best]
    sizes |= {"BEST": 1, "EPS": 1e-5}
    found, best = reducing.run("norm_logits", sizes, buffers, workgroups, (3, 4), parts)
    _near(found[2:], w.values @ _rms_norm(x, gain))
    values = best[1:, 0].copy().view(np.float32)
    assert best[1:, 1][np.argmax(values)] == 2 + np.argmax(found[2:])


@fewer
@given(
    kv_heads=st.integers(1, 3),
    group=st.integers(1, 4),
    quads=st.integers(1, 9),
    columns=fours,
    position=st.integers(0, 5),
    seed=seeds,
)
def test_norm_qkv_rope(
    reducing: Bench, kv_heads: int, group: int, quads: int, columns: int, position: int, seed: int
) -> None:
    """Against numpy, with the kernel for CPU adapters and prefills beside it. A position beyond the cache stays out."""
    heads, head_dim, capacity = kv_heads * group, 4 * quads, 5
    width, rows = kv_heads * head_dim, (heads + 2 * kv_heads) * head_dim
    w = Matrix("f32", rows, columns, seed)
    x, gain, bias = _random(seed + 1, columns), _random(seed + 2, columns), _random(seed + 3, rows)
    table = _random(seed + 4, capacity, head_dim // 2, 2)
    keys, values = _random(seed + 5, 2, capacity, width)
    turn = table[min(position, capacity - 1)]
    place = np.concatenate([turn, [[np.uint32(position).view(np.float32), 0]]]).astype(np.float32)
    sizes = {"HEADS": heads, "KV_HEADS": kv_heads, "HEAD_DIM": head_dim, "CAPACITY": capacity}
    wide, wide_gain = (np.pad(each, (0, -each.size % 8)) for each in (x, gain))
    buffers = [wide, wide_gain, bias, place, _empty(heads * head_dim), keys, values]
    q, found_keys, found_values = reducing.rows(
        "norm_qkv_rope", w, {**sizes, "EPS": 1e-5}, buffers, rows // 2, ("normed_products",), (5, 6, 7)
    )
    qkv = (w.values @ _rms_norm(x, gain) + bias).reshape(-1, head_dim)
    a, b = np.split(qkv, 2, axis=1)
    turned = np.concatenate([a * turn[:, 0] - b * turn[:, 1], b * turn[:, 0] + a * turn[:, 1]], axis=1)
    wanted_keys, wanted_values = keys.copy(), values.copy()
    if position < capacity:
        wanted_keys[position] = turned[heads : heads + kv_heads].reshape(-1)
        wanted_values[position] = qkv[heads + kv_heads :].reshape(-1)
    _near(q, turned[:heads].reshape(-1))
    _near(found_keys, wanted_keys)
    _near(found_values, wanted_values)
    if position < capacity and reducing.reduce_part == "reduce_barriers":
        buffers = [qkv.astype(np.float32), table, _state(position), _empty(heads * head_dim), keys, values]
        workgroups = (-(-rows // 128), 1, 1)
        found = reducing.run("rope_cache", sizes, buffers, workgroups, (3, 4, 5), ("texts",))
        for one, wanted in zip(found, (turned[:heads].reshape(-1), wanted_keys, wanted_values), strict=True):
            _near(one, wanted)


@few
@given(n=fours, half=st.integers(1, 40), position=st.integers(0, 6), seed=seeds)
def test_begin_step(kernels: Bench, n: int, half: int, position: int, seed: int) -> None:
    table, rotary = Matrix("f16", 9, n, seed), _random(seed, 5, half, 2)
    sizes = {"COLUMNS": n, "ROWS": 9, "HEAD_DIM": 2 * half, "CAPACITY": 5}
    buffers = [table.packed("rows"), _state(position, 4), rotary, _empty(padded(n, 8)), _empty(half + 1, 2)]
    parts = ("rows", "rows_f16")
    x, place = kernels.run("begin_step", sizes, buffers, -(-max(n, half + 1) // 64), (3, 4), parts)
    _close(x[:n], table.values[4])
    _close(place[:half], rotary[min(position, 4)])
    assert place[half, 0].view(np.uint32) == position


@every_format
@fewer
@given(rows=st.integers(1, 40), columns=fours, batch=st.integers(1, 5), add=st.booleans(), seed=seeds)
def test_matmul(kernels: Bench, kind: Format, rows: int, columns: int, batch: int, add: bool, seed: int) -> None:
    rows, tokens = 4 * rows, 8 * batch
    w = Matrix(kind, rows, columns, seed)
    x, bias, y = _random(seed + 1, tokens, w.columns), _random(seed + 2, rows), _random(seed + 3, tokens, rows)
    expected = x @ w.values.T + (y if add else bias)
    sizes = {"COLUMNS": w.columns, "TOKENS": tokens, "ADD": int(add)}
    workgroups = (-(-rows // 64), -(-tokens // 32), 1)
    buffers = [w.packed("rows"), x, bias, y]
    found = kernels.run("matmul", {**sizes, "ROWS": rows}, buffers, workgroups, parts=("rows", f"rows_{kind}"))
    _near(found, expected)
    workgroups = (-(-rows // 64), batch, 1)
    buffers = [w.packed("columns"), x, bias, y]
    parts = ("columns", f"columns_{kind}")
    _near(kernels.run("matmul_cpu", {**sizes, "STRIDE": rows}, buffers, workgroups, parts=parts), expected)


@few
@given(n=fours, position=st.integers(0, 4), seed=seeds)
def test_embedding_rows(kernels: Bench, n: int, position: int, seed: int) -> None:
    table, prompt = Matrix("f32", 12, n, seed), np.array([3, 11, 0, 5, 7, 2, 9, 1], np.uint32)
    wanted = table.values[prompt[position : position + 3]]
    tail = [_state(position), prompt, _empty(3, n)]
    sizes, workgroups = {"COLUMNS": n, "CAPACITY": 8}, (-(-n // 64), 3, 1)
    buffers, parts = [table.packed("rows"), *tail], ("texts", "rows", "rows_f32")
    _close(kernels.run("embedding_rows", {**sizes, "ROWS": 12}, buffers, workgroups, parts=parts), wanted)
    buffers, parts = [table.packed("columns"), *tail], ("texts", "columns", "columns_f32")
    _close(kernels.run("embedding_rows_cpu", {**sizes, "STRIDE": 12}, buffers, workgroups, parts=parts), wanted)


@few
@given(n=st.integers(1, 200), rows=st.integers(1, 4), seed=seeds)
def test_silu_mul(kernels: Bench, n: int, rows: int, seed: int) -> None:
    gate_up = 5 * _random(seed, rows, 2, n)
    gate, up = gate_up[:, 0], gate_up[:, 1]
    found = kernels.run("silu_mul", {"N": n}, [gate_up, _empty(rows, n)], (-(-n // 64), rows, 1))
    _near(found, gate / (1 + np.exp(-gate)) * up)


@pytest.mark.parametrize(("position", "length", "after"), [(0, 6, 4), (2, 6, 5), (5, 6, 5), (3, 0, 3), (0, 1, 0)])
def test_prefill_advance(kernels: Bench, position: int, length: int, after: int) -> None:
    """Four tokens on, but not behind the last but one; nowhere where no prompt is left."""
    prompt = np.array([10, 11, 12, 13, 14, 15, 0, 0], np.uint32)
    buffers = [prompt, _state(position, 99, length), np.zeros(9, np.uint32)]
    state, tokens = kernels.run("prefill_advance", {"TOKENS": 4}, buffers, 1, (1, 2))
    assert state[0] == after
    assert state[2] == (prompt[after] if after > position else 99)
    passed = range(position + 1, after + 1)
    assert tokens.tolist() == [int(prompt[i]) if i in passed else 0 for i in range(9)]


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


@fewer  # the slowest to compile
@given(
    kv_heads=st.integers(1, 4),
    group=st.integers(1, 4),
    quads=st.integers(1, 40),
    length=st.integers(1, 400),
    rows=st.integers(1, 3),
    seed=seeds,
)
@pytest.mark.parametrize("lanes", [1, 4])
def test_sdpa(
    reducing: Bench, lanes: int, kv_heads: int, group: int, quads: int, length: int, rows: int, seed: int
) -> None:
    """Row r of a batch sees r positions more; what lies behind them must not matter."""
    heads, head_dim, capacity = kv_heads * group, 4 * quads, 402
    q = 3 * _random(seed, rows, heads, head_dim)
    keys, values = _random(seed + 1, 2, capacity, kv_heads, head_dim)
    keys[length + rows - 1 :], values[length + rows - 1 :] = 1e6, 1e6
    constants = _attention_sizes(heads, kv_heads, head_dim, capacity)
    buffers = [q, keys, values, _state(length - 1), _empty(rows, heads, head_dim)]
    expected = np.stack(
        [
            attend(q[r, h], keys[: length + r, h // group], values[: length + r, h // group], head_dim**-0.5)
            for r in range(rows)
            for h in range(heads)
        ]
    ).reshape(rows, heads, head_dim)
    found = reducing.reduced(
        "sdpa", {**constants, "LANES": lanes}, buffers, (heads, rows, 1), parts=("attend", "texts")
    )
    _close(found, expected)
    if lanes == 1 and reducing.reduce_part == "reduce_barriers":
        _close(reducing.run("sdpa_cpu", constants, buffers, (heads, rows, 1), parts=("texts",)), expected)


@fewer
@given(
    kv_heads=st.integers(1, 3),
    group=st.integers(1, 4),
    quads=st.integers(1, 20),
    length=st.integers(1, 100),
    splits=st.integers(2, 5),
    rows=st.integers(1, 40),
    seed=seeds,
)
def test_split_attention(
    reducing: Bench, kv_heads: int, group: int, quads: int, length: int, splits: int, rows: int, seed: int
) -> None:
    """Whatever the splits have to do, some of them nothing, `merge_add` makes attention of it. Reading ahead changes
    nothing.
    """
    heads, head_dim, capacity = kv_heads * group, 4 * quads, 100
    q = 3 * _random(seed, heads, head_dim)
    keys, values = _random(seed + 1, 2, capacity, kv_heads, head_dim)
    keys[length:], values[length:] = np.inf, np.nan
    ahead, sink = np.full(4 * 700, 7, np.uint32), np.zeros(4, np.uint32)
    buffers = [q, keys, values, _state(length - 1), _empty(splits * heads, head_dim + 4), ahead, sink]
    sizes = {**_attention_sizes(heads, kv_heads, head_dim, capacity), "SPLITS": splits}
    workgroups = heads * splits + 2
    parts, sink = reducing.reduced("sdpa_split", sizes, buffers, workgroups, (4, 6), ("attend", "texts"))
    assert not sink.any()

    w, y = Matrix("f32", rows, heads * head_dim, seed), _random(seed + 2, rows)
    sizes = {"ROWS": rows, "HEADS": heads, "HEAD_DIM": head_dim, "SPLITS": splits}
    attended = [
        attend(q[h], keys[:length, h // group], values[:length, h // group], head_dim**-0.5) for h in range(heads)
    ]
    _near(reducing.rows("merge_add", w, sizes, [parts, y], rows, ()), y + w.values @ np.concatenate(attended))


def _attention_sizes(heads: int, kv_heads: int, head_dim: int, capacity: int) -> dict[str, float]:
    return {
        "HEADS": heads,
        "KV_HEADS": kv_heads,
        "HEAD_DIM": head_dim,
        "CAPACITY": capacity,
        "SCALE": head_dim**-0.5,
    }


@few
@given(n=st.integers(1, 5000), ties=st.booleans(), seed=seeds)
def test_argmax_then_advance(kernels: Bench, n: int, ties: bool, seed: int) -> None:
    logits = _random(seed, n) - 5
    if ties:
        logits = np.round(logits)
    for kernel, parts, workgroups in (("argmax", 3, 3), ("argmax_cpu", 256, 4)):
        buffers = [logits, np.zeros((parts, 2), np.uint32)]
        best = kernels.run(kernel, {"N": n, "PARTS": parts}, buffers, workgroups)
        _assert_advances_to(kernels, best, int(np.argmax(logits)))


def _assert_advances_to(kernels: Bench, best: np.ndarray, expected: int) -> None:
    state, tokens = _advance(kernels, best, position=2, prompt=[5, 6, 7])
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


def test_stop_tokens_stop(kernels: Bench) -> None:
    """A chosen stop token is noted and stops the text; one inside the prompt does not."""
    best = np.array([[np.float32(1).view(np.uint32), 7]], np.uint32)
    state, tokens = _advance(kernels, best, position=2, prompt=[5, 6, 7], stops=[9, 7])
    assert (state[0], state[3], tokens[3]) == (3, 1, 7)
    state, _ = _advance(kernels, best, position=1, prompt=[5, 6, 7], stops=[9, 7])
    assert (state[0], state[2], state[3]) == (2, 7, 0)
    state, tokens = _advance(kernels, best, position=2, prompt=[5, 6, 7], stopped=1)
    assert state[0] == 2
    assert not tokens.any()


def _advance(
    kernels: Bench,
    best: np.ndarray,
    *,
    position: int,
    prompt: list[int],
    stops: Sequence[int] = (),
    stopped: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """State and tokens after the kernel, with a context of 4."""
    buffers = [
        best,
        np.array(prompt, dtype=np.uint32),
        np.array([len(stops), *stops], dtype=np.uint32),
        np.array([position, len(prompt), 0, stopped, 0, 0, 0, 0], dtype=np.uint32),
        np.zeros(5, dtype=np.uint32),
    ]
    state, tokens = kernels.run("advance", {"PARTS": len(best), "CAPACITY": 4}, buffers, 1, (3, 4), ("texts",))
    return state, tokens


def _random(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _empty(*shape: int) -> np.ndarray:
    return np.full(shape, np.nan, dtype=np.float32)


def _state(position: int, token: int = 0, prompt_length: int = 0) -> np.ndarray:
    return np.array([position, prompt_length, token, 0, 0, 0, 0, 0], dtype=np.uint32)


def _rms_norm(x: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """In float64, with an epsilon of 1e-5."""
    x = x.astype(np.float64)
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5) * gain


def _filled(data: np.ndarray) -> np.ndarray:
    """The bytes, filled up to a multiple of 16: no binding is smaller than a vec4."""
    raw = np.ascontiguousarray(data).view(np.uint8).reshape(-1)
    return np.pad(raw, (0, -raw.size % 16))


def _close(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


def _near(found: np.ndarray, expected: np.ndarray) -> None:
    """As near as sums in float32 come, whatever their order: by the size of the terms."""
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-5 * max(1.0, float(np.abs(expected).max())))
