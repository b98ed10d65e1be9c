"""What the terms in the headers of tables mean, for readers who have not read the thesis."""

TERMS = {
    "arm": "one way to predict: a model with its settings",
    "divisions": "in how many divisions of the cases the training cases have this pattern",
    "AMLP": "average minus log probability of the actual class; lower is better, "
    "guessing between two classes has 0.693, and a prediction that was sure and wrong costs most",
    "error": "fraction of test cases whose most probable class is wrong",
    "error rate": "fraction of test cases whose most probable class is wrong",
    "expected error": "the error rate that the predictions promise: the mean probability that "
    "they are wrong",
    "squared error": "mean squared difference between the response (0 or 1) and its probability; "
    "of several classes, half of the sum over them",
    "gamma": "no feature that was left out has a larger absolute correlation with the response; "
    "with more than two classes, a larger correlation ratio",
    "tied at gamma": "features whose absolute correlation is exactly gamma",
    "nothing to mend in": "fraction of training sets in which the temperature is hardly above 1",
    "kept from": "how many features there were before the table was screened",
    "promised error": "the error rate that a method expects to have on new cases",
    "probability relevant": "probability that the feature differs between the classes at all",
    "relevant of all": "how many features are expected to differ between the classes",
    "relevant of those kept": "the probabilities of relevance of the kept features, added up",
    "R-hat": "compares the chains: close to 1 if they agree, above 1.05 if they do not yet",
    "effective draws": "how many independent draws the chains are worth; 100 at least are wanted",
    "furthest from the targets": "what lacks most of the R-hat and the effective draws asked for",
    "quadrature": "the numerical rule for integrals over theta",
    "sampler": "the algorithm that draws from the posterior distribution",
    "C": "the first decimal of the predictive probability",
    "#": "number of test cases",
    "Pred": "mean prediction of these cases",
    "Actual": "fraction of these cases that are in the class predicted",
    "band low": "lower end of the exact band, in which a calibrated model is found",
    "band high": "upper end of the exact band, in which a calibrated model is found",
    "method": "corrected and uncorrected are with and without the correction for the selection of "
    "features; others are models to compare with",
    "corrected": "with the correction for the selection of features",
    "uncorrected": "without the correction for the selection of features",
    "order": "how many features, or recent states, a pattern may fix together",
    "groups": "patterns that are present in the same training cases; they share a coefficient",
    "patterns": "fixed values of some features, or of the most recent states of a sequence",
    "patterns in its group": "how many patterns are present in the same training cases",
    "mean log alpha": "posterior mean of log alpha; a small alpha means that features predict well",
    "log likelihood": "of the training cases, given the coefficients",
    "kept in": "fraction of training sets in which the feature was kept",
    "p": "probability that chance alone is off by so much or more",
    "its standard error": "how far chance moves the number, over test cases",
    "within 90 %": "fraction of responses inside the predictive interval of 90 %",
    "minus log density": "minus log of the predictive density at the actual response",
}


def explain(name: str) -> str:
    """Return what the header of a column means; "" if it needs no explanation."""
    return TERMS.get(name.rpartition(": ")[2].partition(",")[0], "")
