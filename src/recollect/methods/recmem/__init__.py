"""RecMem (Dai et al.): a model is called if something comes up again, and not for every exchange."""
