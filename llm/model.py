"""A decoder on the GPU. Plain wgpu-py, as people write it: an encoder, a compute pass and a submit for each
operation.

Position, prompt and current token live in GPU buffers and the last dispatch of a step advances them, so a
step is the same calls every time and needs nothing from the CPU.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import wgpu
from attrs import frozen

from llm.config import ModelConfig
from llm.device import kernels_for
from llm.errors import ContextError, DeviceError
from llm.plans import KernelSet, Op, make_plan
from llm.plans.plan import padded
from llm.rope import rotary_table
from llm.shaders import shader_source

U32 = 4
STATE_BYTES = 16
STATE_TOKEN_OFFSET = 2 * U32
UPLOAD_CHUNK = 16 << 20

# Positions that the cache has room for unless asked otherwise: SmolLM2's whole context would take 380 MB.
DEFAULT_CONTEXT = 2048

_STORAGE = wgpu.BufferUsage.STORAGE
_READABLE = _STORAGE | wgpu.BufferUsage.COPY_SRC
_WRITABLE = _READABLE | wgpu.BufferUsage.COPY_DST


@frozen
class _Dispatch:
    pipeline: Any
    bind_group: Any
    workgroups: tuple[int, int, int]


class Model:
    """A decoder with its weights, its cache and its state.

    `weights` maps the names of llm.weights to float32 arrays; they are uploaded once, one at a time. `plan`
    names a dispatch plan, `kernels` a kernel set (by default the one for the adapter), `max_context` the
    positions of the cache. `progress(done, total)` is called as weights are uploaded.

    Raises DeviceError where a buffer is larger than the device allows, ContextError where `max_context` is
    not between 1 and the model's context, UsageError for an unknown plan.
    """

    def __init__(
        self,
        device: Any,
        config: ModelConfig,
        weights: Mapping[str, np.ndarray],
        plan: str = "unfused",
        *,
        max_context: int | None = None,
        kernels: KernelSet | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.device = device
        self.config = config
        self.max_context = _context(config, max_context)
        self.plan = make_plan(plan, config, kernels or kernels_for(device), self.max_context)
        self._buffers: dict[str, Any] = {}
        self._pipelines: dict[tuple[str, tuple[tuple[str, float], ...]], Any] = {}
        self._make_buffers(weights, progress)
        self._dispatches = [self._prepare(op) for op in self.plan.ops]

    def start(self, prompt: Sequence[int]) -> None:
        """Begin a new text: upload the prompt's token ids and return to the first position.

        Raises ContextError where the prompt is empty, longer than the context, or holds an id outside the
        vocabulary.
        """
        self._check_prompt(prompt)
        self.device.queue.write_buffer(self._buffers["prompt"], 0, np.asarray(prompt, dtype=np.uint32))
        self._write_state(0, len(prompt), prompt[0])

    def seek(self, position: int, token: int) -> None:
        """Go to `position` with `token` there, behind any prompt. The positions before it keep what the cache
        holds.

        Raises ContextError where the position is outside the context.
        """
        if not 0 <= position < self.max_context:
            raise ContextError(f"position {position} is outside the context of {self.max_context}")
        self._write_state(position, 0, token)

    def step(self) -> None:
        """Run the decoder on the token at the present position and move to the next one. Does not wait."""
        device = self.device
        for dispatch in self._dispatches:
            encoder = device.create_command_encoder()
            compute_pass = encoder.begin_compute_pass()
            compute_pass.set_pipeline(dispatch.pipeline)
            compute_pass.set_bind_group(0, dispatch.bind_group)
            compute_pass.dispatch_workgroups(*dispatch.workgroups)
            compute_pass.end()
            device.queue.submit([encoder.finish()])

    __call__ = step

    def read_token(self) -> int:
        """Wait for the steps so far; the token at the position they reached: the prompt's own, or the one
        chosen.
        """
        return int(self._read("state", np.uint32, STATE_TOKEN_OFFSET, U32)[0])

    def read_tokens(self, first: int, count: int) -> list[int]:
        """Wait for the steps so far; the tokens that steps have put at positions `first` on (from 1 on)."""
        return [int(token) for token in self._read("tokens", np.uint32, first * U32, count * U32)]

    def read_logits(self) -> np.ndarray:
        """Wait for the steps so far; the logits of the last one, (vocab,) float32."""
        return self._read("logits", np.float32, 0, self.config.vocab * 4)

    def _read(self, name: str, dtype: type[np.generic], offset: int, size: int) -> np.ndarray:
        return np.frombuffer(self.device.queue.read_buffer(self._buffers[name], offset, size), dtype)

    def _write_state(self, position: int, prompt_length: int, token: int) -> None:
        state = np.array([position, prompt_length, token], dtype=np.uint32)
        self.device.queue.write_buffer(self._buffers["state"], 0, state)

    def _check_prompt(self, prompt: Sequence[int]) -> None:
        if not prompt:
            raise ContextError("the prompt is empty; give it at least one token")
        if len(prompt) > self.max_context:
            raise ContextError(
                f"the prompt has {len(prompt)} tokens, but the context holds {self.max_context}; "
                "shorten the prompt or ask for a longer context"
            )
        strange = [token for token in prompt if not 0 <= token < self.config.vocab]
        if strange:
            raise ContextError(f"token {strange[0]} is outside the vocabulary of {self.config.vocab}")

    def _make_buffers(self, weights: Mapping[str, np.ndarray], progress: Callable[[int, int], None] | None) -> None:
        for name, size in self.plan.scratch.items():
            self._make_buffer(name, size, _READABLE)
        self._make_buffer("state", STATE_BYTES, _WRITABLE)
        self._make_buffer("prompt", self.max_context * U32, _WRITABLE)
        self._make_buffer("tokens", (self.max_context + 1) * U32, _READABLE)
        self._upload("rotary.table", rotary_table(self.config, self.max_context))
        names = _missing(self.plan.ops, self._buffers)
        for done, name in enumerate(names):
            values = weights[name]
            self._upload(name, _transposed(values) if name in self.plan.transposed else values)
            if progress is not None:
                progress(done + 1, len(names))

    def _make_buffer(self, name: str, size: int, usage: int) -> None:
        self._check_size(name, size)
        self._buffers[name] = self.device.create_buffer(label=name, size=-(-size // 16) * 16, usage=usage)

    def _upload(self, name: str, values: np.ndarray) -> None:
        self._make_buffer(name, values.nbytes, _STORAGE | wgpu.BufferUsage.COPY_DST)
        data = np.ascontiguousarray(values, dtype=np.float32).view(np.uint8).reshape(-1)
        for start in range(0, data.size, UPLOAD_CHUNK):
            self.device.queue.write_buffer(self._buffers[name], start, data[start : start + UPLOAD_CHUNK])
            self.device.queue.submit([])  # sends the chunk off, so that its staging memory can be used again

    def _check_size(self, name: str, size: int) -> None:
        limits = self.device.limits
        limit = min(limits["max-storage-buffer-binding-size"], limits["max-buffer-size"])
        if size > limit:
            raise DeviceError(
                f"'{name}' takes {size / 2**20:.0f} MiB, but this device binds at most {limit / 2**20:.0f}; "
                "use a smaller model, a shorter context, or an adapter with larger limits"
            )

    def _prepare(self, op: Op) -> _Dispatch:
        pipeline = self._pipeline(op)
        entries = [
            {"binding": binding, "resource": {"buffer": self._buffers[name]}} for binding, name in enumerate(op.buffers)
        ]
        layout = pipeline.get_bind_group_layout(0)
        bind_group = self.device.create_bind_group(label=op.name, layout=layout, entries=entries)
        return _Dispatch(pipeline, bind_group, op.workgroups)

    def _pipeline(self, op: Op) -> Any:
        """One pipeline for all ops that run the same kernel with the same constants."""
        key = (op.kernel, op.constants)
        if key not in self._pipelines:
            module = self.device.create_shader_module(label=op.kernel, code=shader_source(op.kernel))
            compute = {"module": module, "entry_point": "main", "constants": dict(op.constants)}
            self._pipelines[key] = self.device.create_compute_pipeline(label=op.kernel, layout="auto", compute=compute)
        return self._pipelines[key]


def _context(config: ModelConfig, wanted: int | None) -> int:
    if wanted is None:
        return min(config.context, DEFAULT_CONTEXT)
    if not 1 <= wanted <= config.context:
        raise ContextError(f"a context of {wanted} was asked for; '{config.name}' takes 1 to {config.context}")
    return wanted


def _missing(ops: Iterable[Op], made: Mapping[str, Any]) -> list[str]:
    """The buffers that the ops bind and nobody has made yet: the weights, in order of use."""
    return list(dict.fromkeys(name for op in ops for name in op.buffers if name not in made))


def _transposed(values: np.ndarray) -> np.ndarray:
    """(rows, columns) -> (columns, rows), rows filled up with zeros to whole vec4s."""
    rows, columns = values.shape
    result = np.zeros((columns, padded(rows)), dtype=np.float32)
    result[:, :rows] = values.T
    return result
