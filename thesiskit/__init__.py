"""thesiskit: Bayesian classification with many features, after Li (2007)."""

__version__ = "0.2.0"


def __getattr__(name: str):
    """Import `load_model` when it is asked for: `import thesiskit` stays quick."""
    if name == "load_model":
        from importlib import import_module

        return import_module("thesiskit.fitted").load_model
    raise AttributeError(f"module 'thesiskit' has no attribute {name!r}")
