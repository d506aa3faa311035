"""Which backends are loaded, and the watch for those that are imported later.

Creation hooks must be on before the user's objects are made, whichever of `import cmdgraph`, `import wgpu` and
`import wgpudawn` comes first. Neither package is imported here: a finder at the head of `sys.meta_path` waits for the
modules with the concrete classes and attaches the backend as soon as one has been executed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from cmdgraph.backends import dawn, wgpu_native
from cmdgraph.backends.base import Backend
from cmdgraph.errors import BackendError

__all__ = ["backend_of", "loaded", "on_load"]

_KINDS: dict[str, Callable[[ModuleType], Backend]] = {
    wgpu_native.MODULE: wgpu_native.WgpuNative,
    dawn.MODULE: dawn.Dawn,
}
_loaded: dict[str, Backend] = {}
_listeners: list[Callable[[Backend], None]] = []


def loaded() -> tuple[Backend, ...]:
    """The backends whose wgpu package has been imported so far."""
    return tuple(_loaded.values())


def backend_of(obj: Any) -> Backend:
    """The backend that a GPU object belongs to.

    Raises:
        BackendError: `obj` is no object of an implementation that cmdgraph knows.
    """
    for cls in type(obj).__mro__:
        if (backend := _loaded.get(cls.__module__)) is not None:
            return backend
    raise BackendError(
        f"{type(obj).__module__}.{type(obj).__name__} is not an object of wgpu-native (wgpu) or Dawn (wgpudawn); "
        "pass a device made by one of them"
    )


def on_load(listener: Callable[[Backend], None]) -> None:
    """Calls `listener` with every backend: those loaded already now, others when they are imported."""
    _listeners.append(listener)
    for backend in loaded():
        listener(backend)


def start() -> None:
    """Attaches backends that are imported already and waits for the others."""
    for name in _KINDS:
        if name in sys.modules:
            _attach(sys.modules[name])
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _attach(module: ModuleType) -> None:
    if module.__name__ not in _loaded:
        backend = _loaded[module.__name__] = _KINDS[module.__name__](module)
        for listener in _listeners:
            listener(backend)


class _Finder(MetaPathFinder):
    """Lets the ordinary finders find the module, then adds one step after its execution."""

    def __init__(self) -> None:
        self._finding: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname not in _KINDS or fullname in self._finding:
            return None
        self._finding.add(fullname)
        try:
            spec = find_spec(fullname)
        finally:
            self._finding.discard(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _AttachingLoader(spec.loader)
        return spec


class _AttachingLoader(Loader):
    def __init__(self, inner: Loader) -> None:
        self._inner = inner

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._inner.exec_module(module)
        _attach(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)  # get_source and friends, which tracebacks and packagers use
