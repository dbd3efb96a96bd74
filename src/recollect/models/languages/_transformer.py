"""Run a causal language model of transformers: text in, text out, and its state in between.

torch, transformers and their types stay in this module. They are imported on first use.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from recollect.errors import MissingExtra, ModelUnavailable
from recollect.models.languages._chat_template import ChatTemplate, ModelInput, TokenizedPrompt
from recollect.models.languages._state_file import Bytes, Tensor, TensorShape, compute_checksum
from recollect.models.languages.states import StateFolder, StateKey

EXTRA: Final = "local"

_PACKAGES: Final = ("torch", "transformers")
_KEYS_AND_VALUES: Final = {"DynamicLayer", "DynamicSlidingWindowLayer"}
_DTYPES: Final = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenText:
    """The text that a model wrote. ``is_cut`` is true if it was not finished. ``tokens_cached`` tokens of the prompt
    were not computed.
    """

    text: str
    is_cut: bool
    tokens_in: int
    tokens_out: int
    tokens_cached: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateLocation:
    """The place of the states for a prompt."""

    folder: StateFolder
    path: Path


class TransformerModel:
    """A model and its tokenizer, loaded on first use. Only one thread may use it at a time.

    Args:
        source: a name on the model hub, or a folder. A folder needs no network.
        device: "cpu", "cuda" or "mps". None takes the best one.
        dtype: "float32", "float16" or "bfloat16". None takes the type of the weights.
    """

    def __init__(self, source: str | Path, *, device: str | None = None, dtype: str | None = None) -> None:
        self.source = source
        self._device, self._dtype = device, dtype

    @classmethod
    def wrap(cls, model: Any, tokenizer: Any, *, name: str) -> Self:
        """Return a model of transformers that is already loaded, with its tokenizer."""
        made = cls(name)
        made._model, made._chat = model, ChatTemplate(tokenizer)
        return made

    def tokenize(self, talk: ModelInput) -> TokenizedPrompt:
        """Return a prompt in tokens.

        Raises:
            ModelUnavailable, MissingExtra: the model could not be loaded.
        """
        return self._chat.tokenize(talk)

    def generate(
        self,
        reading: TokenizedPrompt,
        *,
        max_tokens: int,
        location: StateLocation | None = None,
        stop: threading.Event | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> WrittenText:
        """Write a reply of at most ``max_tokens`` tokens, the most likely token each time, until its end or until it is
        stopped.

        With a shelf, the state of the first part comes from there. A missing state is computed and put there.

        Args:
            reading: the prompt.
            most: the maximum number of tokens.
            shelf: the place of the states.
            stop: an event that ends the writing.
            said: receives the text, piece by piece.

        Raises:
            ModelUnavailable: the prompt does not fit the window of the model, or the model failed.
        """
        max_tokens = self._count_room(reading, max_tokens)
        try:
            unkept = "" if location is None or not reading.head or self._has_states else self._unkept_note
            with self._torch.inference_mode():
                written = self._generate(
                    self._split_readable(reading),
                    max_tokens,
                    location,
                    stop or threading.Event(),
                    on_text or _ignore_text,
                )
            return replace(written, note=unkept or written.note)
        except ModelUnavailable:
            raise
        except Exception as exc:  # torch and the code of the model may raise anything
            raise ModelUnavailable(f"{self.source} failed to generate: {exc}") from exc

    def next_logits(self, reading: TokenizedPrompt, shelf: StateLocation | None = None) -> Any:
        """Return the model's next expectation: a tensor of shape ``(vocabulary,)``. States are used as in
        :meth:`generate`.
        """
        reading = self._split_readable(reading)
        with self._torch.inference_mode():
            cache, _, _ = self._open_state(reading.head, shelf)
            return self._run_model(reading.tail, cache)

    @cached_property
    def fingerprint(self) -> str:
        """Return a digest of configuration, weights (every byte, see :func:`compute_checksum`), tokenizer and library
        version.

        It is computed once. That takes about as long as copying the weights in memory.
        """
        sums = [
            [name, str(weight.dtype), list(weight.shape), compute_checksum(_bytes_of(weight, self._torch))]
            for name, weight in sorted(self._model.state_dict().items())
        ]
        config = {name: value for name, value in self._model.config.to_dict().items() if not name.startswith("_")}
        told = json.dumps(
            [self._transformers.__version__, config, sums, self._chat.vocabulary], sort_keys=True, default=str
        )
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()

    def state_key(self, head: tuple[int, ...]) -> StateKey:
        """Return the key for the state of these tokens."""
        name = str(self._model.dtype).removeprefix("torch.")
        return StateKey(model=self.fingerprint, dtype=_DTYPES.get(name, name), tokens=head)

    @property
    def layers(self) -> int:
        """Return the number of layers that have keys and values."""
        layers: int = self._model.config.get_text_config().num_hidden_layers
        return layers

    # ---- generation

    def _count_room(self, reading: TokenizedPrompt, most: int) -> int:
        """Return how many tokens may be written after a prompt.

        Raises:
            ModelUnavailable: the prompt does not fit the window of the model.
        """
        read = len(reading.head) + len(reading.tail)
        window: int | None = getattr(self._model.config.get_text_config(), "max_position_embeddings", None)
        if window is None:
            return most
        if read >= window:
            raise ModelUnavailable(f"{self.source} reads {window:,} tokens at once; the prompt has {read:,}")
        return min(most, window - read)

    def _generate(
        self,
        reading: TokenizedPrompt,
        most: int,
        shelf: StateLocation | None,
        stop: threading.Event,
        said: Callable[[str], None],
    ) -> WrittenText:
        cache, cached, note = self._open_state(reading.head, shelf)
        spoken = _TextStream(self._chat.decode, said)
        ahead, ended = reading.tail, False
        while not ended and len(spoken.tokens) < most and not stop.is_set():
            token = int(self._run_model(ahead, cache).argmax())
            ahead, ended = (token,), token in self._end_tokens
            if not ended:
                spoken.add(token)
        if shelf is not None and reading.head and not cached:
            kept = self._save_state(reading.head, cache, shelf)
            note = "; ".join(filter(None, (note, kept)))
        return WrittenText(
            text=spoken.end(),
            is_cut=not ended,
            tokens_in=len(reading.head) + len(reading.tail),
            tokens_out=len(spoken.tokens),
            tokens_cached=cached,
            note=note,
        )

    def _open_state(self, head: tuple[int, ...], shelf: StateLocation | None) -> tuple[Any, int, str]:
        """Return the state after the first part, how many of its tokens were not computed, and a note on any
        problem.
        """
        note = ""
        if head and shelf is not None:
            found = shelf.folder.load(shelf.path, self.state_key(head), self.layers)
            if found.tensors:
                return self._restore_cache(found.tensors), len(head), ""
            note = found.note
        cache = self._new_cache()
        if head:  # without the last layer, because the logits of a long prompt would take gigabytes
            self._model.base_model(input_ids=self._make_row(head), past_key_values=cache, use_cache=True)
        return cache, 0, note

    def _run_model(self, tokens: Sequence[int], cache: Any) -> Any:
        """Return the logits after these tokens, of shape ``(vocabulary,)``. The cache grows by the tokens."""
        last = {"logits_to_keep": 1} if self._accepts_logits_to_keep else {}
        told = self._model(input_ids=self._make_row(tokens), past_key_values=cache, use_cache=True, **last)
        return told.logits[0, -1]

    def _make_row(self, tokens: Sequence[int]) -> Any:
        return self._torch.tensor([tokens], device=self._model.device)

    @cached_property
    def _accepts_logits_to_keep(self) -> bool:
        return "logits_to_keep" in inspect.signature(self._model.forward).parameters

    @cached_property
    def _end_tokens(self) -> frozenset[int]:
        told = self._model.generation_config.eos_token_id
        ends = told if isinstance(told, list) else [told]
        return frozenset(int(end) for end in (*ends, self._chat.end_token) if end is not None)

    # ---- states

    @cached_property
    def _has_states(self) -> bool:
        """Return true if the state of the model consists of keys and values alone, for each token in each layer."""
        config = self._model.config
        kinds = {type(layer).__name__ for layer in self._transformers.DynamicCache(config=config).layers}
        shared = getattr(config.get_text_config(), "num_kv_shared_layers", None)
        return kinds <= _KEYS_AND_VALUES and not shared

    def _split_readable(self, reading: TokenizedPrompt) -> TokenizedPrompt:
        """Return the prompt in two parts if the first part may have a state, or else in one."""
        return reading if self._has_states else TokenizedPrompt(head=(), tail=reading.head + reading.tail)

    def _new_cache(self) -> Any:
        """Return an empty cache. It keeps every token, even for layers that look only at the last ones."""
        kind = self._transformers.DynamicCache
        return kind() if self._has_states else kind(config=self._model.config)

    def _restore_cache(self, tensors: Sequence[Tensor]) -> Any:
        cache = self._new_cache()
        for layer in range(len(tensors) // 2):
            keys, values = (self._load_tensor(one) for one in tensors[2 * layer : 2 * layer + 2])
            cache.update(keys, values, layer)
        return cache

    @property
    def _unkept_note(self) -> str:
        return f"{self.source} keeps something else than keys and values of every token, so that no state was kept"

    def _load_tensor(self, stored: Tensor) -> Any:
        torch = self._torch
        kind = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}[stored.shape.dtype]
        return torch.from_numpy(stored.data).view(kind).view(stored.shape.lengths).to(self._model.device)

    def _save_state(self, head: tuple[int, ...], cache: Any, shelf: StateLocation) -> str:
        """Keep the state of the first part, with which the cache begins. Return the reason if it was not kept, or
        "".
        """
        key, kept = self.state_key(head), list(_list_tensors(cache))
        fits = len(kept) == 2 * self.layers and key.dtype in _DTYPES.values()
        if not fits or any(one.shape[2] < len(head) or _dtype_name(one) != key.dtype for _, one in kept):
            return self._unkept_note
        heads = [(name, one[:, :, : len(head)]) for name, one in kept]
        shapes = [TensorShape(name=name, dtype=key.dtype, lengths=tuple(one.shape)) for name, one in heads]
        return shelf.folder.save(shelf.path, key, shapes, (_bytes_of(one, self._torch) for _, one in heads))

    # ---- loading

    @cached_property
    def _torch(self) -> Any:
        return self._packages[0]

    @cached_property
    def _transformers(self) -> Any:
        return self._packages[1]

    @cached_property
    def _packages(self) -> list[Any]:
        found = []
        for package in _PACKAGES:
            try:
                found.append(importlib.import_module(package))
            except ImportError as exc:
                raise MissingExtra(package, EXTRA) from exc
        return found

    @cached_property
    def _chat(self) -> ChatTemplate:
        return ChatTemplate(self._loaded(lambda: self._transformers.AutoTokenizer.from_pretrained(str(self.source))))

    @cached_property
    def _model(self) -> Any:
        def load() -> Any:
            kinds = self._transformers.AutoModelForCausalLM
            model = kinds.from_pretrained(str(self.source), dtype=self._dtype or "auto")
            return model.to(self._device or _best_device(self._torch)).eval()

        return self._loaded(load)

    def _loaded(self, load: Callable[[], Any]) -> Any:
        if isinstance(self.source, Path) and not self.source.is_dir():
            raise ModelUnavailable(f"{self.source} is no folder, so no language model can be loaded from it")
        try:
            return load()
        except MissingExtra:
            raise
        except Exception as exc:  # any error of the hub, the file or torch means that there is no model
            raise ModelUnavailable(f"the language model {self.source} could not be loaded: {exc}") from exc


class _TextStream:
    """Collects tokens, and passes on their text as soon as its characters are complete."""

    def __init__(self, decode: Callable[[Sequence[int]], str], said: Callable[[str], None]) -> None:
        self.tokens: list[int] = []
        self._decode, self._said, self._told = decode, said, ""

    def add(self, token: int) -> None:
        self.tokens.append(token)
        text = self._decode(self.tokens)
        if not text.endswith("\ufffd"):  # the rest of the character comes later
            self._emit(text)

    def end(self) -> str:
        """Return the whole text."""
        text = self._decode(self.tokens)
        self._emit(text)
        return text

    def _emit(self, text: str) -> None:
        if piece := text.removeprefix(self._told):
            self._said(piece)
        self._told = text


def _list_tensors(cache: Any) -> Iterator[tuple[str, Any]]:
    """Yield the keys and values of each layer, of shape (1, heads, tokens, length). A layer without any yields
    nothing.
    """
    for number, layer in enumerate(cache.layers):
        for name in ("keys", "values"):
            kept = getattr(layer, name, None)
            if kept is not None and kept.dim() == 4:
                yield f"{name}.{number}", kept


def _dtype_name(tensor: Any) -> str:
    return _DTYPES.get(str(tensor.dtype).removeprefix("torch."), "")


def _bytes_of(tensor: Any, torch: Any) -> Bytes:
    """Return the bytes of a tensor, in the memory of this machine."""
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    data: Bytes = flat.view(torch.uint8).numpy()
    return np.ascontiguousarray(data)


def _best_device(torch: Any) -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _ignore_text(piece: str) -> None:
    """Ignore a piece of text."""
