"""The same model in PyTorch on CUDA, eager and by a CUDA graph, for comparison in the same run.

Random weights of the model's shape, static cache, batch 1, token read back each step.
"""

import time
from typing import Any

from cmdgraph.bench import method
from llm.check import torch_model
from llm.config import ModelConfig
from llm.errors import UsageError
from llm.presets import RandomWeights

CONTEXT = 256
POSITION = 128
WARM_UP = 5
MOST = (CONTEXT - POSITION) // 2 - WARM_UP - 1
"""Tokens of each way: a static cache that counts by itself fills up over both."""


def measure(config: ModelConfig, dtype: str, tokens: int) -> list[dict[str, Any]]:
    """A row for each way, of `tokens` tokens or as many as the cache has room for. Raises UsageError where there is no
    torch, transformers or CUDA.
    """
    tokens = min(tokens, MOST)
    model, torch = torch_model(config, RandomWeights(config))
    if not torch.cuda.is_available():
        raise UsageError("--torch: this PyTorch sees no CUDA device")
    import transformers  # type: ignore[import-not-found]

    kind = torch.float32 if dtype == "f32" else torch.float16
    model = model.to("cuda", kind)
    cache = transformers.StaticCache(config=model.config, max_cache_len=CONTEXT)
    token = torch.ones((1, 1), dtype=torch.long, device="cuda")
    position = torch.tensor([POSITION], device="cuda")

    places = torch.arange(CONTEXT, device="cuda")

    def step() -> None:
        # A whole mask of our own: making one from the cache's length would have to ask the GPU for it.
        mask = (places <= position)[None, None, None, :]
        logits = model(
            token,
            attention_mask=mask,
            past_key_values=cache,
            cache_position=position,
            position_ids=position[None],
            use_cache=True,
        ).logits
        token.copy_(logits[:, -1].argmax(-1, keepdim=True))
        position.copy_((position + 1) % CONTEXT)

    rows = []
    with torch.inference_mode():
        rows.append(_row(f"PyTorch {torch.__version__} eager", dtype, step, token, tokens))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        rows.append(_row(f"PyTorch {torch.__version__} CUDA graph", dtype, graph.replay, token, tokens))
    return rows


def _row(name: str, dtype: str, step: Any, token: Any, tokens: int) -> dict[str, Any]:
    for _ in range(WARM_UP):
        step()
        token.item()
    seconds = []
    for _ in range(tokens):
        before = time.perf_counter()
        step()
        token.item()
        seconds.append(time.perf_counter() - before)
    return {
        "name": name,
        "dtype": dtype,
        "ms_per_token": method.summary([1e3 * each for each in seconds]),
        "tokens_per_s": method.summary([1 / each for each in seconds]),
    }
