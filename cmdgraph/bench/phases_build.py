"""Builds `cmdgraph.bench._phases` (cffi, stable ABI), which times the calls of a dispatch from C. Optional.

Run by setuptools (`cffi_modules` in setup.py), from the root of the source tree.
"""

from cffi import FFI

ffibuilder = FFI()
ffibuilder.cdef(
    """
    typedef struct { ...; } cmdgraph_calls;
    typedef struct { void *pipeline; const void *descriptor; } cmdgraph_operation;
    void cmdgraph_time_phases(const cmdgraph_calls *functions, void *device, void *queue,
                              const cmdgraph_operation *operations, size_t count, int clock, uint64_t *ns);
    """
)
ffibuilder.set_source(
    "cmdgraph.bench._phases",
    '#include "phases.h"',
    sources=["cmdgraph/bench/phases.c"],
    include_dirs=["cmdgraph/bench"],
    extra_compile_args=["-O2"],
    optional=True,  # setuptools: a failed build leaves the module out instead of failing
)
