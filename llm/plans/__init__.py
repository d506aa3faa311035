"""The dispatch plans by name: each a function from model config and target to a Plan."""

from collections.abc import Callable

from llm.config import ModelConfig
from llm.errors import UsageError
from llm.plans.batched import batched
from llm.plans.fused import fused
from llm.plans.paper import paper
from llm.plans.plan import KERNEL_SETS, Format, KernelSet, Op, Plan, Stored
from llm.plans.target import Target
from llm.plans.unfused import unfused

PLANS: dict[str, Callable[[ModelConfig, Target], Plan]] = {"unfused": unfused, "paper": paper, "fused": fused}

__all__ = ["KERNEL_SETS", "PLANS", "Format", "KernelSet", "Op", "Plan", "Stored", "Target", "make_plan"]


def make_plan(name: str, config: ModelConfig, target: Target) -> Plan:
    """The plan called `name`. Raises UsageError where there is none."""
    if name not in PLANS:
        raise UsageError(f"no plan '{name}'; there are: {', '.join(PLANS)}")
    if target.texts == 1:
        return PLANS[name](config, target)
    if name != "fused":
        raise UsageError(f"several texts at once go with the plan 'fused', not with '{name}'")
    return batched(config, target)
