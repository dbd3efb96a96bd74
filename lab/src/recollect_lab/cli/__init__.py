"""The commands that the laboratory adds to ``recollect``, by entry points of the group ``recollect.commands``."""
