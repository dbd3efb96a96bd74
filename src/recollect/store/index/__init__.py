"""The in-memory index of a bank. It is derived from the store and can be rebuilt from it at any time."""
