"""The dispatch plans by name: each a function from model config, kernel set and capacity to a Plan."""

from collections.abc import Callable

from llm.config import ModelConfig
from llm.errors import UsageError
from llm.plans.plan import KERNEL_SETS, KernelSet, Op, Plan
from llm.plans.unfused import unfused

PLANS: dict[str, Callable[[ModelConfig, KernelSet, int], Plan]] = {"unfused": unfused}

__all__ = ["KERNEL_SETS", "PLANS", "KernelSet", "Op", "Plan", "make_plan"]


def make_plan(name: str, config: ModelConfig, kernels: KernelSet, capacity: int) -> Plan:
    """The plan called `name`. Raises UsageError where there is none."""
    if name not in PLANS:
        raise UsageError(f"no plan '{name}'; there are: {', '.join(sorted(PLANS))}")
    return PLANS[name](config, kernels, capacity)
