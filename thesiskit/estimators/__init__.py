"""The models as scikit-learn estimators.

from sklearn.pipeline import make_pipeline
from thesiskit.estimators import MedianBinarizer, NaiveBayesClassifier  # or MixtureClassifier
model = make_pipeline(MedianBinarizer(), NaiveBayesClassifier(n_features=10))
model.fit(X, y).predict_proba(X_new)

NormalClassifier takes real features as they are, and any number of classes; so does PoolClassifier,
which is for correlated features.  NormalRegressor and PoolRegressor are for real responses.
SequenceClassifier predicts what follows histories of discrete states; InteractionClassifier and
InteractionRegressor predict from interactions of discrete features.
"""

from thesiskit.estimators.inputs import MedianBinarizer
from thesiskit.estimators.patterns import (
    InteractionClassifier,
    InteractionRegressor,
    SequenceClassifier,
)
from thesiskit.estimators.selecting import (
    MixtureClassifier,
    NaiveBayesClassifier,
    NormalClassifier,
    NormalRegressor,
    PoolClassifier,
    PoolRegressor,
    SelectingClassifier,
)

__all__ = [
    "InteractionClassifier",
    "InteractionRegressor",
    "MedianBinarizer",
    "MixtureClassifier",
    "NaiveBayesClassifier",
    "NormalClassifier",
    "NormalRegressor",
    "PoolClassifier",
    "PoolRegressor",
    "SelectingClassifier",
    "SequenceClassifier",
]
