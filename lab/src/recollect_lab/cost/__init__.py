"""``recollect eval cost``: what it costs to make memory of conversations, recurrence against eager extraction."""
