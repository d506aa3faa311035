"""CPU time of Chromium by process and thread, from Linux' /proc: what a page causes behind its own JavaScript."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attrs import frozen

__all__ = ["BrowserCpu", "Cpu"]

PROC = Path("/proc")
IO_THREAD = "Chrome_ChildIOT"


@frozen
class Cpu:
    """Seconds so far.

    `renderer`: all threads of the pages' processes, JavaScript among them. `gpu_main`: the GPU process's main thread,
    which reads the commands of the page, validates and encodes them. `gpu_io`: the one that receives them. `driver`:
    all others of that process; with a software adapter the kernels run there.
    """

    renderer: float
    gpu_main: float
    gpu_io: float
    driver: float

    def since(self, before: Cpu) -> Cpu:
        """What was spent between two readings."""
        return Cpu(
            self.renderer - before.renderer,
            self.gpu_main - before.gpu_main,
            self.gpu_io - before.gpu_io,
            self.driver - before.driver,
        )


class BrowserCpu:
    """Reads the processes of the browser that shows a page. Processes that start later are not seen.

    Raises:
        OSError: the system has no /proc with times of threads, or the processes are not ours to see.
    """

    def __init__(self, page: Any) -> None:
        session = page.context.browser.new_browser_cdp_session()
        processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
        session.detach()
        self._renderers = [each["id"] for each in processes if each["type"] == "renderer"]
        (self._gpu,) = [each["id"] for each in processes if each["type"].lower().startswith("gpu")]
        self.read()

    def read(self) -> Cpu:
        """Now."""
        gpu = _threads(self._gpu)
        main = gpu.pop(self._gpu)[1]
        io = sum(seconds for name, seconds in gpu.values() if name == IO_THREAD)
        others = sum(seconds for name, seconds in gpu.values() if name != IO_THREAD)
        renderer = sum(seconds for pid in self._renderers for _, seconds in _threads(pid).values())
        return Cpu(renderer, main, io, others)


def _threads(pid: int) -> dict[int, tuple[str, float]]:
    """Names and seconds of a process's threads by id."""
    found = {}
    for task in (PROC / str(pid) / "task").iterdir():
        try:
            on_cpu = (task / "schedstat").read_text().split()[0]  # in ns, where stat counts steps of 10 ms
            found[int(task.name)] = (task / "comm").read_text().strip(), int(on_cpu) / 1e9
        except (FileNotFoundError, ProcessLookupError):  # it has just ended
            continue
    return found
