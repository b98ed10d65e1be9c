"""Logistic and linear models with interactions of high order (thesis, chapter 3)."""

from thesiskit.models.logistic.agreement import Probe, separated, separates
from thesiskit.models.logistic.draws import Draws, flat, reliable, saved_from
from thesiskit.models.logistic.model import Chain, Linear, Model, Normal, sample
from thesiskit.models.logistic.prediction import (
    Response,
    original_coefficients,
    predict,
    predict_response,
)
from thesiskit.models.logistic.settings import SCALES, Settings, check_sigma
from thesiskit.models.logistic.splitting import cauchy_split_cdf, expected_logistic_gaussian

__all__ = [
    "SCALES",
    "Chain",
    "Draws",
    "Linear",
    "Model",
    "Normal",
    "Probe",
    "Response",
    "Settings",
    "cauchy_split_cdf",
    "check_sigma",
    "expected_logistic_gaussian",
    "flat",
    "original_coefficients",
    "predict",
    "predict_response",
    "reliable",
    "sample",
    "saved_from",
    "separated",
    "separates",
]
