"""Turn a prompt into tokens: fill the chat template of the model, and cut the text at the end of the prefix."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from recollect._tokenizer import replace_surrogates

_PREFIX_MARK: Final = "recollect-7d0c1f5e-cut"  # marks the end of the prefix while a template is filled in


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInput:
    """The content of a request: instructions, the shared prefix, the rest, and the corrections since then."""

    system: str
    prefix: str
    text: str
    correction: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizedPrompt:
    """A prompt in tokens, in two parts. Each part is tokenised alone.

    So the tokens of the first part do not depend on the second, and its state serves every later question. Between the
    parts there may be one token more than in a single text.
    """

    head: tuple[int, ...]
    tail: tuple[int, ...]


class ChatTemplate:
    """Turns prompts into tokens, and tokens into text.

    Args:
        tokenizer: a tokenizer of transformers. If it has no chat template, empty lines separate the parts.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._has_template = bool(tokenizer.chat_template)

    @property
    def end_token(self) -> int | None:
        """Return the token that ends a reply."""
        end: int | None = self._tokenizer.eos_token_id
        return end

    @property
    def vocabulary(self) -> list[tuple[str, int]]:
        """Return every token with its number, sorted."""
        return sorted(self._tokenizer.get_vocab().items())

    def tokenize(self, talk: ModelInput) -> TokenizedPrompt:
        """Return a prompt in tokens. Its second part has at least one token."""
        head, tail = self._split_prompt(talk)
        first, rest = self._encode(head), self._encode(tail)
        if not self._has_template and (start := self._tokenizer.bos_token_id) is not None:
            first, rest = ((start, *first), rest) if head else (first, (start, *rest))
        return TokenizedPrompt(head=first, tail=rest) if rest else TokenizedPrompt(head=first[:-1], tail=first[-1:])

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of some tokens."""
        return str(self._tokenizer.decode(tokens, skip_special_tokens=True))

    def _split_prompt(self, talk: ModelInput) -> tuple[str, str]:
        """Return the prompt as two texts, cut at the end of the prefix. Without a prefix the first is empty."""
        talk = replace(
            talk,
            system=self._neutralize(talk.system),
            prefix=self._neutralize(talk.prefix),
            text=self._neutralize(talk.text),
        )
        if not talk.prefix:
            return "", self._fill_template(talk, "")
        whole = self._fill_template(talk, _PREFIX_MARK)
        if whole.count(_PREFIX_MARK) != 1:  # the prompt contains the mark, or the template repeats its input
            return "", self._fill_template(talk, "")
        head, _, tail = whole.partition(_PREFIX_MARK)
        return head, tail

    def _fill_template(self, talk: ModelInput, cut: str) -> str:
        asked = f"{talk.prefix}{cut}{talk.text}"
        corrected = () if talk.correction is None else tuple(map(self._neutralize, talk.correction))
        if not self._has_template:
            return "\n\n".join(filter(None, (talk.system, asked, *corrected))) + "\n\n"
        system = [("system", talk.system)] if talk.system else []
        later = list(zip(("assistant", "user"), corrected, strict=False))
        try:
            return self._apply_template([*system, ("user", asked), *later])
        except Exception:  # an error of jinja; some templates accept no system text
            return self._apply_template([("user", f"{talk.system}\n\n{asked}".lstrip()), *later])

    def _apply_template(self, turns: Sequence[tuple[str, str]]) -> str:
        told = [{"role": role, "content": content} for role, content in turns]
        # Templates without thinking ignore the argument. Thoughts in the reply would not be JSON.
        return str(
            self._tokenizer.apply_chat_template(told, tokenize=False, add_generation_prompt=True, enable_thinking=False)
        )

    def _neutralize(self, text: str) -> str:
        """Return the text with a blank in everything that the model would read as the end of a message or a new
        speaker.
        """
        text = replace_surrogates(text)
        return self._special.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text) if self._special else text

    @cached_property
    def _special(self) -> re.Pattern[str] | None:
        added = self._tokenizer.added_tokens_decoder.values()
        words = {*self._tokenizer.all_special_tokens, *(token.content for token in added if token.special)}
        longest_first = sorted((word for word in words if word), key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def _encode(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"]) if text else ()
