"""How the files of WebGPU's conformance test suite are mirrored here: one file each, crossed as there.

A case says separately whether encoding (up to `finish`) and whether `submit` should pass. It is held against both
implementations, eagerly and in processes of their own, because wgpu-native kills the process where others raise; and
against a capture, which must refuse what may not be encoded with a ValidationError or CaptureError, and what may not be
submitted before anything runs. Where an implementation, or a capture by design, departs from it, the case says how.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import pytest
from attrs import field, frozen

import cmdgraph
from tests.kit import Kit, captured, open_device
from tests.subprocesses import Outcomes

__all__ = ["CREATION", "FINISH", "PASSES", "SUBMIT", "Case", "Plan", "mirrored", "package_of"]

PASSES, FINISH, SUBMIT = "passes", "finish refuses", "submit refuses"
CREATION = "the implementation refuses to make it"
"""In a capture: the error is the implementation's own, because making objects is not recorded."""
_outcomes: dict[tuple[str, str], Outcomes] = {}


class FinishRefusedError(Exception):
    """The implementation refused a call up to `finish`."""


class SubmitRefusedError(Exception):
    """The implementation refused what was finished."""


@frozen
class Plan:
    """What a case does: ``encode`` gives command buffers, ``between`` happens before they are submitted.

    ``kit`` is another one than the test's, for devices with features.
    """

    encode: Callable[[], Sequence[Any]]
    between: Callable[[], object] = lambda: None
    kit: Kit | None = None


@frozen
class Case:
    """``expected`` is what the specification says. ``differs`` is what an implementation does instead, by package, and
    ``ours`` what a capture does instead. ``shared`` cases leave the device as it was.
    """

    name: str
    make: Callable[[Kit], Plan]
    expected: str = PASSES
    differs: dict[str, str] = field(factory=dict)
    ours: str | None = None
    shared: bool = True

    @property
    def fatal(self) -> bool:
        """Whether it may kill wgpu-native's process."""
        return SUBMIT in (self.expected, self.differs.get("wgpu"))

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, kit: Kit, _setting: str) -> None:
        """Eagerly, for `tests.subprocesses`."""
        plan = self.make(kit)
        try:
            buffers = plan.encode()
        except Exception as error:  # the implementation's own classes
            raise FinishRefusedError(str(error)) from error
        plan.between()
        try:
            (plan.kit or kit).submit(*buffers)
        except Exception as error:
            raise SubmitRefusedError(str(error)) from error


def package_of(kit: Kit) -> str:
    return type(kit.device).__module__.partition(".")[0]


def mirrored(module: str, cases: list[Case]) -> tuple[Any, Any]:
    """The two tests of a file: what a capture does, and what each implementation does."""

    @pytest.mark.parametrize("case", cases, ids=lambda case: case.name)
    def test_capture(kit: Kit, case: Case) -> None:
        fresh = kit if case.shared else Kit(open_device(package_of(kit)))
        plan = case.make(fresh)
        used = plan.kit or fresh

        def model() -> None:
            buffers = plan.encode()
            plan.between()
            used.submit(*buffers)

        expected = case.ours or case.expected
        if expected == PASSES:
            captured(used.device, model).replay(wait=True)
            return
        refused: tuple[type[Exception], ...] = (cmdgraph.ValidationError, cmdgraph.CaptureError)
        if expected == SUBMIT:
            refused = (cmdgraph.InvalidatedError, cmdgraph.CaptureError)
        if expected == CREATION:
            refused = (import_module(package_of(kit)).GPUValidationError,)
        with pytest.raises(refused):
            captured(used.device, model)

    @pytest.mark.parametrize("case", cases, ids=lambda case: case.name)
    def test_implementation(package: str, case: Case) -> None:
        outcome = _outcomes.setdefault((module, package), Outcomes(module, package)).of(case.name)
        found = {"": PASSES, "FinishRefusedError": FINISH, "SubmitRefusedError": SUBMIT, "abort": SUBMIT}
        assert found.get(outcome.error) == case.differs.get(package, case.expected), outcome.text

    return test_capture, test_implementation
