"""Language models: the adapters, and wrappers that choose, meter and cache."""
