"""The layer's library, as Python calls it (cffi, ABI mode: nothing to compile but the layer itself).

The Vulkan loader opens the same file, so both talk to one copy. Calls let go of the GIL.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

from cffi import FFI

from cmdgraph.errors import NativeError
from cmdgraph.native.places import LIBRARY, SOURCES

__all__ = ["Library", "library"]


class Library:
    """`lib` holds the functions and constants of api.h, `ffi` makes their arguments."""

    def __init__(self) -> None:
        if not LIBRARY.exists():
            raise NativeError(
                f"the native layer is not built ({LIBRARY.name} is missing): run `make native` in a checkout; it takes "
                "a C compiler and the Vulkan headers (Debian: gcc libc6-dev libvulkan-dev)"
            )
        self.ffi = FFI()
        lines = (SOURCES / "api.h").read_text().splitlines()
        self.ffi.cdef("\n".join(line for line in lines if not line.startswith("#")))
        try:
            self.lib: Any = self.ffi.dlopen(str(LIBRARY))
        except OSError as error:
            raise NativeError(f"the native layer does not load: {error}; build it again with `make native`") from error

    def text(self, pointer: Any) -> str:
        return self.ffi.string(pointer).decode()


_opening = threading.Lock()


@cache
def _open() -> Library:
    return Library()


def library() -> Library:
    """The layer, opened when first asked for.

    Raises:
        NativeError: it is not built, or does not load.
    """
    with _opening:
        return _open()
