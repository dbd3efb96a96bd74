"""Measure what it costs to make memory of conversations (``recollect eval cost``): recurrence against eager
extraction.
"""
