"""Read conversations from files and streams, for ``recollect retain`` (docs/reference/input-formats.md)."""

from recollect.formats.formats import Format, detect
from recollect.formats.reading import Spoken, read

__all__ = ["Format", "Spoken", "detect", "read"]
