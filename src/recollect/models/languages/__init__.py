"""Language models: one adapter, and wrappers that choose, meter and remember."""
