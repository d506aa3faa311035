"""A graph that Python saved, replayed by a browser with the reader of spec_proposal/format.md."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest

from tests.browser import chromium
from tests.kit import Kit, captured, open_device
from tests.programs import ARGUMENTS, UNIFORM_WORD, Clear, Copy, Machine, Program, Run, Submit, Write

PAGE = (Path(__file__).resolve().parents[2] / "spec_proposal" / "format.md").read_text()

RUN = """
async ({reader, file, replays}) => {
  const {load} = await import("data:text/javascript," + encodeURIComponent(reader));
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) return {problem: "no adapter"};
  const device = await adapter.requestDevice();
  const problems = [];
  device.addEventListener("uncapturederror", (event) => problems.push(event.error.message));
  const graph = await load(device, Uint8Array.from(atob(file), (c) => c.charCodeAt(0)).buffer);
  for (let n = 0; n < replays; n++) graph.replay();
  const found = {};
  for (const [n, {label, size, usage}] of graph.manifest.buffers.entries()) {
    if (!(usage & GPUBufferUsage.COPY_SRC)) continue;
    const staging = device.createBuffer({size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST});
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(graph.buffers[n], 0, staging, 0, size);
    device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    found[label] = [...new Uint8Array(staging.getMappedRange())];
  }
  return {found, problem: problems.join("; ")};
}
"""


def test_a_browser_replays_what_python_saved(tmp_path: Path) -> None:
    """Each kind of node, an indirect dispatch, immediates, dynamic offsets, a write between two dispatches."""
    kit = Kit(open_device("wgpu", ["immediates"]))
    machine = Machine(kit)
    program: Program = (
        Submit((((Run("dynamic", ("i0", "i1"), 9, (0, 256)), Run("scale", ("i2", UNIFORM_WORD), 4)),),), (0,)),
        Write(UNIFORM_WORD, 0, (5, 7, 0, 0)),
        Submit(
            (
                ((Run("scale", ("i2", UNIFORM_WORD), 4), Run("counts", ("i2", ARGUMENTS), 1)), Clear("f0", 4, 9)),
                ((Run("inc", ("i0",), None), Run("immediate", ("i1",), 3, (), (3, 4))), Copy("i0", 8, "i2", 40, 20)),
            ),
            (0, 1),
        ),
    )
    machine.prepare(program)
    machine.reset()
    graph = captured(kit.device, lambda: machine.run(program))
    graph.save(tmp_path / "graph.zip")
    graph.replay(times=2)
    expected = machine.contents()
    (reader,) = re.findall(r"```js\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "page.html").write_text("<!doctype html><title>graph</title>")

    with chromium("--enable-unsafe-webgpu") as browser:
        page = browser.new_page()
        page.goto((tmp_path / "page.html").as_uri())
        file = base64.b64encode((tmp_path / "graph.zip").read_bytes()).decode()
        told = page.evaluate(RUN, {"reader": reader, "file": file, "replays": 2})

    if told["problem"] == "no adapter":
        pytest.skip("Chromium has no WebGPU adapter here")
    assert told["problem"] == ""
    assert {name: bytes(data) for name, data in told["found"].items()} == {
        name: expected[name] for name in told["found"]
    }
    assert set(told["found"]) >= {"i0", "i1", "i2", "f0", "args"}
