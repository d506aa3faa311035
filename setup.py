"""What pyproject.toml cannot say: the extension modules, and the tag of the wheel that carries them."""

from setuptools import setup

setup(
    cffi_modules=["cmdgraph/replay/walker_build.py:ffibuilder", "cmdgraph/bench/phases_build.py:ffibuilder"],
    # They use the stable ABI: one wheel for Python 3.11 and every later one.
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
