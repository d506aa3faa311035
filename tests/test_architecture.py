"""The floors of the house: imports go downwards only, and public names are declared."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Lowest first; a module may import from its own floor and from those below.
FLOORS = [
    {"errors"},
    {"layouts", "wgsl", "workgroups", "objects", "program"},
    {"tracking", "liveness", "backends"},
    {"validation", "hazards", "rebinding", "recording"},
    {"replay", "native", "_setup"},
    {"container", "contents", "view"},
    {"graph"},
    {"capture", "guarding", "graphed", "loading"},
    {"bench", "adapters", "cli", "__main__"},
]
FLOOR_OF = {name: floor for floor, names in enumerate(FLOORS) for name in names}
# They use the library as its users do, by the names of the package itself.
USERS_OF_THE_PACKAGE = {"bench", "adapters", "cli", "__main__"}

# Files of the workload that compare eager calls with a graph; all others are what users write today.
COMMAND_FILES = {
    "cli.py",
    "demo.py",
    "files.py",
    "strategies.py",
    "torch_rows.py",
    "__main__.py",
}

MODULES = sorted((ROOT / "cmdgraph").rglob("*.py"))


def _imports(path: Path) -> Iterator[str]:
    """Dotted names of all modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from names if node.module == "cmdgraph" else [node.module or ""]


def _part(path: Path) -> str:
    """The module or subpackage directly below `cmdgraph`; empty for the package itself."""
    first = path.relative_to(ROOT / "cmdgraph").parts[0]
    return first.removesuffix(".py").removesuffix("__init__")


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_imports_go_downwards(path: Path) -> None:
    part = _part(path)
    if not part:
        allowed = {name for name in FLOOR_OF if name not in USERS_OF_THE_PACKAGE}
    else:
        assert part in FLOOR_OF, f"{part} has no floor: name it in FLOORS"
        allowed = {name for name, floor in FLOOR_OF.items() if floor <= FLOOR_OF[part]}
    for name in _imports(path):
        top, _, rest = name.partition(".")
        if top != "cmdgraph":
            continue
        below = rest.partition(".")[0]
        if below in FLOOR_OF:
            assert below in allowed, f"{_name(path)} imports {name} from a higher floor"
        else:
            assert part in USERS_OF_THE_PACKAGE, f"{_name(path)} imports the package it is part of"


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_the_library_knows_nothing_of_the_workload(path: Path) -> None:
    assert not {name.partition(".")[0] for name in _imports(path)} & {
        "llm",
        "shaders",
        "spec_proposal",
        "tests",
    }


@pytest.mark.parametrize("path", sorted((ROOT / "llm").rglob("*.py")), ids=_name)
def test_model_code_is_plain_wgpu(path: Path) -> None:
    if (path.parent == ROOT / "llm" and path.name in COMMAND_FILES) or path.parent.name == "experiments":
        return
    assert "cmdgraph" not in {name.partition(".")[0] for name in _imports(path)}


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_declared_names_exist(path: Path) -> None:
    tree = ast.parse(path.read_text())
    declared = _declared(tree)
    if declared is None:
        return
    defined = {name for node in tree.body for name in _defined(node)}
    assert set(declared) <= defined
    assert len(set(declared)) == len(declared)


def test_every_public_name_of_the_package_is_declared() -> None:
    tree = ast.parse((ROOT / "cmdgraph" / "__init__.py").read_text())
    declared = _declared(tree)
    assert declared is not None
    public = {name for node in tree.body for name in _defined(node) if not name.startswith("_")}
    assert set(declared) - {"__version__"} == public - {"annotations"}
    # The order that ruff keeps: constants, classes, functions, each by name.
    assert declared == sorted(declared, key=lambda name: (not name.isupper(), not name[0].isupper(), name))


def _declared(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and "__all__" in _defined(node):
            assert node.value is not None
            return ast.literal_eval(node.value)
    return None


def _defined(node: ast.stmt) -> list[str]:
    """Names that a top-level statement binds."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
            return [name]
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [(alias.asname or alias.name).partition(".")[0] for alias in names]
        case ast.Assign(targets=targets):
            return [t.id for target in targets for t in ast.walk(target) if isinstance(t, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Try() | ast.If():
            return [
                name for part in ast.iter_child_nodes(node) if isinstance(part, ast.stmt) for name in _defined(part)
            ]
    return []
