"""GGUF files, whole and broken: values come back as written, and no file can do worse than raise an error."""

import os
import struct
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize
from hypothesis import given, settings
from hypothesis import strategies as st

from llm.errors import GGUFError, LLMError, ModelFileError, UnsupportedModelError
from llm.gguf_file import GGUFFile, open_gguf
from tests.llm.gguf_writer import gguf_bytes, write_gguf

METADATA = {"general.architecture": "llama", "count": 7, "theta": 0.5, "flag": True, "words": ["a", "é"]}
VALUES = np.random.default_rng(1).standard_normal((8, 64)).astype(np.float32)
WHOLE = gguf_bytes(METADATA | {"numbers": np.arange(5)}, {"m": (VALUES, "Q8_0"), "v": (VALUES[0], "F32")})


def test_metadata_comes_back(tmp_path: Path) -> None:
    file = _open(tmp_path, WHOLE)
    assert {key: file.metadata[key] for key in METADATA} == METADATA
    assert file.metadata["numbers"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("block_format", "error"),
    [("F32", 0), ("F16", 2e-3), ("BF16", 2e-2), ("Q8_0", 2e-2), ("Q4_0", 0.3), ("Q4_1", 0.3)],
)
def test_values_come_back(tmp_path: Path, block_format: str, error: float) -> None:
    file = open_gguf(write_gguf(tmp_path / "m.gguf", {}, {"m": (VALUES, block_format)}))
    values = file.tensor("m")
    assert values.dtype == np.float32
    assert values.shape == VALUES.shape
    np.testing.assert_allclose(values, VALUES, atol=error)


@pytest.mark.parametrize("block_format", ["Q4_K", "Q6_K"])
def test_k_formats(tmp_path: Path, block_format: str) -> None:
    """The writer cannot make these: blocks of random bytes, with scales that are small numbers."""
    number = GGMLQuantizationType[block_format]
    raw = np.random.default_rng(2).integers(0, 256, (6, GGML_QUANT_SIZES[number][1]), dtype=np.uint8)
    scales = slice(0, 4) if block_format == "Q4_K" else slice(-2, None)
    raw[:, scales] = np.frombuffer(np.float16(0.01).tobytes() * (2 if block_format == "Q4_K" else 1), np.uint8)
    header = struct.pack("<IQQ", 3, 1, 0) + struct.pack("<Q", 1) + b"m"
    header = b"GGUF" + header + struct.pack("<IQQIQ", 2, 512, 3, number.value, 0)
    file = _open(tmp_path, header + bytes(-len(header) % 32) + raw.tobytes())
    np.testing.assert_array_equal(file.tensor("m"), dequantize(raw, number).reshape(3, 512))


def test_real_file_opens_fast(model_path: Path) -> None:
    start = time.perf_counter()
    file = open_gguf(model_path)
    assert time.perf_counter() - start < 1
    assert len(file.tensors) == 272
    assert file.tensors["blk.0.attn_q.weight"].block_format.name == "Q4_1"


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "only 0 bytes"),
        (b"PK\x03\x04 a zip file", "not a GGUF file"),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "version 1"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 0), "more than the file could hold"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 60), "more than the file could hold"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1 << 62) + bytes(32), "ends inside a metadata key"),
        (WHOLE[:110], "ends inside"),
        (WHOLE[:-64], "truncated: tensor 'v'"),
        (gguf_bytes({"general.alignment": 0}, {}), "general.alignment"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_broken_files(tmp_path: Path, raw: bytes, words: str) -> None:
    with pytest.raises(GGUFError, match=words) as caught:
        _open(tmp_path, raw)
    assert "\n" not in str(caught.value)
    assert "model.gguf" in str(caught.value)


def test_unknown_block_format(tmp_path: Path) -> None:
    raw = WHOLE.replace(struct.pack("<IQQI", 2, 64, 8, 8), struct.pack("<IQQI", 2, 64, 8, 16))
    with pytest.raises(GGUFError, match=r"tensor 'm'.* IQ2_XXS; supported are F32"):
        _open(tmp_path, raw)
    raw = WHOLE.replace(struct.pack("<IQQI", 2, 64, 8, 8), struct.pack("<IQQI", 2, 64, 8, 999))
    with pytest.raises(GGUFError, match="block format 999"):
        _open(tmp_path, raw)


def test_overflowing_shape(tmp_path: Path) -> None:
    raw = WHOLE.replace(struct.pack("<IQQI", 2, 64, 8, 8), struct.pack("<IQQI", 2, 1 << 63, 1 << 62, 8))
    with pytest.raises(GGUFError, match="truncated"):
        _open(tmp_path, raw)


def test_values_that_are_not_finite(tmp_path: Path) -> None:
    file = open_gguf(write_gguf(tmp_path / "m.gguf", {}, {"m": (np.full((4, 8), np.nan), "F32")}))
    with pytest.raises(GGUFError, match="'m' holds values that are not finite"):
        file.tensor("m")


def test_missing_tensor(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModelError, match="no tensor 'x'"):
        _open(tmp_path, WHOLE).tensor("x")


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="no model file"):
        open_gguf(tmp_path / "none.gguf")
    with pytest.raises(ModelFileError, match="not a regular file"):
        open_gguf(tmp_path)


@settings(max_examples=300, deadline=None)
@given(
    cut=st.integers(0, len(WHOLE)),
    edits=st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), max_size=6),
    big=st.one_of(st.none(), st.tuples(st.integers(0, 400), st.sampled_from([0, 1 << 31, 1 << 40, (1 << 64) - 1]))),
)
def test_no_file_does_worse_than_raise(
    tmp_path_factory: pytest.TempPathFactory,
    cut: int,
    edits: list[tuple[int, int]],
    big: tuple[int, int] | None,
) -> None:
    raw = bytearray(WHOLE)
    for position, byte in edits:
        raw[position] = byte
    if big is not None:
        raw[big[0] : big[0] + 8] = struct.pack("<Q", big[1])
    path = tmp_path_factory.getbasetemp() / f"mutated-{os.getpid()}.gguf"
    path.write_bytes(raw[:cut] if cut % 2 else raw)
    tracemalloc.start()
    try:
        message = _read_all(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "\n" not in message
    assert peak < 10 << 20


def _read_all(path: Path) -> str:
    """Read every tensor; the error's message, if there was one."""
    try:
        file = open_gguf(path)
        for name in file.tensors:
            file.tensor(name)
    except LLMError as error:
        return str(error)
    return ""


def _open(folder: Path, raw: bytes) -> GGUFFile:
    path = folder / "model.gguf"
    path.write_bytes(raw)
    return open_gguf(path)
