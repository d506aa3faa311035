"""A decoder on the GPU. Plain wgpu-py, as people write it: an encoder, a compute pass and a submit for each
operation.

Position, prompt, current token, the generator of random numbers and whether the text has stopped live in GPU buffers,
and the last dispatch of a step advances them, so a step is the same calls every time and needs nothing from the CPU.
"""

import copy
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import wgpu

from llm.config import ModelConfig
from llm.device import HALF_FEATURE, kernel_shapes, kernels_for, subgroup_size
from llm.errors import ContextError, UsageError
from llm.plans import KernelSet, Plan, Target, make_plan
from llm.plans.plan import padded
from llm.plans.prefill import prefill
from llm.plans.shapes import Shapes
from llm.rope import rotary_table
from llm.runtime import STORAGE, Pipelines, Prepared, Runtime
from llm.sampling import GREEDY, Sampling
from llm.store import Progress, WeightStore, binding_limit, upload

U32 = 4
# Of a text: position, prompt_length, token, stopped; the generator's state follows.
STATE_BYTES = 32
STATE_TOKEN_OFFSET = 2 * U32
STATE_RANDOM_OFFSET = 4 * U32
MOST_STOPS = 31

# Positions that the cache has room for unless asked otherwise: SmolLM2's whole context would take 380 MB.
DEFAULT_CONTEXT = 2048
# Tokens of the prompt at once; a multiple of 8 each.
PREFILL_TOKENS = (8, 32, 128, 512)

_WRITABLE = STORAGE | wgpu.BufferUsage.COPY_DST


