"""Just enough of torch and transformers, on numpy, to run what compares with them where they are not installed.

The decoder is the numpy one of the tests, given the weights under transformers' names and the sizes under those of its
configs: so a wrong name, a wrong size or a swapped weight shows.
"""

import contextlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from llm.config import ModelConfig
from llm.huggingface import directory_name
from llm.tensors import expected_shapes
from tests.llm import tiny


class Tensor(np.ndarray):
    """An array with the methods of a torch tensor that are called."""

    def numpy(self) -> np.ndarray:
        return np.asarray(self)

    def copy_(self, values: Any) -> None:
        self[...] = values

    def argmax(self, axis: int = -1, keepdim: bool = False) -> "Tensor":  # type: ignore[override]
        return _tensor(np.argmax(np.asarray(self), axis=axis, keepdims=keepdim))


class Graph:
    """A CUDA graph that only counts: what was captured was plain Python."""

    def __init__(self, counts: list[int]) -> None:
        self.counts = counts

    def replay(self) -> None:
        self.counts[0] += 1


class Decoder:
    """A causal model of transformers. `calls` are the keywords of each call, `replays` counts those of CUDA graphs."""

    calls: list[dict[str, Any]]
    kind: tuple[Any, ...] = ()

    def __init__(self, config: Any) -> None:
        self.config = config
        self.calls = []
        self.replays = [0]
        self.names = {directory_name(name): name for name in expected_shapes(config.ours)}

    def eval(self) -> "Decoder":
        return self

    def to(self, *kind: Any) -> "Decoder":
        self.kind = kind
        return self

    def tie_weights(self) -> None:
        pass

    def load_state_dict(self, state: dict[str, Any], strict: bool) -> tuple[list[str], list[str]]:
        assert not strict
        self.weights = {self.names[name]: np.asarray(values) for name, values in state.items() if name in self.names}
        missing = [name for name in self.names if name not in state]
        return missing, [name for name in state if name not in self.names]

    def __call__(self, ids: Any, **keywords: Any) -> Any:
        self.calls.append({name: np.array(value) for name, value in keywords.items() if name != "past_key_values"})
        if "past_key_values" in keywords:  # a step: the next token is one more
            logits = np.eye(self.config.ours.vocab)[(np.asarray(ids) + 1) % self.config.ours.vocab]
        else:
            reference = tiny.Reference(self.config.ours, self.weights)
            logits = np.stack([reference.logits(int(token)) for token in np.asarray(ids)[0]])[None]
        return type("Output", (), {"logits": _tensor(logits)})


def install(monkeypatch: pytest.MonkeyPatch, *, cuda: bool = True) -> list[Decoder]:
    """Put the stand-ins where they are imported; the decoders made, as they come."""
    made: list[Decoder] = []

    def decoder(config: Any) -> Decoder:
        made.append(Decoder(config))
        return made[-1]

    torch, transformers = ModuleType("torch"), ModuleType("transformers")
    cuda_module = ModuleType("torch.cuda")
    vars(cuda_module).update(is_available=lambda: cuda, CUDAGraph=lambda: Graph(made[-1].replays), graph=_capturing)
    vars(torch).update(
        __version__="0-stand-in",
        cuda=cuda_module,
        float32="float32",
        float16="float16",
        long=np.int64,
        no_grad=contextlib.nullcontext,
        inference_mode=contextlib.nullcontext,
        from_numpy=_tensor,
        tensor=lambda values, device="cpu": _tensor(np.array(values)),
        ones=lambda shape, dtype, device: _tensor(np.ones(shape, dtype)),
        arange=lambda count, device: _tensor(np.arange(count)),
    )
    vars(transformers).update(
        Qwen2Config=lambda **sizes: _Config("qwen2", sizes),
        LlamaConfig=lambda **sizes: _Config("llama", sizes),
        Qwen2ForCausalLM=decoder,
        LlamaForCausalLM=decoder,
        StaticCache=lambda config, max_cache_len: {"length": max_cache_len},
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "transformers", transformers)
    return made


class _Config:
    def __init__(self, architecture: str, sizes: dict[str, Any]) -> None:
        heads, hidden = sizes["num_attention_heads"], sizes["hidden_size"]
        self.ours = ModelConfig(
            name="stand-in",
            architecture=architecture,
            layers=sizes["num_hidden_layers"],
            hidden=hidden,
            heads=heads,
            kv_heads=sizes["num_key_value_heads"],
            head_dim=sizes.get("head_dim") or hidden // heads,
            ffn=sizes["intermediate_size"],
            vocab=sizes["vocab_size"],
            context=sizes["max_position_embeddings"],
            rope_theta=sizes["rope_theta"],
            norm_eps=sizes["rms_norm_eps"],
            qkv_bias=architecture == "qwen2",
            tied_output=sizes["tie_word_embeddings"],
        )


@contextlib.contextmanager
def _capturing(graph: Graph) -> Iterator[None]:
    yield


def _tensor(values: Any) -> Tensor:
    return np.asarray(values).view(Tensor)
