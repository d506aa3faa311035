"""Builds the Vulkan layer in place: `python -m cmdgraph.native.build` (or `make native`).

It takes a C compiler and the Vulkan headers (Debian: gcc libc6-dev libvulkan-dev; `CPATH` names another place of
theirs), and writes the library and the loader's manifest beside this file. The header also tells which commands Vulkan
knows: the layer stands in front of all of them, so that a command which no graph can hold is noticed.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cmdgraph.errors import NativeError
from cmdgraph.native.places import FOLDER, LAYER, LIBRARY, MANIFEST, SOURCES

__all__ = ["build", "main"]

FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread", "-Wall", "-Wextra")
COMMAND = re.compile(r"typedef (\w+) \(VKAPI_PTR \*PFN_vk(Cmd\w+)\)\((VkCommandBuffer[^)]*)\);")
# Marks for debuggers mean nothing to a replay.
HARMLESS = re.compile(r"Cmd(Debug|Begin|End|Insert).*(Marker|Label).*EXT")
WRITES = ("CmdCopy", "CmdUpdate")


def main() -> int:
    """Builds, and says where to; the exit status."""
    try:
        print(build())
    except NativeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def build(target: Path = FOLDER) -> Path:
    """Compiles the layer into the folder `target`, with the manifest; the path of the library.

    Raises:
        NativeError: no compiler, no headers, no sources (an installed wheel has none), or the compiler's own words.
    """
    if not SOURCES.is_dir():
        raise NativeError(f"the sources of the layer are not at {SOURCES}: build it in a checkout, with `make native`")
    compiler = _compiler()
    header = _header(compiler)
    with tempfile.TemporaryDirectory(dir=target, prefix=".build") as name:
        folder = Path(name)
        others = _other_commands(header.read_text())
        (folder / "commands.gen.h").write_text(_list(others))
        (folder / "commands.gen.c").write_text(_functions(others))
        library = folder / LIBRARY.name
        sources = [*sorted(SOURCES.glob("*.c")), folder / "commands.gen.c"]
        _run([*compiler, *FLAGS, f"-I{SOURCES}", f"-I{folder}", *map(str, sources), "-o", str(library)])
        manifest = folder / MANIFEST.name
        manifest.write_text(json.dumps(_manifest(header.read_text()), indent=2) + "\n")
        for made in (library, manifest):
            os.replace(made, target / made.name)
    return target / LIBRARY.name


def _compiler() -> list[str]:
    for command in (os.environ.get("CC", "cc"), "gcc"):
        words = shlex.split(command)
        if words and shutil.which(words[0]):
            return words
    raise NativeError("no C compiler: apt-get install gcc libc6-dev, or name one with CC=")


def _header(compiler: list[str]) -> Path:
    """Where the compiler finds vulkan_core.h."""
    command = [*compiler, "-M", "-xc", "-"]
    done = subprocess.run(
        command, input="#include <vulkan/vulkan_core.h>\n", capture_output=True, text=True, check=False
    )
    for word in done.stdout.split():
        if word.endswith("vulkan_core.h"):
            return Path(word)
    raise NativeError(
        "no Vulkan headers: apt-get install libvulkan-dev, or name the folder that holds vulkan/vulkan.h with CPATH="
    )


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NativeError(f"the layer does not compile:\n{done.stderr.strip()}")
    if done.stderr:
        print(done.stderr, file=sys.stderr, end="")


def _manifest(header: str) -> dict[str, object]:
    complete = re.search(r"VK_MAKE_API_VERSION\(0, (\d+), (\d+), VK_HEADER_VERSION\)", header)
    patch = re.search(r"#define VK_HEADER_VERSION (\d+)", header)
    version = f"{complete[1]}.{complete[2]}.{patch[1]}" if complete and patch else "1.3.0"
    return {
        "file_format_version": "1.2.0",
        "layer": {
            "name": LAYER,
            "type": "GLOBAL",
            "library_path": f"./{LIBRARY.name}",
            "api_version": version,
            "implementation_version": "1",
            "description": "Replays what a WebGPU implementation has recorded",
        },
    }


# -- the commands that no graph can hold ------------------------------------------------------------------------------

Command = tuple[str, str, str]
"""Result type, name without vk, parameters as declared."""


def _other_commands(header: str) -> list[Command]:
    ours = set(re.findall(r"X\((\w+)\)", (SOURCES / "functions.h").read_text()))
    found = [(m[1], m[2], " ".join(m[3].split())) for m in COMMAND.finditer(header)]
    return [c for c in found if c[1] not in ours and not HARMLESS.match(c[1])]


def _list(commands: list[Command]) -> str:
    names = " \\\n".join(f"  X({name})" for _, name, _ in commands)
    return f"#define CG_REFUSED_COMMANDS(X) \\\n{names}\n"


def _functions(commands: list[Command]) -> str:
    return '#include "layer.h"\n' + "\n".join(_function(*command) for command in commands)


def _function(result: str, name: str, parameters: str) -> str:
    names = list(_names(parameters))
    call = f"cg_device_of({names[0]})->next.{name}({', '.join(names)})"
    lines = [
        f"VKAPI_ATTR {result} VKAPI_CALL cg_{name}({parameters}) {{",
        f'  cg_refuse_command({names[0]}, "vk{name}");',
        *([f"  cg_wrote(cg_device_of({names[0]}), {names[0]});"] if name.startswith(WRITES) else []),
        f"  {'' if result == 'void' else 'return '}{call};",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _names(parameters: str) -> Iterator[str]:
    for parameter in parameters.split(","):
        match = re.search(r"(\w+)(\[\w+\])?$", parameter.strip())
        assert match is not None, parameter
        yield match[1]


if __name__ == "__main__":
    sys.exit(main())
