"""Cells as jobs of a Slurm cluster."""
