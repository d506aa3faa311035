"""How deep shader code may nest.

naga, wgpu-native's compiler, recurses over brackets, operators and `else if`: a few thousand of them in each other
overflow the stack and kill the process. Dawn refuses such code itself, from 512 operators and 127 `else if` on; these
are the limits here too. They are far from what people write.
"""

from __future__ import annotations

from cmdgraph.wgsl import tokens

__all__ = ["too_deep"]

BRACKETS = 100
OPERATORS = 512
ALTERNATIVES = 127
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_OPERATORS = frozenset("+-*/%&|^!~<>=.[")
_ENDS = frozenset(";{}")


def too_deep(code: str) -> str | None:
    """What in WGSL code nests too deep for a compiler; None if nothing does.

    An expression is as deep as the operators of all brackets around a place and those before it, up to a comma.
    """
    operators, alternatives = [0], [0]
    depth = chained = 0
    before = ""
    for token in tokens(code):
        if token in _OPERATORS:
            operators[-1] += 1
            depth += 1
        if token in _OPENING:
            operators.append(0)
        elif token in _CLOSING and len(operators) > 1:
            depth -= operators.pop()
        if token == "," or token in _ENDS:
            depth -= operators[-1]
            operators[-1] = 0
        if token == "{":
            alternatives.append(0)
        elif token == "}" and len(alternatives) > 1:
            chained -= alternatives.pop()
        elif before == "}" and token != "else":
            chained -= alternatives[-1]
            alternatives[-1] = 0
        elif token == "else":
            alternatives[-1] += 1
            chained += 1
        if len(operators) > BRACKETS:
            return f"more than {BRACKETS} brackets in each other"
        if depth > OPERATORS:
            return f"an expression of more than {OPERATORS} operators"
        if chained > ALTERNATIVES:
            return f"more than {ALTERNATIVES} `else` in a chain"
        before = token
    return None
