"""Which dispatches of a plan wait for earlier ones, by the rule that WebGPU implementations follow."""

import re
from collections.abc import Iterable
from functools import cache

from llm.plans.plan import Op
from llm.shaders import shader_source

_BINDING = re.compile(r"@binding\((\d+)\)\s*var<storage,\s*(read_write|read)>")


def barriers(ops: Iterable[Op]) -> int:
    """How many of the ops, run in one compute pass, need a barrier: they write a buffer that was used before, or read
    one that was written. Barriers are put between whole dispatches; other buffers and ranges do not matter.
    """
    count, written, used = 0, set[str](), set[str]()
    for op in ops:
        numbers = written_bindings(op)
        writes = {name for number, name in enumerate(op.buffers) if number in numbers}
        reads = {*op.buffers, *op.early} - writes
        count += bool(writes & used or reads & written)
        used |= writes | reads
        # A buffer that is read after a write is in the state of reading from then on.
        written = (written - reads) | writes
    return count


def written_bindings(op: Op) -> frozenset[int]:
    """The bindings that the op's kernel may write."""
    return _written(op.kernel, op.parts)


@cache
def _written(kernel: str, parts: tuple[str, ...]) -> frozenset[int]:
    found = _BINDING.findall(shader_source(kernel, parts))
    return frozenset(int(number) for number, access in found if access == "read_write")
