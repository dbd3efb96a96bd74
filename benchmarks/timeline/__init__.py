"""Measure temporal reasoning without a model: synthetic timelines, questions with known answers, and a scripted
planner.
"""
