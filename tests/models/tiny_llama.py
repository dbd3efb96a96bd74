"""A tiny random model of llama's kind with its tokenizer, made in a folder: seconds, no network."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
SPECIAL = ("<s>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>")


def write_llama(folder: Path, *, seed: int = 0, template: bool = True, dtype: str = "float32") -> Path:
    """Two layers of 64 numbers, four heads on two keys, a vocabulary of some 300 pieces."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizer = _tokenizer(transformers)
    if template:
        tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=2048,
        bos_token_id=0,
        eos_token_id=1,
    )
    transformers.LlamaForCausalLM(config).to(getattr(torch, dtype)).save_pretrained(folder)
    return folder


def end_with(folder: Path, token: int) -> None:
    """Have this token end what the model writes, as well as its own."""
    path = folder / "generation_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "eos_token_id": [1, token]}), "utf-8")


def _tokenizer(transformers):
    tokenizers = pytest.importorskip("tokenizers")
    pieces = tokenizers.Tokenizer(tokenizers.models.BPE())
    pieces.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=list(SPECIAL),
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    pieces.train_from_iterator(["Ada adopted Toby from the shelter in Leeds. " * 10], trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=pieces,
        bos_token=SPECIAL[0],
        eos_token=SPECIAL[1],
        additional_special_tokens=list(SPECIAL[2:]),
    )
