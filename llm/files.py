"""What it costs to save the graph of a decode step and to load it again, beside moving the same bytes alone."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import wgpu

import cmdgraph
from cmdgraph.bench import environment, markdown, method, results
from llm.loading import LoadedModel

__all__ = ["PROMPT", "captured_step", "measure", "to_markdown"]

PROMPT = "The capital of France is"
ROUNDS = 9
WARMUP = 1
STEPS = 6
CHUNK = 8 << 20
TARGET_RATIO = 1.2
TARGET_SECONDS = 0.5

TIMED_REGION = (
    "save: `graph.save()` of a zip file, until it is on the disk and in place. write: the same bytes, in memory "
    "already, to a file, until it is on the disk and in place. read back and write: the bytes are in buffers of 8 MiB "
    "on the GPU first and are read by `read_buffer`. load: `cmdgraph.load()` of that file, until the GPU has all of "
    "it. read: the file into memory, in parts of 8 MiB. read and upload: these parts to new buffers by `write_buffer`, "
    "until the GPU has them. Files are in the page cache when they are read"
)


def captured_step(loaded: LoadedModel, prompt: str = PROMPT) -> Any:
    """The graph of a decode step, with the model at the beginning of `prompt`."""
    model = loaded.model
    model.start(loaded.tokenizer.encode(prompt))
    with cmdgraph.capture(model.device, name=f"decode {loaded.source.config.name}") as graph:
        model.step()
    return graph


class _Arms:
    """The things compared, on one saved file; what they make is destroyed afterwards."""

    def __init__(self, loaded: LoadedModel, folder: Path) -> None:
        self.loaded = loaded
        self.folder = folder
        self._made: list[Any] = []
        self.expected = self._tokens(captured_step(loaded))
        self.graph = captured_step(loaded)  # at the beginning of the prompt again, and left there
        self.graph.save(self.path)
        self.bytes = self.path.read_bytes()
        usage = wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
        parts = (self.bytes[at : at + CHUNK] for at in range(0, len(self.bytes), CHUNK))
        self.sources = [self._buffer(part, usage) for part in parts]
        self._made.clear()

    @property
    def path(self) -> Path:
        return self.folder / "graph.zip"

    @property
    def device(self) -> Any:
        return self.loaded.model.device

    def save(self) -> None:
        self.graph.save(self.path)

    def write(self) -> None:
        self._write(iter([self.bytes]))

    def read_back_and_write(self) -> None:
        self._write(self.device.queue.read_buffer(buffer) for buffer in self.sources)

    def load(self) -> None:
        graph = cmdgraph.load(self.path, self.device)
        self._settle(graph.outputs[0])
        self._made += [graph]

    def read(self) -> None:
        with open(self.path, "rb", buffering=0) as file:
            while file.read(CHUNK):
                pass

    def read_and_upload(self) -> None:
        usage = wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
        with open(self.path, "rb", buffering=0) as file:
            while part := file.read(CHUNK):
                buffer = self._buffer(part, usage)
        self._settle(buffer)

    def clear(self) -> None:
        """Gives back what the arms have made."""
        for made in self._made:
            if hasattr(made, "release"):
                buffers = {id(b): b for b in (*made.inputs, *made.outputs)}.values()
                made.release()
                for buffer in buffers:
                    buffer.destroy()
            else:
                made.destroy()
        self._made.clear()

    def check(self) -> bool:
        """Whether the file that lies there now gives the tokens of the graph that was saved."""
        graph = cmdgraph.load(self.path, self.device)
        self._made.append(graph)
        right = self._tokens(graph) == self.expected
        self.clear()
        return right

    def _tokens(self, graph: Any) -> bytes:
        graph.replay(times=STEPS, wait=True)
        buffer = next(b for b in graph.outputs if b.label == "tokens")
        return bytes(self.device.queue.read_buffer(buffer))

    def _buffer(self, part: bytes, usage: int) -> Any:
        whole = part + bytes(-len(part) % 4)
        buffer = self.device.create_buffer(size=len(whole), usage=usage)
        self.device.queue.write_buffer(buffer, 0, whole)
        self.device.queue.submit([])
        self._made.append(buffer)
        return buffer

    def _write(self, parts: Any) -> None:
        working = self.folder / "plain.tmp"
        with open(working, "wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        os.replace(working, self.folder / "plain")

    def _settle(self, buffer: Any) -> None:
        """Waits for the GPU: what it was given before is done when this small read is."""
        self.device.queue.read_buffer(buffer, 0, 4)


def measure(
    loaded: LoadedModel, folder: Path, rounds: int = ROUNDS, progress: Callable[[int, int], None] | None = None
) -> dict[str, Any]:
    """The report, ready for JSON. Files lie in `folder` meanwhile, and are removed.

    Raises MeasurementError where a loaded graph does not make the tokens of the saved one.
    """
    arms = _Arms(loaded, folder)
    try:
        series = _interleaved(arms, rounds, progress)
        nodes = len(arms.graph)
    finally:
        arms.clear()
        arms.graph.release()
        for path in (arms.path, folder / "plain"):
            path.unlink(missing_ok=True)
    wall = {name: each.wall_s for name, each in series.items()}
    beyond = [a - b for a, b in zip(wall["load"], wall["read and upload"], strict=True)]
    return results.make(
        "files",
        environment=environment.describe(loaded.model.device),
        workload={
            "model": loaded.source.title,
            "plan": loaded.model.plan.name,
            "dtype": loaded.model.store.dtype,
            "nodes": nodes,
            "bytes": len(arms.bytes),
        },
        method={
            "description": method.DESCRIPTION,
            "timed_region": TIMED_REGION,
            "rounds": rounds,
            "warmup": WARMUP,
        },
        rows=[{"name": name, "seconds": method.summary(values, "s")} for name, values in wall.items()],
        ratios=[
            {"quantity": "seconds", "over": over, "under": under, **method.ratio(wall[over], wall[under])}
            for over, under in (("save", "write"), ("save", "read back and write"), ("load", "read and upload"))
        ],
        beyond_the_bytes_s=method.summary(beyond, "s"),
        targets={"ratio": TARGET_RATIO, "beyond_s": TARGET_SECONDS},
    )


def _interleaved(arms: _Arms, rounds: int, progress: Callable[[int, int], None] | None) -> dict[str, method.Series]:
    """The samples of each arm; what the arms of a round made is given back after it, outside of what is timed."""
    timed = {
        "save": arms.save,
        "write": arms.write,
        "read back and write": arms.read_back_and_write,
        "load": arms.load,
        "read": arms.read,
        "read and upload": arms.read_and_upload,
    }
    checks = {"save": arms.check, "load": arms.check}

    def after_a_round(done: int, total: int) -> None:
        arms.clear()
        if progress is not None:
            progress(done, total)

    named = {name: method.Arm(call, checks.get(name)) for name, call in timed.items()}
    return method.interleave(named, rounds, WARMUP, progress=after_a_round)


def to_markdown(report: dict[str, Any]) -> str:
    """The report as text."""
    graph, beyond = report["workload"], report["beyond_the_bytes_s"]
    rows = [
        [row["name"], f"{row['seconds']['median']:.3f}", f"{row['seconds']['p10']:.3f}-{row['seconds']['p90']:.3f}"]
        for row in report["rows"]
    ]
    ratios = [
        f"{each['over']} / {each['under']}: {each['ratio']:.2f} "
        f"(95 % CI {each['ci95_low']:.2f}-{each['ci95_high']:.2f})"
        for each in report["ratios"]
    ]
    return "\n\n".join(
        [
            markdown.facts(report["environment"]),
            f"{graph['model']}, {graph['plan']}, {graph['dtype']}: {graph['nodes']} nodes, "
            f"{graph['bytes'] / 1e6:.1f} MB.",
            markdown.table(["arm", "seconds", "p10-p90"], rows),
            "\n".join(ratios),
            f"load beyond read and upload: {beyond['median']:.3f} s ({beyond['p10']:.3f}-{beyond['p90']:.3f}), "
            f"target {report['targets']['beyond_s']} s; ratios: target {report['targets']['ratio']} for save / write.",
        ]
    )
