"""RecMem (Dai et al.): a model is called when something comes up again, and not for every exchange."""
