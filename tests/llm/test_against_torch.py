"""What compares with torch and transformers, by stand-ins for them: right models agree, wrong ones are found."""

import sys
from typing import Any

import numpy as np
import pytest

from llm import check, torch_rows
from llm.errors import UsageError
from llm.presets import RandomWeights
from tests.llm import tiny, torch_stand_in


@pytest.mark.parametrize("config", [tiny.LLAMA, tiny.QWEN2], ids=["llama", "qwen2"])
def test_the_same_weights_agree(device: Any, monkeypatch: pytest.MonkeyPatch, config: Any) -> None:
    torch_stand_in.install(monkeypatch)
    (finding,) = check.against_transformers(device, config, ["fused"], tokens=3)
    assert finding.right, finding
    assert (finding.equal, finding.tokens) == (3, 3)
    assert str(finding).startswith("ok    fused, transformers, 2 layers: logits differ by")


def test_another_model_is_found(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = torch_stand_in.install(monkeypatch)
    load = torch_stand_in.Decoder.load_state_dict

    def swapped(self: torch_stand_in.Decoder, state: dict[str, Any], strict: bool) -> Any:
        names = ("model.layers.0.mlp.gate_proj.weight", "model.layers.0.mlp.up_proj.weight")
        state[names[0]], state[names[1]] = state[names[1]], state[names[0]]
        return load(self, state, strict)

    monkeypatch.setattr(torch_stand_in.Decoder, "load_state_dict", swapped)
    (finding,) = check.against_transformers(device, tiny.LLAMA, ["fused"], tokens=3)
    assert not finding.right
    assert str(finding).startswith("WRONG")
    assert len(made) == 1


def test_other_tensor_names_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    torch_stand_in.install(monkeypatch)
    monkeypatch.setattr(check, "directory_name", lambda name: f"new.{name}")
    with pytest.raises(UsageError, match="this version of transformers names tensors otherwise"):
        check.torch_model(tiny.LLAMA, RandomWeights(tiny.LLAMA))


@pytest.mark.parametrize("what", [check.torch_model, lambda config, _: torch_rows.measure(config, "f16", 1)])
def test_neither_is_installed(monkeypatch: pytest.MonkeyPatch, what: Any) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UsageError, match="needs torch and transformers: pip install torch transformers"):
        what(tiny.LLAMA, RandomWeights(tiny.LLAMA))


def test_no_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    torch_stand_in.install(monkeypatch, cuda=False)
    with pytest.raises(UsageError, match="--torch: this PyTorch sees no CUDA device"):
        torch_rows.measure(tiny.LLAMA, "f16", 1)


def test_rows_of_torch_stay_in_their_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    made = torch_stand_in.install(monkeypatch)
    eager, graph = torch_rows.measure(tiny.LLAMA, "f16", 1000)
    assert len(eager["tokens_per_s"]["samples"]) == len(graph["tokens_per_s"]["samples"]) == torch_rows.MOST
    (model,) = made
    assert torch_rows.POSITION + len(model.calls) + sum(model.replays) <= torch_rows.CONTEXT


@pytest.mark.parametrize(("dtype", "kind"), [("f32", "float32"), ("f16", "float16"), ("native", "float16")])
def test_rows_of_torch(monkeypatch: pytest.MonkeyPatch, dtype: str, kind: str) -> None:
    """Steps of one token at rising positions that see the cache up to theirs; then as many replays."""
    made = torch_stand_in.install(monkeypatch)
    eager, graph = torch_rows.measure(tiny.LLAMA, dtype, 4)
    assert (eager["name"], graph["name"]) == ("PyTorch 0-stand-in eager", "PyTorch 0-stand-in CUDA graph")
    for row in (eager, graph):
        assert row["dtype"] == dtype
        assert len(row["ms_per_token"]["samples"]) == len(row["tokens_per_s"]["samples"]) == 4
    (model,) = made
    assert model.kind == ("cuda", kind)
    steps = 5 + 4
    assert model.replays == [steps]
    assert len(model.calls) == steps + 1
    for number, call in enumerate(model.calls):
        place = torch_rows.POSITION + number
        assert call["cache_position"].tolist() == [place]
        assert call["position_ids"].tolist() == [[place]]
        assert np.flatnonzero(call["attention_mask"]).tolist() == list(range(place + 1))
