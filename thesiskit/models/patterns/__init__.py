"""Groups of interaction patterns: of sequences, and of discrete features."""

from thesiskit.models.patterns.features import FeatureGroups, check_features, compress_features
from thesiskit.models.patterns.groups import MISSING, UNSEEN, Groups, Shared, check_order
from thesiskit.models.patterns.listing import available_memory
from thesiskit.models.patterns.sequences import (
    SequenceGroups,
    check_histories,
    compress_sequences,
)

__all__ = [
    "MISSING",
    "UNSEEN",
    "FeatureGroups",
    "Groups",
    "SequenceGroups",
    "Shared",
    "available_memory",
    "check_features",
    "check_histories",
    "check_order",
    "compress_features",
    "compress_sequences",
]
