"""Text to token ids and back, with the vocabulary of a GGUF file or a tokenizer.json.

The merges run in PyPI `tokenizers`. How text is cut up before them follows the model: SmolLM2 splits digits
one by one and cuts as GPT-2 does, Qwen2 has a pattern of its own. Chat prompts are in ChatML.
"""

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from attrs import field, frozen
from tokenizers import AddedToken, Regex, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as BPETokenizer

from llm.errors import ModelFileError, UnsupportedModelError, UsageError
from llm.gguf_file import GGUFFile
from llm.safetensors_file import read_json

SPECIAL_TOKEN_TYPE = 3
END_TOKENS = ("<|im_end|>", "<|endoftext|>")

_QWEN2_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# The text a ChatML template puts in where the messages bring no system prompt.
_DEFAULT_SYSTEM = re.compile(r"<\|im_start\|>system(?:\n|\\n)([^'{}]+)<\|im_end\|>")


@frozen(eq=False)
class Tokenizer:
    """Encodes and decodes. `stop_tokens`: ids that end a text. `chat_template`: the file's, or empty."""

    tokens: list[str] = field(repr=False)
    stop_tokens: frozenset[int]
    chat_template: str = field(repr=False)
    _special: frozenset[int] = field(repr=False)
    _bpe: BPETokenizer = field(repr=False)

    def encode(self, text: str) -> list[int]:
        """The ids of `text`; special tokens such as `<|im_end|>` are recognised in it."""
        return self._bpe.encode(text, add_special_tokens=False).ids

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`; bytes that are no UTF-8 become U+FFFD."""
        return "".join(self.stream(ids))

    def to_json(self) -> str:
        """The tokenizer as a tokenizer.json, for programs in other languages."""
        return self._bpe.to_str()

    def stream(self, ids: Iterable[int]) -> Iterator[str]:
        """The text of `ids` piece by piece as they come; a character is held back until it is whole."""
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        for token in ids:
            piece = decoder.decode(self.token_bytes(token))
            if piece:
                yield piece
        rest = decoder.decode(b"", final=True)
        if rest:
            yield rest

    def token_bytes(self, token: int) -> bytes:
        """The bytes that `token` stands for; none where the vocabulary has no such id."""
        if not 0 <= token < len(self.tokens):
            return b""
        text = self.tokens[token]
        if token in self._special:
            return text.encode()
        return bytes(_BYTE_OF[character] for character in text if character in _BYTE_OF)

    def chat_prompt(self, message: str) -> str:
        """One user message in ChatML, with the model's default system prompt, up to where the answer begins.

        Raises UsageError where the model's template is not ChatML.
        """
        if "<|im_start|>" not in self.chat_template:
            raise UsageError("the model has no ChatML template; use --no-chat")
        system = _DEFAULT_SYSTEM.search(self.chat_template)
        opening = f"<|im_start|>system\n{system[1]}<|im_end|>\n" if system else ""
        return f"{opening}<|im_start|>user\n{message}<|im_end|>\n<|im_start|>assistant\n"


def tokenizer_from_gguf(file: GGUFFile) -> Tokenizer:
    """The tokenizer that the metadata of `file` describes. Raises UnsupportedModelError for another kind than
    BPE.
    """
    kind = file.metadata.get("tokenizer.ggml.model")
    if kind != "gpt2":
        raise UnsupportedModelError(f"{file.path}: tokenizer '{kind}' is not supported; byte-level BPE ('gpt2') is")
    tokens = _strings(file, "tokenizer.ggml.tokens")
    merges = [tuple(merge.split(" ", 1)) for merge in _strings(file, "tokenizer.ggml.merges")]
    special = _special_tokens(file, len(tokens))
    bpe = _bpe(file, tokens, merges)
    bpe.add_special_tokens([AddedToken(tokens[i], special=True, normalized=False) for i in sorted(special)])
    ends = {i for i, token in enumerate(tokens) if token in END_TOKENS}
    eos = file.metadata.get("tokenizer.ggml.eos_token_id")
    template = file.metadata.get("tokenizer.chat_template", "")
    return Tokenizer(
        tokens=tokens,
        stop_tokens=frozenset(ends | ({eos} if isinstance(eos, int) else set())),
        chat_template=template if isinstance(template, str) else "",
        special=special,
        bpe=bpe,
    )


def tokenizer_from_directory(folder: Path) -> Tokenizer:
    """The tokenizer that `folder`'s tokenizer.json describes, with the chat template and end token of its
    tokenizer_config.json, if there is one. Raises ModelFileError where the file is missing or damaged.
    """
    path, settings_path = folder / "tokenizer.json", folder / "tokenizer_config.json"
    described = read_json(path)
    try:
        bpe = BPETokenizer.from_str(json.dumps(described))
    except Exception as error:  # the package raises no narrower class
        raise ModelFileError(f"{path} describes no tokenizer that can be made: {error}") from error
    settings = read_json(settings_path) if settings_path.is_file() else {}
    vocabulary = bpe.get_vocab(with_added_tokens=True)
    tokens = [""] * (max(vocabulary.values(), default=-1) + 1)
    for token, i in vocabulary.items():
        tokens[i] = token
    added = bpe.get_added_tokens_decoder()
    end = settings.get("eos_token")
    ends = {*END_TOKENS, end.get("content") if isinstance(end, dict) else end}
    template = settings.get("chat_template", "")
    return Tokenizer(
        tokens=tokens,
        stop_tokens=frozenset(i for i, token in enumerate(tokens) if token in ends),
        chat_template=template if isinstance(template, str) else "",
        special=frozenset(added),
        bpe=bpe,
    )


def stand_in_tokenizer(vocabulary: int) -> Tokenizer:
    """For random weights: the bytes, and a made-up word for every other id."""
    tokens = [*list(byte_characters())[:vocabulary], *(f"Ġt{i}" for i in range(256, vocabulary))]
    bpe = BPETokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=[]))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return Tokenizer(tokens=tokens, stop_tokens=frozenset(), chat_template="", special=frozenset(), bpe=bpe)


def _bpe(file: GGUFFile, tokens: list[str], merges: list[Any]) -> BPETokenizer:
    cut = file.metadata.get("tokenizer.ggml.pre")
    vocabulary = {token: i for i, token in enumerate(tokens)}
    try:
        bpe = BPETokenizer(models.BPE(vocab=vocabulary, merges=merges))
    except Exception as error:  # the package raises no narrower class
        raise UnsupportedModelError(f"{file.path}: the tokenizer's merges do not fit its tokens: {error}") from error
    if cut == "smollm":
        digits = pre_tokenizers.Digits(individual_digits=True)
        bytewise = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
        bpe.pre_tokenizer = pre_tokenizers.Sequence([digits, bytewise])
    elif cut == "qwen2":
        words = pre_tokenizers.Split(Regex(_QWEN2_PATTERN), behavior="isolated")
        bytewise = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        bpe.normalizer = normalizers.NFC()
        bpe.pre_tokenizer = pre_tokenizers.Sequence([words, bytewise])
    else:
        raise UnsupportedModelError(f"{file.path}: pre-tokenizer '{cut}' is not supported; 'smollm' and 'qwen2' are")
    return bpe


def _strings(file: GGUFFile, key: str) -> list[str]:
    value = file.metadata.get(key)
    if not isinstance(value, list):
        raise UnsupportedModelError(f"{file.path}: metadata '{key}' is missing or holds no strings")
    return value


def _special_tokens(file: GGUFFile, count: int) -> frozenset[int]:
    types = file.metadata.get("tokenizer.ggml.token_type")
    if types is None or len(types) != count:
        raise UnsupportedModelError(
            f"{file.path}: metadata 'tokenizer.ggml.token_type' gives no type to each of {count} tokens"
        )
    return frozenset(i for i, kind in enumerate(types) if kind == SPECIAL_TOKEN_TYPE)


def byte_characters() -> dict[str, int]:
    """GPT-2's byte-level alphabet: printable bytes stand for themselves, the others for characters from
    U+0100 on.
    """
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + i): byte for i, byte in enumerate(others)}


_BYTE_OF = byte_characters()
