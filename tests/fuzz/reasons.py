"""Which of our rules an implementation's error text stands for.

The texts are those of wgpu-native 29 and Dawn, and of wgpu-py, which checks some arguments itself. A text that fits
more than one pattern stands for all of their rules; one that fits none is an unknown reason, which fails the tests.
"""

from __future__ import annotations

import re

__all__ = ["REASONS", "reasons_of"]

_BOTH_TRANSFERS = {"copy", "clear"}
_WRITES = {"write", "written_data"}

REASONS: tuple[tuple[str, set[str]], ...] = (
    # wgpu-py, on both implementations
    (r"^size must be a multiple of 4", _BOTH_TRANSFERS),
    (r"^(source|destination)_offset must be a multiple of 4", {"copy"}),
    (r"^offset must be a multiple of 4", {"clear"}),
    (r"^buffer size out of range", {"clear"}),
    (r"^size must be > 0", {"clear"}),
    (r"^Invalid (data_length|buffer_offset|data_offset)", _WRITES),
    # wgpu-native
    (r"expects a BindGroup to be set at index", {"bind_groups_set"}),
    (r"is not compatible with the corresponding BindGroupLayout", {"bind_groups_compatible"}),
    (r"is bound with size \d+ where the shader expects", {"binding_sizes"}),
    (r"expects \d+ dynamic offset", {"dynamic_offsets"}),
    (r"does not respect device's requested `min_(storage|uniform)_buffer_offset_alignment`", {"dynamic_offsets"}),
    (r"would overrun the buffer bound to", {"dynamic_offsets"}),
    (r"Bind group index \d+ is greater than the device's requested", {"bind_group_index"}),
    (r"is an exclusive usage and cannot be used with any other usages", {"usage_scope"}),
    (r"Each current dispatch group size dimension", {"workgroup_counts"}),
    (r"In a dispatch command.*\n.*Compute pipeline must be set", {"pipeline_set"}),
    (r"Indirect buffer (uses bytes|offset)", {"indirect_arguments"}),
    (r"indirect:true\n.*Usage flags .* do not contain required usage flags", {"indirect_arguments"}),
    (r"overruns the immediate data range", {"immediates"}),
    (r"Immediate data (offset|size) must be aligned", {"immediates_alignment"}),
    (r"Start offset \d+ must be|Immediate.*not a multiple of", {"immediates_alignment"}),
    (r"Copy at offset \d+ .*overrunning the bounds", {"copy"}),
    (r"Source and destination cannot be the same buffer", {"copy"}),
    (r"wgpuCommandEncoderFinish\n +Usage flags .* do not contain required usage flags", _BOTH_TRANSFERS),
    (r"In wgpuQueueWriteBuffer", _WRITES),
    (r"doesn't match Device with", {"same_device"}),
    (r"has been destroyed", {"DestroyedError"}),
    # Dawn
    (r"No bind group set at group index", {"bind_groups_set"}),
    (r"of pipeline layout .* does not match layout .* of bind group", {"bind_groups_compatible"}),
    (r"was created with a default layout, and is not compatible with", {"bind_groups_compatible"}),
    (r"was created as part of the default layout for a different pipeline", {"bind_groups_compatible"}),
    (r"requires a buffer binding which is at least", {"binding_sizes"}),
    (r"The number of dynamic offsets .* does not match", {"dynamic_offsets"}),
    (r"Dynamic Offset\[\d+\] \(\d+\) is (not \d+ byte aligned|out of bounds)", {"dynamic_offsets"}),
    (r"Bind group index \(\d+\) exceeds the maximum", {"bind_group_index"}),
    (r"includes writable usage and another usage in the same synchronization scope", {"usage_scope"}),
    (r"[Ww]ritable storage buffer binding.*alias|binding aliasing", {"writable_aliasing"}),
    (r"workgroup count [XYZ] \(\d+\) exceeds", {"workgroup_counts"}),
    (r"No pipeline set", {"pipeline_set"}),
    (r"Indirect offset .* is not a multiple of|exceeds the indirect buffer size", {"indirect_arguments"}),
    (r"doesn't include BufferUsage::Indirect", {"indirect_arguments"}),
    (r"Required immediate data at offset \d+ was not set", {"immediates_set"}),
    (r"is larger than maxImmediateSize", {"immediates"}),
    (r"offset \(\d+\) is not a multiple of 4\n.*SetImmediates", {"immediates_alignment"}),
    (r"(source|destination) .*copy size|CopyBufferToBuffer", {"copy"}),
    (r"ClearBuffer", {"clear"}),
    (r"is associated with \[Device|cannot be used with \[Device", {"same_device"}),
    (r"used in submit while destroyed", {"DestroyedError"}),
    (r"used in submit while (mapped|pending map)", {"MappedError"}),
    (r"WriteBuffer\(", _WRITES),
)
"""Patterns of error texts, with the rules that they mean."""

_COMPILED = tuple((re.compile(pattern), rules) for pattern, rules in REASONS)


def reasons_of(text: str) -> frozenset[str]:
    """The rules that `text` complains about; empty where it is not known."""
    found: set[str] = set()
    for pattern, rules in _COMPILED:
        if pattern.search(text):
            found |= rules
    return frozenset(found)
