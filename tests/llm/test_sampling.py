"""Drawing the next token on the GPU: the right set, the right frequencies, the same text from the same seed."""

from typing import Any

import numpy as np
import pytest
import wgpu
from hypothesis import given, settings
from hypothesis import strategies as st

from llm.errors import UsageError
from llm.model import Model
from llm.sampling import Sampling
from llm.shaders import shader_source
from tests.llm import tiny

PARTS = 8


class Sampler:
    """Runs the kernel on logits of one size."""

    def __init__(self, device: Any, count: int) -> None:
        self.device = device
        self.count = count
        module = device.create_shader_module(code=shader_source("sample", ["texts"]))
        constants = {"N": count, "PARTS": PARTS, "CAPACITY": 8}
        compute = {"module": module, "entry_point": "main", "constants": constants}
        self.pipeline = device.create_compute_pipeline(layout="auto", compute=compute)

    def draw(self, logits: np.ndarray, sampling: Sampling, times: int) -> list[int]:
        """The tokens of `times` draws, the generator going on from one to the next."""
        best = np.zeros((PARTS, 2), np.uint32)
        for part in range(PARTS):
            mine = logits[part::PARTS]
            best[part, 0] = (mine.max() if mine.size else np.float32(-3e38)).view(np.uint32)
        usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_DST | wgpu.BufferUsage.COPY_SRC
        data = [
            logits,
            best,
            sampling.settings(),
            np.zeros(8, np.uint32),
            np.zeros(4, np.uint32),
            np.array([0, 0, 0, 0, sampling.seed, 0, 0, 0], np.uint32),
            np.zeros(12, np.uint32),
        ]
        buffers = [self.device.create_buffer_with_data(data=each.tobytes(), usage=usage) for each in data]
        entries = [{"binding": n, "resource": {"buffer": buffer}} for n, buffer in enumerate(buffers)]
        group = self.device.create_bind_group(layout=self.pipeline.get_bind_group_layout(0), entries=entries)
        drawn = []
        for _ in range(times):
            self.device.queue.write_buffer(buffers[5], 0, np.zeros(4, np.uint32))
            encoder = self.device.create_command_encoder()
            compute_pass = encoder.begin_compute_pass()
            compute_pass.set_pipeline(self.pipeline)
            compute_pass.set_bind_group(0, group)
            compute_pass.dispatch_workgroups(1)
            compute_pass.end()
            self.device.queue.submit([encoder.finish()])
            drawn.append(int(np.frombuffer(self.device.queue.read_buffer(buffers[5]), np.uint32)[2]))
        return drawn


@pytest.fixture(scope="module")
def sampler(device: Any) -> Sampler:
    return Sampler(device, 300)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1000), top_k=st.integers(0, 20), top_p=st.floats(0.05, 1), temperature=st.floats(0.2, 3))
def test_only_what_is_kept_is_drawn(sampler: Sampler, seed: int, top_k: int, top_p: float, temperature: float) -> None:
    logits = (3 * np.random.default_rng(seed).standard_normal(300)).astype(np.float32)
    order = np.argsort(-logits)
    kept = order[: top_k or 300]
    mass = np.exp((logits[kept] - logits[kept[0]]).astype(np.float64) / temperature)
    below = np.cumsum(mass) - mass
    # A little more than numpy keeps: the sums are float32 here.
    allowed = set(kept[below < top_p * mass.sum() * (1 + 1e-4)].tolist())
    drawn = sampler.draw(logits, Sampling(temperature, top_k, top_p, seed), 12)
    assert set(drawn) <= allowed


def test_frequencies(sampler: Sampler) -> None:
    """2000 draws of three tokens against their probabilities, five deviations wide."""
    logits = np.full(300, -1e4, np.float32)
    logits[[3, 77, 299]] = np.log([0.6, 0.3, 0.1])
    drawn = sampler.draw(logits, Sampling(1.0, seed=5), 2000)
    for token, probability in ((3, 0.6), (77, 0.3), (299, 0.1)):
        deviation = np.sqrt(2000 * probability * (1 - probability))
        assert abs(drawn.count(token) - 2000 * probability) < 5 * deviation


def test_low_temperature_is_greedy(sampler: Sampler) -> None:
    logits = np.random.default_rng(1).standard_normal(300).astype(np.float32)
    assert set(sampler.draw(logits, Sampling(1e-3), 5)) == {int(logits.argmax())}


@pytest.mark.parametrize("plan", ["unfused", "fused"])
def test_same_seed_same_text(device: Any, plan: str) -> None:
    def text(seed: int) -> list[int]:
        sampling = Sampling(1.5, top_k=40, seed=seed)
        model = Model(device, tiny.LLAMA, weights, plan, sampling=sampling)
        model.start([5, 6])
        for _ in range(12):
            model.step()
        return model.read_tokens(2, 11)

    weights = tiny.random_weights(tiny.LLAMA)
    assert text(1) == text(1) != text(2)


@pytest.mark.parametrize(
    "values",
    [
        {"temperature": -1},
        {"temperature": float("inf")},
        {"temperature": 1, "top_k": -1},
        {"temperature": 1, "top_p": 1.5},
        {"temperature": 1, "seed": -1},
        {"top_p": 0.5},
    ],
)
def test_values_out_of_range(values: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="--"):
        Sampling(**values)
