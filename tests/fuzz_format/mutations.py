"""What is done to a good file. A recipe is a file and a few steps, each with a seed of its own, so that one can be left
out; a file is always made of a recipe in the same way."""

from __future__ import annotations

import copy
import hashlib
import json
import random
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attrs import define, frozen

from cmdgraph.container.archive import CONTENTS, MANIFEST
from tests.container.saved import sealed
from tests.fuzz_format.corpus import Saved

__all__ = ["Recipe", "draw", "made"]


@frozen
class Recipe:
    """``saved`` is the number of a good file; steps are (name, seed)."""

    saved: int
    steps: tuple[tuple[str, int], ...]


@define
class _File:
    """A file while it is changed. ``manifest`` is parsed as long as it can be; ``fit`` says that checksums are put
    right at the end."""

    saved: Saved
    manifest: Any
    text: bytes | None
    contents: bytearray
    fit: bool = True
    raw: bytes | None = None


def draw(rng: random.Random, corpus: Sequence[Saved]) -> Recipe:
    """A recipe of one to three steps."""
    steps = rng.choices(
        [name for name, _, _ in _STEPS], [weight for _, weight, _ in _STEPS], k=rng.choice([1, 1, 2, 3])
    )
    (saved,) = rng.choices(range(len(corpus)), [each.weight for each in corpus])
    return Recipe(saved, tuple((step, rng.getrandbits(32)) for step in steps))


def made(recipe: Recipe, corpus: Sequence[Saved]) -> bytes:
    """The mutated zip file."""
    saved = corpus[recipe.saved]
    file = _File(saved, json.loads(saved.manifest), None, bytearray(saved.contents))
    del file.manifest["sha256"]
    for name, seed in recipe.steps:
        _BY_NAME[name](random.Random(seed), file)
    if file.raw is not None:
        return file.raw
    return _zip(file)


# -- steps ----------------------------------------------------------------------------------------------------------


def _member(rng: random.Random, file: _File) -> None:
    """Another value for some member of the manifest, at any depth."""
    place = _place(rng, file.manifest)
    if place is not None:
        place[0][place[1]] = _value(rng, place[0][place[1]], file.manifest)


def _remove(rng: random.Random, file: _File) -> None:
    place = _place(rng, file.manifest)
    if place is not None:
        del place[0][place[1]]


def _repeat(rng: random.Random, file: _File) -> None:
    """An element of a list again, once or very often."""
    lists = [value for value in _values(file.manifest) if isinstance(value, list) and value]
    if lists:
        chosen = rng.choice(lists)
        at = rng.randrange(len(chosen))
        chosen[at:at] = [copy.deepcopy(chosen[at]) for _ in range(rng.choice([1, 2, 2, 100, 1000]))]


def _exchange(rng: random.Random, file: _File) -> None:
    """Two parts change places."""
    a, b = _place(rng, file.manifest), _place(rng, file.manifest)
    if a is not None and b is not None:
        a[0][a[1]], b[0][b[1]] = b[0][b[1]], a[0][a[1]]


def _extra(rng: random.Random, file: _File) -> None:
    """A member that is not known."""
    objects = [value for value in _values(file.manifest) if isinstance(value, dict)]
    if objects:
        rng.choice(objects)[rng.choice(["extra", "", "__proto__", "label", "nodes"])] = _value(rng, 0, file.manifest)


def _number(rng: random.Random, file: _File) -> None:
    """A number slightly off: what is most likely to pass the first checks."""
    places = [p for p in _places(file.manifest) if isinstance(p[0][p[1]], int)]
    if places:
        part, key = rng.choice(places)
        part[key] += rng.choice([-4, -1, 1, 1, 2, 4, 256, 65535, 1 << 20])


def _code(rng: random.Random, file: _File) -> None:
    """Shader code with words taken out, repeated, exchanged, nested."""
    modules = file.manifest.get("modules")
    if not isinstance(modules, list) or not modules or not isinstance(modules[0], dict):
        return
    module = rng.choice(modules)
    if isinstance(module, dict) and isinstance(module.get("code"), str):
        module["code"] = _mutated_code(rng, module["code"])


def _unfit(rng: random.Random, file: _File) -> None:
    """Checksums stay as they were."""
    del rng
    file.fit = False


def _text(rng: random.Random, file: _File) -> None:
    """Bytes of the manifest, whether it is JSON then or not."""
    text = bytearray(file.text if file.text is not None else sealed(file.manifest))
    _damage(rng, text)
    file.text = bytes(text)


