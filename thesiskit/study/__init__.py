"""The experiments: what is done with cases, models and results."""
