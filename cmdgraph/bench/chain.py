"""The work that the strategies are compared on: a chain of tiny dispatches whose result numpy can tell.

Each dispatch reads two buffers and writes a third, `out = a * m + (b ^ k)` on unsigned integers, so a result
is right to the bit or wrong, and every dispatch matters to the end state. As in a model's decode step, `a` is
what the dispatch before has written, and `b` is a weight that nothing writes; every dispatch has a bind group of
its own, and most change the pipeline. With floating-point numbers it is `out = |a - min(b, k)|` on whole numbers that
16 bits hold exactly.
"""

from __future__ import annotations

import copy
import itertools
import random
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from cmdgraph.bench.method import MeasurementError

__all__ = [
    "BINDINGS",
    "BUFFERS",
    "ELEMENTS",
    "F16",
    "F32",
    "LINKS",
    "PIPELINES",
    "U32",
    "Arithmetic",
    "Chain",
    "Step",
    "make_steps",
]

BINDINGS = 3
BUFFERS = 64
PIPELINES = 12
LINKS = ("chain", "scattered")
ELEMENTS = 64  # of u32 in each buffer; one workgroup

SHADER = """{enable}
@group(0) @binding(0) var<storage, read> a: array<{type}>;
@group(0) @binding(1) var<storage, read> b: array<{type}>;
@group(0) @binding(2) var<storage, read_write> out: array<{type}>;

@compute @workgroup_size({elements})
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
    out[id.x] = {value};
}}
"""


@attrs.frozen
class Arithmetic:
    """What a dispatch computes from `a` and `b`, in WGSL and in numpy, by the number of its pipeline.

    ``below`` bounds the numbers that the buffers start with; ``needs`` is the feature that a device must have.
    """

    type: str
    dtype: Any
    below: int
    wgsl: Callable[[int], str]
    numpy: Callable[[int, np.ndarray, np.ndarray], np.ndarray]
    needs: str | None = None

    def code(self, pipeline: int) -> str:
        """The shader of a pipeline."""
        enable = "enable f16;" if self.type == "f16" else ""
        return SHADER.format(enable=enable, type=self.type, elements=ELEMENTS, value=self.wgsl(pipeline))


def _factors(pipeline: int) -> tuple[int, int]:
    return 2 * pipeline + 3, 0x9E3779B9 * (pipeline + 1) % 2**32


