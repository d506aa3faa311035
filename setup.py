"""What pyproject.toml cannot say: the walker's extension module, and the tag of the wheel that carries it."""

from setuptools import setup

setup(
    cffi_modules=["cmdgraph/replay/walker_build.py:ffibuilder"],
    # The walker uses the stable ABI: one wheel for Python 3.11 and every later one.
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
