"""Whether a model computes what it should: against the golden values, or transformers where it is installed."""

from typing import Any

import numpy as np
from attrs import evolve, frozen

from llm.config import ModelConfig
from llm.errors import UsageError
from llm.generate import Generation
from llm.golden import LOGIT_STRIDE, golden_prompts
from llm.huggingface import directory_name
from llm.loading import LoadedModel
from llm.model import Model
from llm.presets import RandomWeights
from llm.store import WeightStore
from llm.strategies import runner

TOLERANCES = {"f32": 1e-3, "native": 1e-3, "f16": 0.1}
# Layers and vocabulary of the model that transformers is asked about: the real shape, but small.
LAYERS, VOCABULARY = 2, 4096


@frozen
class Finding:
    """One comparison: `difference` is the largest of a logit, `tokens` how many were equal of how many."""

    what: str
    difference: float
    tolerance: float
    equal: int
    tokens: int

    @property
    def right(self) -> bool:
        """Whether the logits are near enough and the tokens equal."""
        return self.difference <= self.tolerance and self.equal == self.tokens

    def __str__(self) -> str:
        verdict = "ok" if self.right else "WRONG"
        return (
            f"{verdict:5} {self.what}: logits differ by {self.difference:.1e} (at most {self.tolerance:.0e}), "
            f"{self.equal} of {self.tokens} tokens equal"
        )


def against_golden(loaded: LoadedModel, plan: str, strategy: str, tokens: int) -> list[Finding]:
    """The golden prompts by one plan. Raises UsageError where the model has no golden values."""
    prompts = golden_prompts(loaded.golden)
    if not prompts:
        raise UsageError(f"there are no golden values for {loaded.source.title}")
    mine = loaded.with_plan(plan)
    tolerance = TOLERANCES[mine.model.store.dtype]
    findings = []
    with runner(mine.model, strategy) as run:
        for name, golden in prompts.items():
            wanted = golden.greedy[:tokens]
            made: list[int] = []
            difference = np.inf
            for token in Generation(mine.model, run, golden.ids, 1):
                made.append(token)
                difference = float(np.abs(mine.model.read_logits()[::LOGIT_STRIDE] - golden.last_logits).max())
            made += list(run.stream(len(golden.ids), len(wanted) - 1))
            equal = sum(a == b for a, b in zip(made, wanted, strict=True))
            findings.append(Finding(f"{plan}, {strategy}, golden {name}", difference, tolerance, equal, len(wanted)))
    return findings


def against_transformers(device: Any, config: ModelConfig, plans: list[str], tokens: int = 8) -> list[Finding]:
    """Random weights of the model's shape, cut to a few layers, in torch's float32 and here. Raises UsageError where
    torch or transformers is not installed.
    """
    small = evolve(config, layers=LAYERS, vocab=min(VOCABULARY, config.vocab), interleaved_rope=False)
    weights = RandomWeights(small)
    prompt = [1 + (7 * n) % (small.vocab - 1) for n in range(12)]
    wanted = _transformers_logits(small, weights, prompt, tokens)
    chosen = [int(row.argmax()) for row in wanted]
    store, findings = WeightStore(device, weights), []
    for plan in plans:
        model = Model(device, small, store, plan, max_context=64)
        model.start(prompt)
        for batch in model.batches(len(prompt)):
            model.prefill(batch)
        difference, made = 0.0, []
        for row in wanted:
            model.step()
            difference = max(difference, float(np.abs(model.read_logits() - row).max()))
            made.append(model.read_token())
        equal = sum(a == b for a, b in zip(made, chosen, strict=True))
        findings.append(Finding(f"{plan}, transformers, {LAYERS} layers", difference, TOLERANCES["f32"], equal, tokens))
    return findings


def _transformers_logits(
    config: ModelConfig, weights: RandomWeights, prompt: list[int], tokens: int
) -> list[np.ndarray]:
    """The logits of the greedy continuation, (vocab,) float32 each."""
    model, torch = torch_model(config, weights)
    ids, rows = list(prompt), []
    with torch.no_grad():
        for _ in range(tokens):
            rows.append(model(torch.tensor([ids])).logits[0, -1].numpy())
            ids.append(int(rows[-1].argmax()))
    return rows


def torch_model(config: ModelConfig, weights: RandomWeights) -> tuple[Any, Any]:
    """The same model in transformers, float32 on the CPU, and the module `torch`."""
    try:
        import torch  # type: ignore[import-not-found]
        import transformers  # type: ignore[import-not-found]
    except ImportError as error:
        raise UsageError(
            f"--transformers needs torch and transformers: pip install torch transformers ({error})"
        ) from None
    qwen2 = config.architecture == "qwen2"
    kind = transformers.Qwen2Config if qwen2 else transformers.LlamaConfig
    described = kind(
        vocab_size=config.vocab,
        hidden_size=config.hidden,
        intermediate_size=config.ffn,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        num_key_value_heads=config.kv_heads,
        head_dim=config.head_dim,
        max_position_embeddings=config.context,
        rms_norm_eps=config.norm_eps,
        rope_theta=config.rope_theta,
        tie_word_embeddings=config.tied_output,
    )
    make = transformers.Qwen2ForCausalLM if qwen2 else transformers.LlamaForCausalLM
    model = make(described).eval()
    state = {directory_name(name): torch.from_numpy(np.array(weights[name])) for name in weights}
    missing, unexpected = model.load_state_dict(state, strict=False)
    if unexpected or any(name != "lm_head.weight" for name in missing):
        raise UsageError(f"this version of transformers names tensors otherwise: {[*missing, *unexpected][:3]}")
    model.tie_weights()
    return model, torch
