# What the widths of coefficients and the standard deviation of noise share: on the scale of
# logarithms, an Inverse-Gamma prior, and the step and the bounds of slice sampling.

from libc.math cimport exp, lgamma, log

cdef enum:
    SCALE_STEP = 1  # of log sigma when coefficients move with it, and of log tau
    WIDEST = 80  # |log sigma| that is looked at: 2e-9 of the thesis's prior is beyond

cdef inline double log_inverse_gamma(double shape, double rate, double x) noexcept nogil:
    # log density of exp(x)
    return shape * log(rate) - lgamma(shape) - (1 + shape) * x - rate * exp(-x)