def _whole(pipeline: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    multiplier, mask = _factors(pipeline)
    return a * np.uint32(multiplier) + (b ^ np.uint32(mask))


def _distance(pipeline: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.abs(a - np.minimum(b, a.dtype.type(700 + pipeline)))


def _real(name: str, dtype: Any, needs: str | None = None) -> Arithmetic:
    def wgsl(pipeline: int) -> str:
        return f"abs(a[id.x] - min(b[id.x], {name}({700 + pipeline})))"

    return Arithmetic(name, dtype, 1024, wgsl, _distance, needs)


U32 = Arithmetic(
    "u32",
    np.uint32,
    2**32,
    lambda pipeline: "a[id.x] * {}u + (b[id.x] ^ {}u)".format(*_factors(pipeline)),
    _whole,
)
F32 = _real("f32", np.float32)
F16 = _real("f16", np.float16, "shader-f16")


@attrs.frozen
class Step:
    """One dispatch: which pipeline, which buffers."""

    pipeline: int
    a: int
    b: int
    out: int


def make_steps(count: int, seed: int, links: str = "chain") -> list[Step]:
    """`count` steps over the buffers and pipelines, always the same ones for a seed.

    ``links`` says how they hang together: in a "chain" each reads what the one before wrote; "scattered" steps go from
    any buffer to any other, so that several in a row often do not concern each other.
    """
    draw = random.Random(seed)
    if links == "scattered":
        pairs = (draw.sample(range(BUFFERS), 2) for _ in range(count))
        return [Step(pipeline=draw.randrange(PIPELINES), a=a, b=a, out=out) for a, out in pairs]
    half = BUFFERS // 2  # below: weights; from here on: results, written in turn
    return [
        Step(
            pipeline=draw.randrange(PIPELINES),
            a=half + n % half,
            b=draw.randrange(half),
            out=half + (n + 1) % half,
        )
        for n in range(count)
    ]


class Chain:
    """The chain on a device, and its twin in numpy."""

    def __init__(
        self, device: Any, count: int, seed: int = 0, arithmetic: Arithmetic = U32, links: str = "chain"
    ) -> None:
        self.device = device
        self.links = links
        self.steps = make_steps(count, seed, links)
        self.arithmetic = arithmetic
        start = np.random.default_rng(seed).integers(0, arithmetic.below, (BUFFERS, ELEMENTS), dtype=np.uint32)
        self._start = start.astype(arithmetic.dtype)
        # Usage bits by number (STORAGE, COPY_DST, COPY_SRC): the same for every implementation's flags.
        self._buffers = [
            device.create_buffer(label=f"state {n}", size=self._start[0].nbytes, usage=0x80 | 0x8 | 0x4)
            for n in range(BUFFERS)
        ]
        self.layout = device.create_bind_group_layout(
            entries=[
                {"binding": 0, "visibility": 4, "buffer": {"type": "read-only-storage"}},
                {"binding": 1, "visibility": 4, "buffer": {"type": "read-only-storage"}},
                {"binding": 2, "visibility": 4, "buffer": {"type": "storage"}},
            ]
        )
        pipelines = self._make_pipelines()
        #: What a user's loop goes through: (pipeline, bind group) for each dispatch.
        self.calls = [(pipelines[step.pipeline], self._bind(step)) for step in self.steps]

    def first(self, count: int) -> Chain:
        """The first `count` dispatches as a chain of their own, on the same buffers."""
        part = copy.copy(self)
        part.steps, part.calls = self.steps[:count], self.calls[:count]
        return part

    def buffers_of(self, step: Step) -> list[Any]:
        """What a step binds, in order."""
        return [self._buffers[number] for number in (step.a, step.b, step.out)]

    def entries(self, step: Step) -> list[dict[str, Any]]:
        """The same as the entries of a bind group."""
        return [{"binding": n, "resource": {"buffer": buffer}} for n, buffer in enumerate(self.buffers_of(step))]

    def reset(self) -> None:
        """Puts the buffers back to the start state."""
        for buffer, values in zip(self._buffers, self._start, strict=True):
            self.device.queue.write_buffer(buffer, 0, values)

    def state(self) -> np.ndarray:
        """What the buffers hold now; waits for the GPU."""
        read = self.device.queue.read_buffer
        return np.stack([np.frombuffer(read(buffer), self.arithmetic.dtype) for buffer in self._buffers])

    def wait(self) -> None:
        """Waits for all submitted work with what the public API offers: a read of four bytes."""
        self.device.queue.read_buffer(self._buffers[0], 0, 4)

    def expected(self, times: int, more: int = 0) -> np.ndarray:
        """The state after `times` runs of the chain and its first `more` steps, from the start state."""
        state = self._start.copy()
        for step in itertools.chain(*itertools.repeat(self.steps, times), self.steps[:more]):
            state[step.out] = self.arithmetic.numpy(step.pipeline, state[step.a], state[step.b])
        return state

    def require(self, run: Callable[[], object], times: int = 2) -> bool:
        """Whether `times` calls of `run`, which runs the chain once and waits, leave what numpy computes.

        Twice by default, so that a replay which only works the first time is caught as well.

        Raises:
            MeasurementError: they do not.
        """
        self.reset()
        for _ in range(times):
            run()
        return self.equals_numpy(times)

    def equals_numpy(self, times: int, more: int = 0) -> bool:
        """Whether the buffers hold what numpy computes for `times` runs and `more` steps from the start state.

        Raises:
            MeasurementError: they do not.
        """
        wrong = np.flatnonzero((self.state() != self.expected(times, more)).any(axis=1))
        if wrong.size:
            raise MeasurementError(f"{wrong.size} of {BUFFERS} buffers differ from numpy, first {wrong[0]}")
        return True

    def _make_pipelines(self) -> list[Any]:
        pipeline_layout = self.device.create_pipeline_layout(bind_group_layouts=[self.layout])
        pipelines = []
        for number in range(PIPELINES):
            module = self.device.create_shader_module(code=self.arithmetic.code(number))
            compute = {"module": module, "entry_point": "main"}
            pipelines.append(self.device.create_compute_pipeline(layout=pipeline_layout, compute=compute))
        return pipelines

    def _bind(self, step: Step) -> Any:
        return self.device.create_bind_group(layout=self.layout, entries=self.entries(step))
