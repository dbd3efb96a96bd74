"""The in-memory index of a bank: derived from the store, rebuilt from it at any time, and never the truth."""
