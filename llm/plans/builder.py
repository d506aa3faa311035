"""Collects the ops, scratch buffers and weights of a plan: how kernels are put together, not what they compute."""

import math
from collections.abc import Mapping

from llm.config import ModelConfig
from llm.plans.plan import Layout, Op, Plan, Stored, padded, row_bytes, workgroup_grid
from llm.plans.shapes import Shape
from llm.plans.target import Target
from llm.tensors import expected_shapes

FLOAT = 4
PAIR = 8
ELEMENTS_A_WORKGROUP = 64
# Scratch buffers are filled up to whole chunks of 8 floats, which kernels read past the end of an odd width.
CHUNK_BYTES = 32

Constants = Mapping[str, float]


class Builder:
    """The base of all plans. Ops that return a name return that of the buffer they wrote.

    `layers_share`: the layers use the same scratch buffers one after another. Who writes a buffer again has to wait
    until it has been read, which costs as much as a small kernel.
    """

    layers_share = True

    def __init__(self, name: str, config: ModelConfig, target: Target) -> None:
        self.name = name
        self.config = config
        self.target = target
        self.cpu = target.kernels == "cpu"
        self.capacity = target.capacity
        self.prefix = ""  # of the names of scratch buffers
        self.ops: list[Op] = []
        self.scratch: dict[str, int] = {}
        self.weights: dict[str, Stored] = {}
        self._shapes = expected_shapes(config)

    def finish(self, sampling_from: int) -> Plan:
        """The plan; the ops from index `sampling_from` on choose the token."""
        return Plan(
            name=self.name,
            kernels=self.target.kernels,
            capacity=self.capacity,
            forward=tuple(self.ops[:sampling_from]),
            sampling=tuple(self.ops[sampling_from:]),
            scratch=self.scratch,
            weights=self.weights,
        )

    # Weights.

    def vector(self, name: str, *sources: str) -> str:
        """The vectors `sources` behind each other. A q, k, v bias that the model does not have is zeros."""
        known = tuple(source for source in sources or (name,) if source in self._shapes)
        if known:
            rows = sum(self._shapes[source][0] for source in known)
            self.weights[name] = Stored(known, "vector", "f32", 0, rows, 1)
        return name

    def matrix(self, name: str, *sources: str) -> str:
        """The matrices `sources`, by default `name` itself, below each other."""
        sources = sources or (name,)
        rows = sum(self._shapes[source][0] for source in sources)
        self.weights[name] = self._stored(sources, 0, rows)
        return name

    def slices(self, name: str) -> list[tuple[str, int, int]]:
        """The matrix `name` in as few buffers as the binding limit allows: (buffer, first row, rows) of each."""
        rows, columns = self._shapes[name]
        kind = self.target.format_of(name)
        width = row_bytes(kind, columns if self.cpu else padded(columns, 8))
        most = max(4, self.target.binding_limit // width // 4 * 4)
        count = math.ceil(rows / most)
        if count == 1:
            return [(self.matrix(name), 0, rows)]
        step = padded(math.ceil(rows / count))
        cut = []
        for n, first in enumerate(range(0, rows, step)):
            part = f"{name}.{n}"
            self.weights[part] = self._stored((name,), first, min(step, rows - first))
            cut.append((part, first, self.weights[part].rows))
        return cut

    def _stored(self, sources: tuple[str, ...], first: int, rows: int) -> Stored:
        layout: Layout = "columns" if self.cpu else "rows"
        return Stored(sources, layout, self.target.format_of(*sources), first, rows, self._shapes[sources[0]][1])

    # Kernels.

    def reduced(self, shape: Shape) -> tuple[tuple[str, ...], dict[str, float]]:
        """Parts and constants of a kernel whose invocations add up among themselves."""
        constants: dict[str, float] = {"WORKGROUP": shape.workgroup, "LANES": shape.lanes}
        if self.target.kernels == "gpu-subgroups":
            return ("reduce_subgroups",), {**constants, "SUBGROUP": self.target.subgroup}
        return ("reduce_barriers",), constants

    def of_matrix(self, weight: str) -> tuple[tuple[str, ...], dict[str, float]]:
        """Parts and constants of a kernel that reads the buffer `weight`."""
        stored = self.weights[weight]
        layout = "columns" if self.cpu else "rows"
        constants: dict[str, float] = {"COLUMNS": stored.columns}
        if self.cpu:
            constants["STRIDE"] = padded(stored.rows)
        half = "_half" if stored.format == "f16" and self.target.half else ""
        return (layout, f"{layout}_{stored.format}{half}"), constants

    def rows_op(
        self,
        op: str,
        category: str,
        kernel: str,
        buffers: tuple[str, ...],
        teams: int,
        shape: Shape,
        constants: Constants,
        multiply: tuple[str, ...] = ("products",),
    ) -> None:
        """A kernel for GPUs on the matrix `buffers[0]`, `teams` groups of `shape.lanes` invocations in all."""
        reduce_parts, reduce_constants = self.reduced(shape)
        parts, sizes = self.of_matrix(buffers[0])
        workgroups = workgroup_grid(math.ceil(teams / shape.teams))
        merged = {**sizes, **reduce_constants, **constants}
        self.add_op(op, category, kernel, merged, buffers, workgroups, (*parts, *multiply, *reduce_parts))

    def matvec_op(
        self,
        op: str,
        category: str,
        kernel: str,
        buffers: tuple[str, ...],
        rows: int,
        shape: Shape,
        constants: Constants,
    ) -> None:
        """A kernel for GPUs that multiplies `rows` rows of the matrix `buffers[0]`, `shape.rows` a team."""
        constants = {**constants, "TEAM_ROWS": shape.rows}
        teams = math.ceil(rows / shape.rows)
        self.rows_op(op, category, kernel, buffers, teams, shape, constants, ("products", "team_rows"))

    def quads_op(
        self, op: str, category: str, kernel: str, buffers: tuple[str, ...], rows: int, constants: Constants
    ) -> None:
        """A kernel for CPU adapters on the matrix `buffers[0]`, one invocation 4 of `rows` rows."""
        parts, sizes = self.of_matrix(buffers[0])
        workgroups = workgroup_grid(math.ceil(padded(rows) / 4 / 32))
        self.add_op(op, category, kernel + "_cpu", {**sizes, **constants}, buffers, workgroups, parts)

    def elementwise(
        self,
        op: str,
        category: str,
        kernel: str,
        n: int,
        inputs: tuple[str, ...],
        *,
        size: int = FLOAT,
        early: tuple[str, ...] = (),
        **constants: float,
    ) -> str:
        """One invocation an element of `size` bytes of the output."""
        return self.op(op, category, kernel, inputs, n * size, elements(n)[0], early=early, N=n, **constants)

    def op(
        self,
        op: str,
        category: str,
        kernel: str,
        inputs: tuple[str, ...],
        size: int,
        workgroups: int,
        *,
        early: tuple[str, ...] = (),
        **constants: float,
    ) -> str:
        """An op without parts that writes a scratch buffer of `size` bytes."""
        out = self.room(op, size)
        self.add_op(op, category, kernel, constants, (*inputs, out), workgroup_grid(workgroups), early=early)
        return out

    def room(self, op: str, size: int) -> str:
        """A scratch buffer of at least `size` bytes, named after what the layers have in common where they share it."""
        out = self.prefix + (shared_name(op) if self.layers_share else own_name(op))
        self.scratch[out] = max(padded(size, CHUNK_BYTES), self.scratch.get(out, 0))
        return out

    def add_op(
        self,
        name: str,
        category: str,
        kernel: str,
        constants: Constants,
        buffers: tuple[str, ...],
        workgroups: tuple[int, int, int],
        parts: tuple[str, ...] = (),
        early: tuple[str, ...] = (),
    ) -> None:
        """Any op."""
        self.ops.append(Op(name, category, kernel, parts, tuple(constants.items()), buffers, workgroups, early))


def elements(count: int) -> tuple[int, int, int]:
    """Workgroups for one invocation an element."""
    return (math.ceil(count / ELEMENTS_A_WORKGROUP), 1, 1)


def shared_name(op: str) -> str:
    """`layer.3.attn.q` -> `attn.q`: the layers run one after another and share their scratch buffers."""
    return op.split(".", 2)[2] if op.startswith("layer.") else op


def own_name(op: str) -> str:
    """`layer.3.attn.q` -> `layer.3.attn.q.out`: a name that no weight has."""
    return f"{op}.out" if op.startswith("layer.") else op
