"""Has the Vulkan loader put the layer under every device that is made from now on.

The loader reads the environment when an instance is made, which both implementations do when they are first asked for
an adapter. It orders layers as it finds their manifests: the layer's own folder comes first, so that a validation layer
which is named in VK_INSTANCE_LAYERS lies below and sees the replays too.
"""

from __future__ import annotations

import os
from pathlib import Path

from cmdgraph.backends import Backend, loaded, on_load
from cmdgraph.errors import NativeError
from cmdgraph.native import completion
from cmdgraph.native.library import library
from cmdgraph.native.places import FOLDER, LAYER

__all__ = ["enable_native", "enabled"]

SWITCH = "CMDGRAPH_NATIVE"
_STANDARD = ("/usr/local/etc", "/etc", "/usr/local/share", "/usr/share")
_on = False


def enable_native() -> None:
    """Makes strategy "native" possible on devices whose adapter is requested from now on. May be called again.

    ``CMDGRAPH_NATIVE=1`` does the same at ``import cmdgraph``.

    Raises:
        NativeError: the layer is not built (`make native`) or does not load, or an adapter was requested already.
    """
    global _on
    if _on:
        return
    library()
    late = [backend.name for backend in loaded() if backend.started()]
    if late:
        raise NativeError(
            f"enable_native() comes too late: {' and '.join(late)} has looked for adapters already. Call it before the "
            "first adapter is requested, or set CMDGRAPH_NATIVE=1"
        )
    os.environ["VK_LAYER_PATH"] = os.pathsep.join([str(FOLDER), *_layer_folders()])
    names = [name for name in os.environ.get("VK_INSTANCE_LAYERS", "").split(os.pathsep) if name and name != LAYER]
    os.environ["VK_INSTANCE_LAYERS"] = os.pathsep.join([LAYER, *names])
    on_load(_install)
    _on = True


def enabled() -> bool:
    """Whether `enable_native` was called."""
    return _on


def enable_if_asked() -> None:
    """Enables where the environment says so."""
    if os.environ.get(SWITCH, "0") not in ("", "0"):
        enable_native()


def _layer_folders() -> list[str]:
    """Where the loader would look otherwise: naming one folder takes the others away."""
    if named := os.environ.get("VK_LAYER_PATH"):
        return [folder for folder in named.split(os.pathsep) if folder != str(FOLDER)]
    home = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share")
    shared = [folder for folder in os.environ.get("XDG_DATA_DIRS", "").split(os.pathsep) if folder]
    folders = dict.fromkeys([*_STANDARD, str(home), *shared])
    return [f"{folder}/vulkan/explicit_layer.d" for folder in folders]


def _install(backend: Backend) -> None:
    completion.install(backend.api)
