"""The two kernels of the chain as SPIR-V 1.3, put together word by word: Vulkan takes no WGSL.

    layout(local_size_x = ELEMENTS) in;
    layout(set = 0, binding = 0..2) buffer { float v[]; } x, operand, result;
    void main() { uint i = gl_GlobalInvocationID.x; result.v[i] = x.v[i] OP operand.v[i]; }

Source: https://registry.khronos.org/SPIR-V/specs/unified1/SPIRV.html
"""

from __future__ import annotations

import itertools
from typing import Literal

import numpy as np

from cmdgraph.bench.peers.elementwise import ELEMENTS

__all__ = ["kernel"]

MAGIC, VERSION = 0x07230203, 0x00010300
ARITHMETIC = {"add": 129, "mul": 133}  # OpFAdd, OpFMul

# Opcodes.
MEMORY_MODEL, ENTRY_POINT, EXECUTION_MODE, CAPABILITY = 14, 15, 16, 17
TYPE_VOID, TYPE_INT, TYPE_FLOAT, TYPE_VECTOR, TYPE_RUNTIME_ARRAY, TYPE_STRUCT = 19, 21, 22, 23, 29, 30
TYPE_POINTER, TYPE_FUNCTION, CONSTANT, FUNCTION, FUNCTION_END, VARIABLE = 32, 33, 43, 54, 56, 59
LOAD, STORE, ACCESS_CHAIN, DECORATE, MEMBER_DECORATE, LABEL, RETURN = 61, 62, 65, 71, 72, 248, 253
# Enumerants.
SHADER, LOGICAL, GLSL450, GL_COMPUTE, LOCAL_SIZE = 1, 0, 1, 5, 17
INPUT, STORAGE_BUFFER = 1, 12
BLOCK, ARRAY_STRIDE, BUILT_IN, BINDING, DESCRIPTOR_SET, OFFSET = 2, 6, 11, 33, 34, 35
GLOBAL_INVOCATION_ID = 28
MAIN = (0x6E69616D, 0)  # "main" and its final zero


def kernel(op: Literal["add", "mul"]) -> bytes:
    """The module of the kernel for one operation; its entry point is `main`."""
    ids = itertools.count(1)
    void, u32, f32, vec3, array, block, pointer_block, pointer_f32, pointer_vec3, pointer_u32 = _take(ids, 10)
    signature, main, label, zero, builtin, x, operand, result = _take(ids, 8)
    index_place, index, *rest = _take(ids, 8)
    x_place, operand_place, result_place, x_value, operand_value, sum_value = rest
    body = [
        (CAPABILITY, SHADER),
        (MEMORY_MODEL, LOGICAL, GLSL450),
        (ENTRY_POINT, GL_COMPUTE, main, *MAIN, builtin),
        (EXECUTION_MODE, main, LOCAL_SIZE, ELEMENTS, 1, 1),
        (DECORATE, builtin, BUILT_IN, GLOBAL_INVOCATION_ID),
        (DECORATE, array, ARRAY_STRIDE, 4),
        (DECORATE, block, BLOCK),
        (MEMBER_DECORATE, block, 0, OFFSET, 0),
        *(
            (DECORATE, variable, *decoration)
            for number, variable in enumerate((x, operand, result))
            for decoration in ((DESCRIPTOR_SET, 0), (BINDING, number))
        ),
        (TYPE_VOID, void),
        (TYPE_INT, u32, 32, 0),
        (TYPE_FLOAT, f32, 32),
        (TYPE_VECTOR, vec3, u32, 3),
        (TYPE_RUNTIME_ARRAY, array, f32),
        (TYPE_STRUCT, block, array),
        (TYPE_POINTER, pointer_block, STORAGE_BUFFER, block),
        (TYPE_POINTER, pointer_f32, STORAGE_BUFFER, f32),
        (TYPE_POINTER, pointer_vec3, INPUT, vec3),
        (TYPE_POINTER, pointer_u32, INPUT, u32),
        (TYPE_FUNCTION, signature, void),
        (CONSTANT, u32, zero, 0),
        (VARIABLE, pointer_vec3, builtin, INPUT),
        *((VARIABLE, pointer_block, variable, STORAGE_BUFFER) for variable in (x, operand, result)),
        (FUNCTION, void, main, 0, signature),
        (LABEL, label),
        (ACCESS_CHAIN, pointer_u32, index_place, builtin, zero),
        (LOAD, u32, index, index_place),
        (ACCESS_CHAIN, pointer_f32, x_place, x, zero, index),
        (LOAD, f32, x_value, x_place),
        (ACCESS_CHAIN, pointer_f32, operand_place, operand, zero, index),
        (LOAD, f32, operand_value, operand_place),
        (ARITHMETIC[op], f32, sum_value, x_value, operand_value),
        (ACCESS_CHAIN, pointer_f32, result_place, result, zero, index),
        (STORE, result_place, sum_value),
        (RETURN,),
        (FUNCTION_END,),
    ]
    words = [MAGIC, VERSION, 0, next(ids), 0]
    for opcode, *operands in body:
        words += [(len(operands) + 1) << 16 | opcode, *operands]
    return np.array(words, np.uint32).tobytes()


def _take(ids: itertools.count[int], count: int) -> list[int]:
    return list(itertools.islice(ids, count))
