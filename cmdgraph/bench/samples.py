"""What a measurement has taken: the raw samples of its arms, round by round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

__all__ = ["Interrupted", "Samples", "Series"]


@attrs.frozen
class Series:
    """The raw samples of one arm in the order in which they were taken, in seconds, and what its runs returned."""

    wall_s: list[float] = attrs.field(factory=list)
    cpu_s: list[float] = attrs.field(factory=list)
    worker_s: list[float] = attrs.field(factory=list)
    process_s: list[float] = attrs.field(factory=list)
    gpu_s: list[float] = attrs.field(factory=list)
    returned: list[Any] = attrs.field(factory=list)

    @property
    def other_s(self) -> list[float]:
        """CPU seconds of the threads that are not ours: the driver's."""
        threads = zip(self.process_s, self.cpu_s, self.worker_s, strict=True)
        return [max(0.0, process - cpu - worker) for process, cpu, worker in threads]

    def cut(self, rounds: int) -> None:
        """Forgets what was taken after so many rounds."""
        for samples in (self.wall_s, self.cpu_s, self.worker_s, self.process_s, self.gpu_s, self.returned):
            del samples[rounds:]


class Samples(dict[str, Series]):
    """The series of all arms by name.

    Attributes:
        rounds: how many were finished.
        interrupted: somebody stopped it.
        warmup_runs: untimed runs of each arm.
        unsteady: arms that were still getting faster when the warm-up had to end.
    """

    def __init__(self, names: Mapping[str, Any]) -> None:
        super().__init__({name: Series() for name in names})
        self.rounds = 0
        self.interrupted = False
        self.warmup_runs: dict[str, int] = {}
        self.unsteady: list[str] = []


class Interrupted(KeyboardInterrupt):
    """Ctrl-C after at least one whole round; `samples` are those of the whole rounds."""

    def __init__(self, samples: Samples) -> None:
        super().__init__()
        self.samples = samples
