"""Counts the WebGPU calls that a piece of code makes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from attrs import define


@define
class Calls:
    """How often each call was made."""

    dispatches: int = 0
    passes: int = 0
    submits: int = 0


def count_calls(device: Any, run: Callable[[], object]) -> Calls:
    """The calls that `run` makes on encoders, passes and queues of the kind `device` has."""
    calls = Calls()
    encoder = device.create_command_encoder()
    compute_pass = encoder.begin_compute_pass()
    compute_pass.end()
    with (
        _counted(type(compute_pass), "dispatch_workgroups", calls, "dispatches"),
        _counted(type(encoder), "begin_compute_pass", calls, "passes"),
        _counted(type(device.queue), "submit", calls, "submits"),
    ):
        run()
    return calls


@contextmanager
def _counted(owner: type, method: str, calls: Calls, counter: str) -> Iterator[None]:
    """Put a counting method in front of the one that `owner` defines or inherits."""
    inherited = method not in vars(owner)
    original = getattr(owner, method)

    def counted(*args: Any, **kwargs: Any) -> Any:
        setattr(calls, counter, getattr(calls, counter) + 1)
        return original(*args, **kwargs)

    setattr(owner, method, counted)
    try:
        yield
    finally:
        if inherited:
            delattr(owner, method)
        else:
            setattr(owner, method, original)
