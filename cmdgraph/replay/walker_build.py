"""Builds the C walker as `cmdgraph.replay._walker` (cffi, stable ABI). Optional: without a compiler the build goes on.

Run by setuptools (`cffi_modules` in setup.py), from the root of the source tree.
"""

from cffi import FFI

ffibuilder = FFI()
ffibuilder.cdef(
    """
    typedef struct { ...; } cmdgraph_command;
    typedef struct { ...; } cmdgraph_functions;
    size_t cmdgraph_walk(const cmdgraph_functions *functions, void *device, void *queue,
                         const cmdgraph_command *commands, size_t count, const volatile int *flag,
                         uint64_t *submission);
    void *cmdgraph_encode(const cmdgraph_functions *functions, void *device, const cmdgraph_command *commands,
                          size_t count, const volatile int *flag);
    void cmdgraph_submit(const cmdgraph_functions *functions, void *queue, size_t count, void **buffers,
                         uint64_t *submission);
    void cmdgraph_drop(const cmdgraph_functions *functions, void *buffer);
    """
)
ffibuilder.set_source(
    "cmdgraph.replay._walker",
    '#include "walker.h"',
    sources=["cmdgraph/replay/walker.c"],
    include_dirs=["cmdgraph/replay"],
    extra_compile_args=["-O2"],
    optional=True,  # setuptools: a failed build leaves the module out instead of failing
)
