"""Where an op stands in the model: the debug groups around its dispatch, outermost first."""

from collections.abc import Mapping

from llm.plans.plan import Op

_BLOCKS: Mapping[str, str] = {
    "x": "embedding",
    "begin": "embedding",
    "rotary": "embedding",
    "final_norm": "output",
    "logits": "output",
    "sample": "sampling",
}


def groups_of(op: Op) -> tuple[str, ...]:
    """``("layer 3", "attention")`` or ``("layer 3", "mlp")`` inside the layers, outside ``("embedding",)`` with the
    angles of the position, ``("output",)``, ``("sampling",)``, and ``("advance",)`` at the end of a prefill.
    """
    first, *rest = op.name.split(".")
    if first != "layer":
        return (_BLOCKS.get(first, first),)
    number, block = rest[:2]
    return (f"layer {number}", "mlp" if block.startswith("mlp") else "attention")
