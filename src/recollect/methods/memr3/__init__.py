"""MemR3: a loop that tracks what is known and what is missing, and decides to retrieve, to reflect or to answer."""
