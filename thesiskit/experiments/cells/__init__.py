"""Cells, the units that an experiment is made of: how they depend on each other, and are made."""
