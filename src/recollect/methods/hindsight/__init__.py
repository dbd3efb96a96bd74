"""Hindsight (Latimer et al., 2025): facts, observations, opinions and reflection."""