def _deep(rng: random.Random, file: _File) -> None:
    """Brackets in brackets, or very long text."""
    depth = rng.choice([10, 1000, 100_000])
    fill = rng.choice([b"[" * depth, b'{"a":' * depth, b"[" * depth + b"]" * depth, b"9" * depth, b'"' + b"a" * depth])
    text = file.text if file.text is not None else sealed(file.manifest)
    at = rng.randrange(len(text) + 1)
    file.text = text[:at] + fill + text[at:]


def _tensor_data(rng: random.Random, file: _File) -> None:
    _damage(rng, file.contents)


def _tensor_header(rng: random.Random, file: _File) -> None:
    """The header of the contents: numbers, names, members."""
    length = int.from_bytes(file.contents[:8], "little")
    try:
        header = json.loads(file.contents[8 : 8 + length])
    except ValueError:
        return
    place = _place(rng, header)
    if place is not None:
        place[0][place[1]] = _value(rng, place[0][place[1]], header)
    raw = json.dumps(header).encode()
    file.contents[: 8 + length] = len(raw).to_bytes(8, "little") + raw


def _zip_field(rng: random.Random, file: _File) -> None:
    """A field of the zip file's own records."""
    data = bytearray(_zip(file))
    marks = [at for mark in (b"PK\1\2", b"PK\3\4", b"PK\5\6") for at in _found(data, mark)]
    at = rng.choice(marks) + rng.randrange(46)
    width = rng.choice([1, 2, 4])
    data[at : at + width] = struct.pack("<Q", rng.choice([0, 1, 2, 0xFFFF, 0xFFFFFFFF, rng.getrandbits(32)]))[:width]
    file.raw = bytes(data)


def _bytes(rng: random.Random, file: _File) -> None:
    """Any bytes of the whole file."""
    data = bytearray(file.raw if file.raw is not None else _zip(file))
    _damage(rng, data)
    file.raw = bytes(data)


_STEPS: list[tuple[str, int, Callable[[random.Random, _File], None]]] = [
    ("member", 6, _member),
    ("number", 4, _number),
    ("remove", 3, _remove),
    ("repeat", 2, _repeat),
    ("exchange", 2, _exchange),
    ("extra", 1, _extra),
    ("code", 3, _code),
    ("unfit", 1, _unfit),
    ("text", 2, _text),
    ("deep", 1, _deep),
    ("tensor data", 2, _tensor_data),
    ("tensor header", 2, _tensor_header),
    ("zip field", 2, _zip_field),
    ("bytes", 3, _bytes),
]
_BY_NAME = {name: step for name, _, step in _STEPS}


# -- parts ----------------------------------------------------------------------------------------------------------

_NUMBERS = [
    0,
    1,
    -1,
    3,
    4,
    255,
    65535,
    65536,
    *((1 << n) + d for n in (20, 31, 32, 53, 63, 64) for d in (-1, 0)),
    10**40,
]
_ODD: list[Any] = [
    *_NUMBERS, 0.5, 1e308, True, None, "", "auto", "x", "../x", "/dev/zero", "\0", "\ud800", "a" * 10_000,
    [], {}, [[]], [0], [None], {"pipeline": 0, "group": 0}, {"": 0},
]  # fmt: skip


def _value(rng: random.Random, old: Any, manifest: Any) -> Any:
    if rng.random() < 0.25:
        return copy.deepcopy(rng.choice(list(_values(manifest)) or [0]))
    if isinstance(old, int) and rng.random() < 0.5:
        return rng.choice(_NUMBERS)
    if isinstance(old, str) and old and rng.random() < 0.5:
        at = rng.randrange(len(old))
        return old[:at] + rng.choice(["", "\0", "é", "0", old]) + old[at + 1 :]
    return copy.deepcopy(rng.choice(_ODD))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a JSON value."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        for key in list(part) if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ():
            yield part, key
            waiting.append(part[key])


def _values(value: Any) -> Iterator[Any]:
    return (part[key] for part, key in _places(value))


def _place(rng: random.Random, value: Any) -> tuple[Any, Any] | None:
    """A place of a JSON value, each level as likely as the others."""
    part, place = value, None
    while isinstance(part, dict | list) and part and (place is None or rng.random() < 0.7):
        key = rng.choice(list(part)) if isinstance(part, dict) else rng.randrange(len(part))
        place, part = (part, key), part[key]
    return place


def _damage(rng: random.Random, data: bytearray) -> None:
    """Flips, cuts, repeats or overwrites bytes."""
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = rng.randrange(len(data) + 1)
        length = rng.choice([1, 1, 2, 4, 8, 64, 1000])
        kind = rng.choice(["flip", "flip", "cut", "end", "repeat", "zeros", "random"])
        if kind == "flip" and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == "cut":
            del data[at : at + length]
        elif kind == "end":
            del data[at:]
        elif kind == "repeat":
            data[at:at] = data[max(0, at - length) : at] * rng.choice([1, 3, 100])
        elif kind == "zeros":
            data[at : at + length] = bytes(length)
        elif kind == "random":
            data[at : at + length] = rng.randbytes(length)


