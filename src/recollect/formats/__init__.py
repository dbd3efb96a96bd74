"""Read conversations from files and streams, for ``recollect retain`` (docs/reference/input-formats.md)."""

from recollect.formats.detection import Format, detect_format
from recollect.formats.reading import SessionMessage, read_messages

__all__ = ["Format", "SessionMessage", "detect_format", "read_messages"]
