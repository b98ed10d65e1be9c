"""The statistics: models, and what they share.

A model is a class (models/base.py), known by the name that a config gives as `model.kind`.  Its
module is imported when a config asks for it.  To add one, write its class in a module here and name
it below; a package of its own names it in its metadata, as an entry point of `thesiskit.models`.
"""

from thesiskit.registry import Registry

MODELS = Registry(
    "thesiskit.models",
    {
        "naive-bayes": "naive_bayes:NaiveBayes",
        "mixture": "mixture:Mixture",
        "normal": "normal:Normal",
        "logistic": "logistic:Logistic",
        "pool": "pool:Pool",
    },
)
