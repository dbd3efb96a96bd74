"""Measure how much of the known evidence is found."""
