"""What a plan is made for: the kernels, the room in the cache, the formats of the weights, the limits of the device."""

from collections.abc import Mapping

from attrs import field, frozen

from llm.plans.plan import BINDING_LIMIT, Format, KernelSet
from llm.plans.shapes import DEFAULT, Shapes


@frozen
class Target:
    """`capacity`: positions of the cache. `formats`: of each matrix by its weight's name, f32 where nothing is said.
    `binding_limit`: bytes that one binding may have. `subgroup`: invocations of a subgroup, for the kernel set that
    uses them. `half`: the device has f16 as a type of its own. `sampled`: tokens are drawn at random, not greedily.
    `texts`: how many are made at once.
    """

    kernels: KernelSet
    capacity: int
    formats: Mapping[str, Format] = field(factory=dict)
    binding_limit: int = BINDING_LIMIT
    subgroup: int = 32
    half: bool = False
    shapes: Shapes = DEFAULT
    sampled: bool = False
    texts: int = 1

    def format_of(self, *sources: str) -> Format:
        """The format of a matrix made of several weights: the common one, else the smallest that holds all."""
        found = {self.formats.get(name, "f32") for name in sources}
        if len(found) == 1:
            return found.pop()
        return "f32" if "f32" in found else "f16"
