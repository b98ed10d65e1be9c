"""The binary mixture model (thesis, chapter 2): its posterior, its chains, and what they show."""

from thesiskit.models.mixture.agreement import QUANTITIES, Probe
from thesiskit.models.mixture.chains import Draws, gather, run_chains, sample
from thesiskit.models.mixture.diagnostics import (
    Diagnostics,
    as_arviz,
    diagnose,
    draws_tree,
)
from thesiskit.models.mixture.enumeration import enumerate_posterior
from thesiskit.models.mixture.settings import Settings
from thesiskit.models.mixture.tables import Tables, log_discard_probability
from thesiskit.models.mixture.target import Target

__all__ = [
    "QUANTITIES",
    "Diagnostics",
    "Draws",
    "Probe",
    "Settings",
    "Tables",
    "Target",
    "as_arviz",
    "diagnose",
    "draws_tree",
    "enumerate_posterior",
    "gather",
    "log_discard_probability",
    "run_chains",
    "sample",
]
