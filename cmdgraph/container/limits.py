"""What a file may ask for before anything is made of it."""

from __future__ import annotations

from attrs import frozen

__all__ = ["FileLimits"]

_MIB = 1 << 20
_GIB = 1 << 30


@frozen(kw_only=True)
class FileLimits:
    """The most that a graph file may hold or ask for; a file over a limit is refused before anything is made.

    Attributes:
        manifest_bytes: size of the manifest, and of the header of the contents.
        contents_bytes: size of the contents, all buffers together.
        zeroed_bytes: sizes of the buffers that the file gives no contents for: they cost memory on the device and no
            bytes in the file.
        written_bytes: size of the data of all write_buffer nodes, which stays in host memory.
        code_bytes: size of the shader code that is compiled: that of each module, and again for each of its pipelines.
        pipelines: number of pipelines, and of modules: each takes the time of a compiler.
        nodes: number of nodes.
        objects: number of buffers, bind groups and layouts, of each.
        bindings: number of entries of all bind groups together, and of all layouts.
    """

    manifest_bytes: int = 16 * _MIB
    contents_bytes: int = 64 * _GIB
    zeroed_bytes: int = _GIB
    written_bytes: int = 256 * _MIB
    code_bytes: int = 2 * _MIB
    pipelines: int = 1024
    nodes: int = 100_000
    objects: int = 65_536
    bindings: int = 1_000_000
