"""Read a JSON object field by field. Every error names the place."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import tzinfo
from difflib import get_close_matches

from recollect.formats.lines import quote_value
from recollect.formats.message_times import ErrorFactory, GivenMoment, parse_moment


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonFields:
    """The fields of a JSON object. A null field counts as absent. Every method raises the error that ``make_error``
    makes.
    """

    values: Mapping[str, object]
    make_error: ErrorFactory

    def require_known(self, known: AbstractSet[str]) -> None:
        """Refuse unknown keys, except those that begin with ``x_``, so that a typing error loses nothing."""
        for key in self.values:
            if key not in known and not key.startswith("x_"):
                near = get_close_matches(key, sorted(known), n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"known here are {', '.join(sorted(known))};"
                raise self.make_error(f"unknown key {quote_value(key)}; {hint} A key of your own may begin with x_")

    def read_value(self, *names: str) -> object:
        """Return the value of the one name that is given, or ``None``. Raise an error if several names are given."""
        given = [name for name in names if self.values.get(name) is not None]
        if len(given) > 1:
            raise self.make_error(f"both {given[0]!r} and {given[1]!r} are given, which mean the same; leave one out")
        return self.values[given[0]] if given else None

    def read_string(self, *names: str) -> str | None:
        """Return the string under one of the names, which may be blank, or ``None``."""
        value = self.read_value(*names)
        if value is not None and not isinstance(value, str):
            raise self.make_error(f"{names[0]!r} must be a string, not {quote_value(value)}")
        return value

    def read_name(self, *names: str) -> str | None:
        """Return a string that is not blank, or ``None``."""
        value = self.read_string(*names)
        if value is not None and not value.strip():
            raise self.make_error(f"{names[0]!r} is blank; leave it out, or put something into it")
        return value

    def read_strings(self, name: str) -> tuple[str, ...]:
        """Return a list of strings without the blank ones. It is empty if the field is absent."""
        value = self.read_value(name)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self.make_error(f"{name!r} must be a list of strings, not {quote_value(value)}")
        return tuple(one for one in value if one.strip())

    def read_flag(self, name: str) -> bool:
        """Return a boolean field. It is false if the field is absent."""
        value = self.read_value(name)
        if value is not None and not isinstance(value, bool):
            raise self.make_error(f"{name!r} must be true or false, not {quote_value(value)}")
        return bool(value)

    def read_moment(self, zone: tzinfo | None, *names: str) -> GivenMoment | None:
        """Return the time under one of the names, or ``None``."""
        value = self.read_value(*names)
        return None if value is None else parse_moment(value, zone, self.make_error)
