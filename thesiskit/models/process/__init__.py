"""The logistic model as a Gaussian process, whose cost does not depend on the order."""
