"""Writes a model's directory as Hugging Face lays it out, whole or in shards."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from llm.config import ModelConfig
from llm.huggingface import directory_name
from llm.safetensors_file import INDEX, SINGLE
from llm.tokenizer import byte_characters


def write_directory(
    folder: Path, config: ModelConfig, weights: dict[str, np.ndarray], *, kind: str = "F32", shards: int = 1
) -> Path:
    """The weights in `shards` files, F32, F16 or BF16."""
    folder.mkdir(exist_ok=True)
    described = {
        "model_type": config.architecture,
        "num_hidden_layers": config.layers,
        "hidden_size": config.hidden,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.kv_heads,
        "head_dim": config.head_dim,
        "intermediate_size": config.ffn,
        "vocab_size": config.vocab,
        "max_position_embeddings": config.context,
        "rope_theta": config.rope_theta,
        "rms_norm_eps": config.norm_eps,
        "tie_word_embeddings": config.tied_output,
    }
    (folder / "config.json").write_text(json.dumps(described))
    bpe = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(byte_characters())}, merges=[]))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    bpe.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    bpe.save(str(folder / "tokenizer.json"))
    settings = {"eos_token": "<|im_end|>", "chat_template": "<|im_start|>user"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    names = sorted(weights)
    if shards == 1:
        write_safetensors(folder / SINGLE, {directory_name(name): weights[name] for name in names}, kind)
        return folder
    index: dict[str, str] = {}
    for shard in range(shards):
        file = f"model-{shard}.safetensors"
        mine = {directory_name(name): weights[name] for name in names[shard::shards]}
        write_safetensors(folder / file, mine, kind)
        index |= dict.fromkeys(mine, file)
    (folder / INDEX).write_text(json.dumps({"weight_map": index}))
    return folder


def write_safetensors(path: Path, tensors: dict[str, np.ndarray], kind: str = "F32") -> None:
    """One file; BF16 cuts the lower halves off."""
    header: dict[str, Any] = {}
    body = b""
    for name, values in tensors.items():
        values = np.ascontiguousarray(values, np.float32)
        raw = (
            (values.view(np.uint32) >> 16).astype(np.uint16).tobytes()
            if kind == "BF16"
            else values.astype(np.float16 if kind == "F16" else np.float32).tobytes()
        )
        header[name] = {"dtype": kind, "shape": values.shape, "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)