_TOKENS = """
( ) { } [ ] < > ; , + - * / & = 0 1u 4294967295u 1e38f 0xffffffffu array vec4<f32> f32 u32 i32 f16 atomic<u32> @id(1)
ptr<function,u32> var<workgroup> var<private> override const let if else for loop switch return break continue discard
fn struct @binding(0) @group(9) @workgroup_size(0) @compute workgroupBarrier(); arrayLength(& textureLoad( max( select(
bitcast<u32>( /* // */ ' " é 🙂 const_assert
"""
_WORDS = [*_TOKENS.split(), "enable f16;", "requires immediate_address_space;", "\0"]


def _mutated_code(rng: random.Random, code: str) -> str:
    words = code.replace("(", " ( ").replace(")", " ) ").replace(";", " ; ").replace(",", " , ").split(" ")
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(len(words))
        kind = rng.choice(["cut", "put", "replace", "exchange", "repeat", "nest", "chars"])
        if kind == "cut":
            del words[at : at + rng.choice([1, 2, 10])]
        elif kind == "put":
            words.insert(at, rng.choice(_WORDS))
        elif kind == "replace":
            words[at] = rng.choice(_WORDS)
        elif kind == "exchange":
            other = rng.randrange(len(words))
            words[at], words[other] = words[other], words[at]
        elif kind == "repeat":
            part = words[at : at + rng.choice([1, 3, 10])]
            words[at:at] = part * rng.choice([1, 2, 50, 1000])
        elif kind == "nest":
            opening, closing = rng.choice([("(", ")"), ("{", "}"), ("array<", ",2>"), ("-", ""), ("max(1,", ")")])
            depth = rng.choice([2, 60, 99, 101, 5000])
            words[at] = opening * depth + words[at] + closing * depth
        elif words[at]:
            place = rng.randrange(len(words[at]))
            words[at] = words[at][:place] + chr(rng.choice([0, 9, 39, 48, 64, 95, 233])) + words[at][place + 1 :]
        words = words or [""]
    return " ".join(words)


def _zip(file: _File) -> bytes:
    """The two parts in a zip file, with checksums that fit if they are to."""
    manifest = file.manifest
    if file.text is None and file.fit:
        _fit(manifest, bytes(file.contents))
    text = file.text
    if text is None:
        text = sealed(manifest) if file.fit else json.dumps(manifest).encode() + file.saved.manifest[-79:]
    return _stored([(CONTENTS.encode(), bytes(file.contents)), (MANIFEST.encode(), text)])


def _fit(manifest: Any, contents: bytes) -> None:
    """Puts the checksums of the contents right, where the manifest still has a place for them."""
    length = int.from_bytes(contents[:8], "little")
    told = manifest.get("contents") if isinstance(manifest, dict) else None
    if isinstance(told, dict) and length < 1 << 20:
        told["headerSha256"] = hashlib.sha256(contents[: 8 + length]).hexdigest()
        told["size"] = len(contents)
    try:
        header = json.loads(contents[8 : 8 + length])
        parts = [*(b.get("contents") for b in manifest["buffers"]), manifest.get("writes")]
        for part in parts:
            if part is not None:
                start, end = header[part["tensor"]]["data_offsets"]
                part["sha256"] = hashlib.sha256(contents[8 + length + start : 8 + length + end]).hexdigest()
    except (ValueError, LookupError, TypeError, AttributeError):
        return


def _stored(files: list[tuple[bytes, bytes]]) -> bytes:
    """A zip file, quicker than `zipfile` makes one. Its CRCs are zero: readers of graphs do not look at them."""
    body, directory = bytearray(), bytearray()
    for name, data in files:
        numbers = struct.pack("<6H", 10, 0, 0, 0, 0, 0)[:10] + struct.pack(
            "<3L2H", 0, len(data), len(data), len(name), 0
        )
        directory += b"PK\1\2" + struct.pack("<H", 20) + numbers + struct.pack("<3H2L", 0, 0, 0, 0, len(body)) + name
        body += b"PK\3\4" + numbers + name + data
    end = struct.pack("<4H2LH", 0, 0, len(files), len(files), len(directory), len(body), 0)
    return bytes(body) + bytes(directory) + b"PK\5\6" + end


def _found(data: bytes | bytearray, mark: bytes) -> Iterator[int]:
    at = data.find(mark)
    while at >= 0:
        yield at
        at = data.find(mark, at + 1)
