"""Adds ops to a plan, one method an operation: which shader, constants, bindings and workgroups it needs.

The two kernel sets differ where work is shared inside a workgroup: `gpu` adds up with barriers, `cpu` leaves
almost all work to single invocations, which software drivers run five to ten times faster.
"""

import math
from collections.abc import Mapping

from llm.config import ModelConfig
from llm.plans.plan import KernelSet, Op, Plan, padded, workgroup_grid

FLOAT = 4
PAIR = 8
ELEMENTS_A_WORKGROUP = 64
ARGMAX_PARTS = 1024


class PlanBuilder:
    """Collects the ops and scratch buffers of a plan. Each method returns the name of the buffer it wrote."""

    def __init__(self, name: str, config: ModelConfig, kernels: KernelSet, capacity: int) -> None:
        self.name = name
        self.config = config
        self.kernels = kernels
        self.capacity = capacity
        self.ops: list[Op] = []
        self.scratch: dict[str, int] = {}
        self.transposed: set[str] = set()

    def finish(self, sampling_from: int) -> Plan:
        """The plan; the ops from index `sampling_from` on choose the token."""
        return Plan(
            name=self.name,
            kernels=self.kernels,
            capacity=self.capacity,
            forward=tuple(self.ops[:sampling_from]),
            sampling=tuple(self.ops[sampling_from:]),
            scratch=self.scratch,
            transposed=frozenset(self.transposed),
        )

    # One float or element-wise: the same kernel everywhere.

    def pow(self, op: str, x: str, n: int) -> str:
        return self._elementwise(op, "pow", "pow", n, (x,))

    def add(self, op: str, a: str, b: str, n: int) -> str:
        return self._elementwise(op, "add", "add", n, (a, b))

    def silu(self, op: str, x: str, n: int) -> str:
        return self._elementwise(op, "silu", "silu", n, (x,))

    def mul(self, op: str, a: str, b: str, n: int, period: int | None = None) -> str:
        return self._elementwise(op, "mul", "mul", n, (a, b), PERIOD=n if period is None else period)

    def neg(self, op: str, x: str, n: int) -> str:
        return self._elementwise(op, "neg", "neg", n // 2, (x,), HEAD_DIM=self.config.head_dim)

    def cat(self, op: str, negated: str, x: str, n: int) -> str:
        return self._elementwise(op, "cat", "cat", n, (negated, x), HEAD_DIM=self.config.head_dim)

    def add_eps(self, op: str, x: str) -> str:
        return self._op(op, "add", "add_eps", (x,), FLOAT, 1, EPS=self.config.norm_eps)

    def rsqrt(self, op: str, x: str) -> str:
        return self._op(op, "rsqrt", "rsqrt", (x,), FLOAT, 1)

    def rotary_matmul(self, op: str) -> str:
        n = self.config.head_dim // 2
        inputs = ("rotary.table", "state")
        return self._elementwise(op, "matmul", "rotary_matmul", n, inputs, size=PAIR, CAPACITY=self.capacity)

    def rotary_cat(self, op: str, angles: str) -> str:
        return self._elementwise(op, "cat", "rotary_cat", self.config.head_dim, (angles,), size=PAIR)

    def rotary_mul(self, op: str, angles: str, part: int) -> str:
        return self._elementwise(op, "mul", "rotary_mul", self.config.head_dim, (angles,), PART=part)

    def cache_append(self, op: str, x: str, cache: str) -> str:
        width = self.config.kv_width
        self.scratch[cache] = self.capacity * width * FLOAT
        constants = {"WIDTH": width, "CAPACITY": self.capacity}
        self._add(op, "cat", "cache_append", constants, (x, "state", cache), _workgroups(width))
        return cache

    # Where the adapter decides.

    def embedding(self, op: str) -> str:
        n = self.config.hidden
        if self.kernels == "cpu" and self.config.tied_output:
            stride = padded(self.config.vocab)
            inputs = ("embedding", "state")
            return self._elementwise(op, "embedding", "embedding_columns", n, inputs, STRIDE=stride)
        return self._elementwise(op, "embedding", "embedding", n, ("embedding", "state"))

    def mean(self, op: str, x: str, n: int) -> str:
        return self._op(op, "mean", "mean_cpu" if self.kernels == "cpu" else "mean", (x,), FLOAT, 1, N=n)

    def linear(self, op: str, weight: str, x: str, rows: int, columns: int, bias: str | None = None) -> str:
        kernel = "matvec" if bias is None else "matvec_bias"
        inputs = (weight, x) if bias is None else (weight, x, bias)
        if self.kernels == "cpu":
            self.transposed.add(weight)
            quads = padded(rows) // 4
            return self._op(
                op,
                "linear",
                kernel + "_cpu",
                inputs,
                quads * 4 * FLOAT,
                math.ceil(quads / 32),
                ROWS=quads * 4,
                COLUMNS=columns,
            )
        return self._op(op, "linear", kernel, inputs, rows * FLOAT, math.ceil(rows / 4), ROWS=rows, COLUMNS=columns)

    def sdpa(self, op: str, q: str, keys: str, values: str) -> str:
        config = self.config
        constants = {
            "HEADS": config.heads,
            "KV_HEADS": config.kv_heads,
            "HEAD_DIM": config.head_dim,
            "CAPACITY": self.capacity,
            "SCALE": config.head_dim**-0.5,
        }
        inputs, size = (q, keys, values, "state"), config.q_width * FLOAT
        if self.kernels == "cpu":
            return self._op(op, "sdpa", "sdpa_cpu", inputs, size, config.heads, **constants)
        return self._op(op, "sdpa", "sdpa", inputs, size, config.heads, **constants)

    # The choice of the token.

    def argmax(self, op: str, logits: str) -> str:
        workgroups = _workgroups(ARGMAX_PARTS)[0]
        size = ARGMAX_PARTS * PAIR
        return self._op(op, "argmax", "argmax", (logits,), size, workgroups, N=self.config.vocab, PARTS=ARGMAX_PARTS)

    def advance(self, op: str, best: str) -> None:
        constants = {"PARTS": ARGMAX_PARTS, "CAPACITY": self.capacity}
        self._add(op, "advance", "advance", constants, (best, "prompt", "state", "tokens"), (1, 1, 1))

    def _elementwise(
        self,
        op: str,
        category: str,
        kernel: str,
        n: int,
        inputs: tuple[str, ...],
        *,
        size: int = FLOAT,
        **constants: float,
    ) -> str:
        return self._op(op, category, kernel, inputs, n * size, _workgroups(n)[0], N=n, **constants)

    def _op(
        self,
        op: str,
        category: str,
        kernel: str,
        inputs: tuple[str, ...],
        size: int,
        workgroups: int,
        **constants: float,
    ) -> str:
        """An op that writes a scratch buffer of `size` bytes, named after what the layers have in common."""
        out = _shared_name(op)
        self.scratch[out] = max(size, self.scratch.get(out, 0))
        self._add(op, category, kernel, constants, (*inputs, out), workgroup_grid(workgroups))
        return out

    def _add(
        self,
        name: str,
        category: str,
        kernel: str,
        constants: Mapping[str, float],
        buffers: tuple[str, ...],
        workgroups: tuple[int, int, int],
    ) -> None:
        self.ops.append(Op(name, category, kernel, tuple(constants.items()), buffers, workgroups))


def _workgroups(elements: int) -> tuple[int, int, int]:
    return (math.ceil(elements / ELEMENTS_A_WORKGROUP), 1, 1)


def _shared_name(op: str) -> str:
    """`layer.3.attn.q` -> `attn.q`: the layers run one after another and share their scratch buffers."""
    return op.split(".", 2)[2] if op.startswith("layer.") else op
