"""Turn a prompt into tokens: fill the chat template of the model, and cut the text at the end of the prefix."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from recollect._tokenizer import well_formed

_CUT: Final = "recollect-7d0c1f5e-cut"  # marks the end of the prefix while a template is filled in


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """The content of a request: instructions, the shared prefix, the rest, and the corrections since then."""

    system: str
    prefix: str
    text: str
    correction: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A prompt in tokens, in two parts. Each part is tokenised alone.

    So the tokens of the first part do not depend on the second, and its state serves every later question. Between the
    parts there may be one token more than in a single text.
    """

    head: tuple[int, ...]
    tail: tuple[int, ...]


class Chat:
    """Turns prompts into tokens, and tokens into text.

    Args:
        tokenizer: a tokenizer of transformers. If it has no chat template, empty lines separate the parts.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._has_template = bool(tokenizer.chat_template)

    @property
    def end(self) -> int | None:
        """Return the token that ends a reply."""
        end: int | None = self._tokenizer.eos_token_id
        return end

    @property
    def vocabulary(self) -> list[tuple[str, int]]:
        """Return every token with its number, sorted."""
        return sorted(self._tokenizer.get_vocab().items())

    def read(self, talk: Talk) -> Reading:
        """Return a prompt in tokens. Its second part has at least one token."""
        head, tail = self._texts(talk)
        first, rest = self._tokens(head), self._tokens(tail)
        if not self._has_template and (start := self._tokenizer.bos_token_id) is not None:
            first, rest = ((start, *first), rest) if head else (first, (start, *rest))
        return Reading(head=first, tail=rest) if rest else Reading(head=first[:-1], tail=first[-1:])

    def text(self, tokens: Sequence[int]) -> str:
        """Return the text of some tokens."""
        return str(self._tokenizer.decode(tokens, skip_special_tokens=True))

    def _texts(self, talk: Talk) -> tuple[str, str]:
        """Return the prompt as two texts, cut at the end of the prefix. Without a prefix the first is empty."""
        talk = replace(talk, system=self._tame(talk.system), prefix=self._tame(talk.prefix), text=self._tame(talk.text))
        if not talk.prefix:
            return "", self._filled(talk, "")
        whole = self._filled(talk, _CUT)
        if whole.count(_CUT) != 1:  # the prompt contains the mark, or the template repeats its input
            return "", self._filled(talk, "")
        head, _, tail = whole.partition(_CUT)
        return head, tail

    def _filled(self, talk: Talk, cut: str) -> str:
        asked = f"{talk.prefix}{cut}{talk.text}"
        corrected = () if talk.correction is None else tuple(map(self._tame, talk.correction))
        if not self._has_template:
            return "\n\n".join(filter(None, (talk.system, asked, *corrected))) + "\n\n"
        system = [("system", talk.system)] if talk.system else []
        later = list(zip(("assistant", "user"), corrected, strict=False))
        try:
            return self._templated([*system, ("user", asked), *later])
        except Exception:  # an error of jinja; some templates accept no system text
            return self._templated([("user", f"{talk.system}\n\n{asked}".lstrip()), *later])

    def _templated(self, turns: Sequence[tuple[str, str]]) -> str:
        told = [{"role": role, "content": content} for role, content in turns]
        # Templates without thinking ignore the argument. Thoughts in the reply would not be JSON.
        return str(
            self._tokenizer.apply_chat_template(told, tokenize=False, add_generation_prompt=True, enable_thinking=False)
        )

    def _tame(self, text: str) -> str:
        """Return the text with a blank in everything that the model would read as the end of a message or a new
        speaker.
        """
        text = well_formed(text)
        return self._special.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text) if self._special else text

    @cached_property
    def _special(self) -> re.Pattern[str] | None:
        added = self._tokenizer.added_tokens_decoder.values()
        words = {*self._tokenizer.all_special_tokens, *(token.content for token in added if token.special)}
        longest_first = sorted((word for word in words if word), key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def _tokens(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"]) if text else ()
