"""The operations of a decoder as ops of a plan: which shader, constants, bindings and workgroups each needs.

The kernel sets differ where work is shared inside a workgroup: those for GPUs add up with subgroups or barriers, the
one for CPU adapters leaves almost all work to single invocations, which software drivers run five to ten times faster.
"""

import math

from llm.plans.builder import FLOAT, PAIR, Builder, Constants, elements
from llm.plans.plan import padded

# The input of the output matrix has to fit into the 16 KiB of workgroup memory that every device has.
MOST_STAGED = 3072


class PlanBuilder(Builder):
    """What the paper's plans are made of, sampling included."""

    # One float or element-wise: the same kernel everywhere.

    def pow(self, op: str, x: str, n: int) -> str:
        return self.elementwise(op, "pow", "pow", n, (x,))

    def add(self, op: str, a: str, b: str, n: int, early: tuple[str, ...] = ()) -> str:
        return self.elementwise(op, "add", "add", n, (a, b), early=early)

    def silu(self, op: str, x: str, n: int) -> str:
        return self.elementwise(op, "silu", "silu", n, (x,))

    def mul(self, op: str, a: str, b: str, n: int, period: int | None = None, early: tuple[str, ...] = ()) -> str:
        return self.elementwise(op, "mul", "mul", n, (a, b), early=early, PERIOD=n if period is None else period)

    def neg(self, op: str, x: str, n: int) -> str:
        return self.elementwise(op, "neg", "neg", n // 2, (x,), HEAD_DIM=self.config.head_dim)

    def cat(self, op: str, negated: str, x: str, n: int, early: tuple[str, ...] = ()) -> str:
        return self.elementwise(op, "cat", "cat", n, (negated, x), early=early, HEAD_DIM=self.config.head_dim)

    def add_eps(self, op: str, x: str) -> str:
        return self.op(op, "add", "add_eps", (x,), FLOAT, 1, EPS=self.config.norm_eps)

    def rsqrt(self, op: str, x: str) -> str:
        return self.op(op, "rsqrt", "rsqrt", (x,), FLOAT, 1)

    def rotary_matmul(self, op: str) -> str:
        n = self.config.head_dim // 2
        return self.elementwise(
            op, "matmul", "rotary_matmul", n, ("rotary.table", "state"), size=PAIR, CAPACITY=self.capacity
        )

    def rotary_cat(self, op: str, angles: str) -> str:
        return self.elementwise(op, "cat", "rotary_cat", self.config.head_dim, (angles,), size=PAIR)

    def rotary_mul(self, op: str, angles: str, part: int) -> str:
        return self.elementwise(op, "mul", "rotary_mul", self.config.head_dim, (angles,), PART=part)

    def cache(self, name: str) -> str:
        """Room for the keys or values of all positions of all texts."""
        return self.room_named(name, self.target.texts * self.capacity * self.config.kv_width * FLOAT)

    def cache_append(self, op: str, x: str, cache: str) -> str:
        width = self.config.kv_width
        constants = {"WIDTH": width, "CAPACITY": self.capacity}
        self.add_op(op, "cat", "cache_append", constants, (x, "state", self.cache(cache)), elements(width))
        return cache

    def room_named(self, name: str, size: int) -> str:
        """A scratch buffer of just that name."""
        self.scratch[name] = padded(size, 32)
        return name

    # Where the adapter decides.

    def embedding(self, op: str) -> str:
        """The token's row of the embedding, an op for each buffer that the table lies in."""
        n = self.config.hidden
        out = self.room(op, n * FLOAT)
        for number, (part, first, rows) in enumerate(self.slices("embedding")):
            parts, sizes = self.of_matrix(part)
            name = f"{op}.{number}" if number else op
            if self.cpu:
                kernel, constants, count = "embedding_cpu", {**sizes, "FIRST": first}, n
            else:
                kernel, constants, count = "embedding", {**sizes, "FIRST": first, "ROWS": rows}, n // 4
            self.add_op(name, "embedding", kernel, constants, (part, "state", out), elements(count), parts)
        return out

    def mean(self, op: str, x: str, n: int) -> str:
        if self.cpu:
            return self.op(op, "mean", "mean_cpu", (x,), FLOAT, 1, N=n)
        out = self.room(op, FLOAT)
        parts, constants = self.reduced(self.target.shapes.norm)
        self.add_op(op, "mean", "mean", {"N": n, **constants}, (x, out), (1, 1, 1), parts)
        return out

    def linear(
        self,
        op: str,
        weight: str,
        x: str,
        rows: int,
        *,
        first: int = 0,
        bias: str | None = None,
        category: str = "linear",
    ) -> str:
        """W x (+ bias): `rows` rows of the buffer `weight` from row `first` on."""
        out = self.room(op, padded(rows) * FLOAT)
        kernel = "matvec" if bias is None else "matvec_bias"
        buffers = (weight, x, out) if bias is None else (weight, x, bias, out)
        if self.cpu:
            self.quads_op(op, category, kernel, buffers, rows, {"ROWS": padded(rows), "FIRST": first})
        else:
            shape = self.target.shapes.for_row(self.weights[weight].columns)
            self.matvec_op(op, category, kernel, buffers, rows, shape, {"ROWS": rows, "FIRST": first})
        return out

    def logits(self, op: str, x: str) -> str:
        """The output matrix, an op for each buffer that it lies in."""
        out = self.room(op, padded(self.config.vocab) * FLOAT)
        for number, (part, first, rows) in enumerate(self.slices(self.head)):
            name = f"{op}.{number}" if number else op
            if self.cpu:
                constants = {"ROWS": padded(rows), "START": first}
                self.quads_op(name, "linear", "matvec", (part, x, out), rows, constants)
            elif self.config.hidden > MOST_STAGED:
                shape = self.target.shapes.for_row(self.config.hidden)
                constants = {"ROWS": rows, "START": first}
                self.matvec_op(name, "linear", "matvec", (part, x, out), rows, shape, constants)
            else:
                self.walk_op(name, "logits", (part, x, out), {"ROWS": rows, "START": first})
        return out

    def walk_op(self, op: str, kernel: str, buffers: tuple[str, ...], constants: Constants) -> int:
        """A kernel for GPUs whose workgroups walk the output matrix `buffers[0]`; how many workgroups."""
        shape = self.target.shapes.logits
        blocks = math.ceil(self.weights[buffers[0]].rows / 4)
        workgroups = min(self.target.shapes.logits_workgroups, math.ceil(blocks / shape.teams))
        teams = workgroups * shape.teams
        self.rows_op(op, "linear", kernel, buffers, teams, shape, constants, ("logits_walk",))
        return workgroups

    @property
    def head(self) -> str:
        """The weight that is the output matrix."""
        return "embedding" if self.config.tied_output else "lm_head"

    def rms_norm(self, op: str, norm: str, x: str, rows: int = 1, category: str = "norm") -> str:
        """The whole norm in one dispatch."""
        n = self.config.hidden
        out = self.room(op, rows * n * FLOAT)
        constants: dict[str, float] = {"COLUMNS": n, "EPS": self.config.norm_eps}
        buffers = (x, self.vector(norm), out)
        if self.cpu:
            self.add_op(op, category, "rms_norm_cpu", {**constants, "ROWS": rows}, buffers, (rows, 1, 1))
        else:
            parts, reduce_constants = self.reduced(self.target.shapes.norm)
            self.add_op(op, category, "rms_norm", {**constants, **reduce_constants}, buffers, (rows, 1, 1), parts)
        return out

    def sdpa(self, op: str, q: str, keys: str, values: str, rows: int = 1) -> str:
        """Attention of `rows` neighbouring positions."""
        config, constants = self.config, self.attention_sizes()
        out = self.room(op, rows * config.q_width * FLOAT)
        buffers, workgroups = (q, keys, values, "state", out), (config.heads, rows, 1)
        if self.cpu:
            self.add_op(op, "sdpa", "sdpa_cpu", constants, buffers, workgroups, ("texts",))
        else:
            parts, reduce_constants = self.reduced(self.target.shapes.attention)
            self.add_op(
                op, "sdpa", "sdpa", {**constants, **reduce_constants}, buffers, workgroups, ("attend", "texts", *parts)
            )
        return out

    def head_sizes(self) -> dict[str, float]:
        """Constants of kernels that know heads and cache."""
        config = self.config
        return {
            "HEADS": config.heads,
            "KV_HEADS": config.kv_heads,
            "HEAD_DIM": config.head_dim,
            "CAPACITY": self.capacity,
        }

    def attention_sizes(self) -> dict[str, float]:
        """Constants of attention."""
        return {**self.head_sizes(), **self.texts, "SCALE": self.config.head_dim**-0.5}

    @property
    def texts(self) -> dict[str, float]:
        """The constant of kernels that know rows of different texts."""
        return {"TEXTS": self.target.texts}

    # The weights of a layer, in the buffers that all plans share.

    def qkv(self, layer: str) -> str:
        return self.matrix(f"{layer}.attn.qkv", *[f"{layer}.attn.{part}" for part in "qkv"])

    def qkv_bias(self, layer: str) -> str:
        """The bias of q, k and v; zeros for a model without."""
        name = f"{layer}.attn.qkv.bias"
        if not self.config.qkv_bias:
            return self.room_named("zeros", (self.config.q_width + 2 * self.config.kv_width) * FLOAT)
        return self.vector(name, *[f"{layer}.attn.{part}.bias" for part in "qkv"])

    def gate_up(self, layer: str) -> str:
        return self.matrix(f"{layer}.mlp.gate_up", f"{layer}.mlp.gate", f"{layer}.mlp.up")

    # The choice of the token.

    def argmax(self, op: str, logits: str) -> str:
        texts, parts = self.target.texts, self.argmax_parts
        out = self.room(op, texts * parts * PAIR)
        constants = {"N": self.config.vocab, "PARTS": parts, "STRIDE": padded(self.config.vocab)}
        kernel, workgroups = ("argmax_cpu", elements(parts)[0]) if self.cpu else ("argmax", parts)
        self.add_op(op, "argmax", kernel, constants, (logits, out), (workgroups, texts, 1))
        return out

    @property
    def argmax_parts(self) -> int:
        """How many parts of the logits are searched apart."""
        return 1024 if self.cpu else 128

    def choose(self, op: str, logits: str, best: str, parts: int) -> None:
        """Choose the token from the logits or the `parts` best of them, and move on."""
        constants = {"PARTS": parts, "CAPACITY": self.capacity, **self.texts}
        tail, workgroups = ("prompt", "stops", "state", "tokens"), (self.target.texts, 1, 1)
        if self.target.sampled:
            constants |= {"N": self.config.vocab, "STRIDE": padded(self.config.vocab)}
            self.add_op(op, "sample", "sample", constants, (logits, best, "sampling", *tail), workgroups, ("texts",))
        else:
            self.add_op(op, "advance", "advance", constants, (best, *tail), workgroups, ("texts",))
