"""Experiments: what they consist of (design) and how they are run (stages)."""
