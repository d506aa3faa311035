"""Graphs as files: what a program is made of, written down and made again.

    describing   a program -> a manifest (`manifest` has its form, `requirements` what a device must have)
    writing      manifest and contents of buffers -> a zip file or a folder (`archive`, `zip_writer`, `tensors`,
                 `download`)
    reading      such a file -> a program on a device, checked like freshly recorded calls (`archive`, `zip_directory`,
                 `tensors`, `checks`, `shader_text`, `building`, `upload`); a file is hostile input (`limits`)

The form is written down in spec_proposal/format.md.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from cmdgraph.container.limits import FileLimits

__all__ = ["FileLimits", "module"]


def module(name: str) -> ModuleType:
    """`reading` or `writing`, imported when first needed: they need the packages of the extra `files`.

    Raises:
        ModuleNotFoundError: those are not installed.
    """
    try:
        return importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"saved graphs need the package {error.name}: pip install 'cmdgraph[files]'", name=error.name
        ) from None
