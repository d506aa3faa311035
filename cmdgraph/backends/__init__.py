"""The only files that know wgpu-native from Dawn.

A backend gives: the implementation's concrete classes (`api`), its native functions (`functions`), native handles as
integers (`address`), an error scope around native calls, and a way to wait for a submission. Everything above works on
these.

Backends attach themselves when their wgpu package is imported, before or after cmdgraph: see `registry`.
"""

from cmdgraph.backends.base import Backend, ErrorScope, Functions
from cmdgraph.backends.registry import backend_of, loaded, on_load

__all__ = ["Backend", "ErrorScope", "Functions", "backend_of", "loaded", "on_load"]
