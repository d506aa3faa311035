"""Random programs from two threads at once: `python -m tests.properties.threads PACKAGE one|two`.

The threads share one device or have one each. Every program is captured, replayed, changed and run eagerly, and what
comes out must be what a single thread would get. It prints how many programs were judged.
"""

from __future__ import annotations

import sys
import threading

from tests.fuzz.compare import findings
from tests.fuzz.differences import explained
from tests.fuzz.judge import judge
from tests.fuzz.programs import numbered
from tests.fuzz.world import World, open_world

PROGRAMS = 150
ALONE = ("unsound", "unsound after events", "replay differs", "change differs")
"""What one implementation can show by itself."""


def main(package: str, devices: str) -> None:
    first = open_world(package)
    second = open_world(package) if devices == "two" else World(first.kit, package)
    wrong: list[object] = []
    barrier = threading.Barrier(2)

    def work(world: World, seed: int) -> None:
        barrier.wait(60)
        try:
            for number in range(PROGRAMS):
                program = numbered(seed, number)
                answer = judge(world, program, lambda *_: None, fatal=False, aborts=package == "wgpu")
                found = findings(program, {package: answer})
                new = [f for f in found if explained(f, program, {package: answer}) is None and f.kind in ALONE]
                if new:
                    wrong.append((program, new))
        except BaseException as error:
            wrong.append(error)
            raise

    threads = [threading.Thread(target=work, args=pair) for pair in ((first, 21), (second, 22))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[0]
    print(2 * PROGRAMS)


if __name__ == "__main__":
    main(*sys.argv[1:])
