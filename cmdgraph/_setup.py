"""What `import cmdgraph` switches on: the creation and liveness hooks of every implementation, now or later."""

from cmdgraph import liveness, native, tracking
from cmdgraph.backends import Backend, on_load, registry
from cmdgraph.recording import hooks


def _install(backend: Backend) -> None:
    tracking.install(backend.api)
    liveness.install(backend.api)


on_load(_install)
hooks.start()
registry.start()
native.enable_if_asked()
