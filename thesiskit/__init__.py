"""thesiskit: Bayesian classification with many features, after Li (2007)."""

__version__ = "0.1.0"
