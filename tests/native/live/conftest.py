"""These tests need a process with the layer on: `tests/native/test_live.py` runs them in one."""

from cmdgraph import native

collect_ignore_glob = [] if native.enabled() else ["test_*.py"]
