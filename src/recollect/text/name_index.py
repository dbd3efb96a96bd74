"""Look up given names in texts, in a time that does not grow with the number of names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

LONGEST_NAME: Final = 200
"""The number of characters of the longest name that is looked up. Nobody writes a longer one in a text."""

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NameIndex:
    """Names by their words.

    ``lengths`` maps the first word of names to the lengths of these names in words, the longest first. ``names``
    maps the words of a name to all names with these words.
    """

    lengths: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    names: Mapping[Words, tuple[str, ...]] = field(default_factory=dict)

    def find_at(self, words: Sequence[str], at: int) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Yield the names that begin at a word of a text, the longest first: where they end, and the names."""
        for length in self.lengths.get(words[at], ()):
            names = self.names.get(tuple(words[at : at + length]))
            if names is not None and at + length <= len(words):
                yield at + length, names

    def extend(self, more: Iterable[tuple[str, Words]]) -> NameIndex:
        """Return an index that has more names too. Each comes with its words, split as texts are.

        A name without words is left out.
        """
        lengths, names = dict(self.lengths), dict(self.names)
        for name, words in more:
            if words:
                names[words] = (*names.get(words, ()), name)
                known = lengths.get(words[0], ())
                if len(words) not in known:
                    lengths[words[0]] = tuple(sorted((*known, len(words)), reverse=True))
        return NameIndex(lengths=lengths, names=names)
