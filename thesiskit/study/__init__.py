"""The experiments: what is done with samples, models and results."""