class Model:
    """A decoder with its weights, its cache and its state.

    `weights` maps the names of llm.weights to float32 arrays, or is a store of them on the GPU that several models
    share. `plan` names a dispatch plan, `kernels` a kernel set (by default the one for the adapter), `max_context` the
    positions of the cache, `texts` how many texts a step carries on, each at a position of its own. `pipelines` are
    those of another model on the device, to be used again.
    `progress(done, total)` is called as weights are uploaded.

    Raises DeviceError where a buffer is larger than the device allows, ContextError where `max_context` is
    not between 1 and the model's context, UsageError for an unknown plan or kernels that the device cannot run.
    """

    def __init__(
        self,
        device: Any,
        config: ModelConfig,
        weights: Mapping[str, np.ndarray] | WeightStore,
        plan: str = "unfused",
        *,
        max_context: int | None = None,
        kernels: KernelSet | None = None,
        sampling: Sampling = GREEDY,
        texts: int = 1,
        shapes: Shapes | None = None,
        pipelines: Pipelines | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.device = device
        self.config = config
        self.max_context = _context(config, max_context)
        self.sampling = sampling
        self.texts = texts
        self.store = weights if isinstance(weights, WeightStore) else WeightStore(device, weights)
        kernels, shapes = kernels or kernels_for(device), shapes or kernel_shapes(device)
        self.target = Target(
            kernels=kernels,
            capacity=self.max_context,
            formats=self.store.formats,
            binding_limit=binding_limit(device),
            subgroup=_subgroup(device) if kernels == "gpu-subgroups" else 0,
            half=shapes.half and HALF_FEATURE in device.features,
            shapes=shapes,
            sampled=not sampling.greedy,
            texts=texts,
        )
        self.plan = make_plan(plan, config, self.target)
        self.runtime = Runtime(device, pipelines)
        self._make_buffers(progress)
        self.dispatches = self.runtime.prepare(self.plan.ops)
        self._prefills: dict[int, list[Prepared]] = {}

    def start(self, prompt: Sequence[int], stops: Collection[int] = ()) -> None:
        """Begin a new text, all of them with this prompt: upload its token ids and return to the first position. A
        token of `stops` that the model chooses stops the text: it is noted, and later steps change nothing.

        Raises ContextError where the prompt is empty, longer than the context, or holds an id outside the
        vocabulary, UsageError for too many stops.
        """
        self.start_all([prompt] * self.texts, stops)

    def start_all(self, prompts: Sequence[Sequence[int]], stops: Collection[int] = ()) -> None:
        """Begin as many new texts as the model makes, a prompt each; see `start`. Text k draws with the k-th seed."""
        if len(prompts) != self.texts:
            raise UsageError(f"{len(prompts)} prompts for {self.texts} texts; give one each")
        for prompt in prompts:
            self._check_prompt(prompt)
        if len(stops) > MOST_STOPS:
            raise UsageError(f"{len(stops)} stop tokens; at most {MOST_STOPS} are supported")
        self._write("stops", 0, [len(stops), *sorted(stops)])
        for text, prompt in enumerate(prompts):
            self._write("prompt", text * self.max_context * U32, prompt)
            state, seed = text * STATE_BYTES, (self.sampling.seed + text) % (1 << 32)
            self._write("state", state + STATE_RANDOM_OFFSET, [seed])
            self._write("state", state, [0, len(prompt), prompt[0], 0])

    def seek(self, position: int, token: int) -> None:
        """Go to `position` with `token` there, behind any prompt, in all texts. The positions before it keep what the
        cache holds.

        Raises ContextError where the position is outside the context.
        """
        if not 0 <= position < self.max_context:
            raise ContextError(f"position {position} is outside the context of {self.max_context}")
        for text in range(self.texts):
            self._write("state", text * STATE_BYTES, [position, 0, token, 0])

    def step(self, *, named: bool = True) -> None:
        """Run the decoder on the token at the present position and move to the next one, inside debug groups where
        `named`. Does not wait.
        """
        self.runtime.run(self.dispatches, named=named)

    __call__ = step

    def with_dispatches(self, dispatches: Sequence[Prepared]) -> "Model":
        """This model, state and cache included, with other dispatches in a step."""
        other = copy.copy(self)
        other.dispatches = list(dispatches)
        return other

    def prefill(self, tokens: int, *, named: bool = True) -> None:
        """Run the decoder on the next `tokens` tokens of the prompt at once, but not on its last one, which a step
        takes, inside debug groups where `named`. `tokens` is one of those that `batches` gives. Does not wait.
        """
        self.prepare_prefill(tokens)
        self.runtime.run(self._prefills[tokens], named=named)

    def prepare_prefill(self, tokens: int) -> Plan:
        """Make what a prefill of `tokens` tokens needs, unless it is there, and give its plan."""
        plan = prefill(self.config, self.target, tokens)
        if tokens not in self._prefills:
            self.runtime.make_buffers(plan.scratch)
            self.runtime.buffers |= self.store.buffers(plan.weights)
            self._prefills[tokens] = self.runtime.prepare(plan.ops)
        return plan

    def batches(self, prompt: int) -> list[int]:
        """The prefills for a prompt of `prompt` tokens: whole batches, the last one as small as holds the rest. None
        with several texts, whose steps go through their prompts.
        """
        rest, batches = (prompt - 1 if self.texts == 1 else 0), list[int]()
        while rest > 0:
            whole = [tokens for tokens in PREFILL_TOKENS if tokens <= rest]
            covering = [tokens for tokens in PREFILL_TOKENS if tokens >= rest]
            # One batch that is at most half empty beats several small ones.
            tokens = covering[0] if covering and (not whole or covering[0] <= 2 * rest) else whole[-1]
            batches.append(tokens)
            rest -= tokens
        return batches

    def read_token(self) -> int:
        """Wait for the steps so far; the token at the position they reached, of the first text: the prompt's own, or
        the one chosen.
        """
        return int(self._read("state", np.uint32, STATE_TOKEN_OFFSET, U32)[0])

    def read_tokens(self, first: int, count: int, text: int = 0) -> list[int]:
        """Wait for the steps so far; the tokens that steps have put at positions `first` on (from 1 on) of a text."""
        start = text * (self.max_context + 1) + first
        return [int(token) for token in self._read("tokens", np.uint32, start * U32, count * U32)]

    def read_logits(self, text: int = 0) -> np.ndarray:
        """Wait for the steps so far; the logits of the last one for a text, (vocab,) float32."""
        vocab = self.config.vocab
        return self._read("logits", np.float32, text * padded(vocab) * 4, vocab * 4)

    @property
    def tokens_buffer(self) -> Any:
        """The u32 token at each position of the first text, then of the others, COPY_SRC."""
        return self.runtime.buffers["tokens"]

    def _read(self, name: str, dtype: type[np.generic], offset: int, size: int) -> np.ndarray:
        return np.frombuffer(self.device.queue.read_buffer(self.runtime.buffers[name], offset, size), dtype)

    def _write(self, name: str, offset: int, words: Sequence[int]) -> None:
        self.device.queue.write_buffer(self.runtime.buffers[name], offset, np.asarray(words, dtype=np.uint32))

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

    def _make_buffers(self, progress: Progress | None) -> None:
        runtime = self.runtime
        runtime.make_buffers(self.plan.scratch)
        words = {"prompt": self.texts * self.max_context, "stops": 1 + MOST_STOPS}
        runtime.make_buffers({name: count * U32 for name, count in words.items()}, _WRITABLE)
        states, tokens = self.texts * STATE_BYTES, self.texts * (self.max_context + 1) * U32
        runtime.make_buffers({"state": states, "tokens": tokens}, _WRITABLE)
        runtime.buffers["rotary.table"] = upload(
            self.device, "rotary.table", rotary_table(self.config, self.max_context)
        )
        runtime.buffers["sampling"] = upload(self.device, "sampling", self.sampling.settings())
        runtime.buffers |= self.store.buffers(self.plan.weights, progress)


def _subgroup(device: Any) -> int:
    size = subgroup_size(device)
    if not size:
        raise UsageError("--kernels gpu-subgroups: this device has no subgroups, or irregular ones; use gpu")
    return size


def _context(config: ModelConfig, wanted: int | None) -> int:
    if wanted is None:
        return min(config.context, DEFAULT_CONTEXT)
    if not 1 <= wanted <= config.context:
        raise ContextError(f"a context of {wanted} was asked for; '{config.name}' takes 1 to {config.context}")
    return wanted
