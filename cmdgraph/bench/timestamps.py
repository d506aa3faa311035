"""What a pass takes on the GPU, by a timestamp at its beginning and one at its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import define, field

from cmdgraph.backends import backend_of

__all__ = ["FEATURE", "PassTimer", "how", "why_absent"]

FEATURE = "timestamp-query"


def why_absent(device: Any) -> str | None:
    """Why nothing can be timed on this device; None when it can."""
    return None if FEATURE in device.features else f"the device has no timestamps (feature {FEATURE})"


def how(device: Any) -> dict[str, Any]:
    """What a report says of the unit; nothing where nothing can be timed."""
    if why_absent(device):
        return {}
    period_ns = backend_of(device).timestamp_period_ns(device)
    return {"gpu_time": {"unit": "timestamp steps, given in us", "period_ns": period_ns}}


@define(eq=False)
class PassTimer:
    """Times one pass at a time.

    Hand `descriptor` to begin_compute_pass, then the encoder to `submit`; `seconds` reads what the pass took.
    """

    device: Any
    period_ns: float = field(init=False)
    _queries: Any = field(init=False)
    _times: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.period_ns = backend_of(self.device).timestamp_period_ns(self.device)
        self._queries = self.device.create_query_set(type="timestamp", count=2)
        self._times = self.device.create_buffer(size=16, usage=0x200 | 0x4)  # QUERY_RESOLVE, COPY_SRC

    @property
    def descriptor(self) -> dict[str, Any]:
        """Of the pass to time."""
        indices = {"beginning_of_pass_write_index": 0, "end_of_pass_write_index": 1}
        return {"timestamp_writes": {"query_set": self._queries, **indices}}

    def submit(self, encoder: Any) -> None:
        """Finishes and submits an encoder with the pass in it."""
        encoder.resolve_query_set(self._queries, 0, 2, self._times, 0)
        self.device.queue.submit([encoder.finish()])

    def seconds(self) -> float:
        """What the last pass took; waits for it. 0 where the timestamps are coarser than that."""
        begin, end = np.frombuffer(self.device.queue.read_buffer(self._times), np.uint64).tolist()
        return max(0, end - begin) * self.period_ns / 1e9

    def run(self, record: Callable[..., Any]) -> Callable[[], None]:
        """Submits what `record` encodes when it is given the descriptor, and waits."""

        def once() -> None:
            self.submit(record(**self.descriptor))
            self.device.queue.read_buffer(self._times)

        return once
