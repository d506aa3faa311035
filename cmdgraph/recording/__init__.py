"""How calls of ordinary wgpu-py code become nodes.

`hooks` replaces the methods that hand out encoders while a capture or guard is active, `encoders` are what they hand
out instead, and `recorder` turns the calls on them into nodes, each checked when it is made.
"""

from cmdgraph.recording.recorder import EncoderRecorder, PassRecorder, caller, written_bytes

__all__ = ["EncoderRecorder", "PassRecorder", "caller", "written_bytes"]
