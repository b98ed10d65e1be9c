# Polya-Gamma variables PG(n, c) for whole n: Polson, Scott and Windle 2013, "Bayesian inference for
# logistic models using Polya-Gamma latent variables", sections 4.1 and 4.2.
#
# PG(n, c) is the sum of n variables PG(1, c) = J / 4, and J has, with z = |c| / 2, the density
#
#     f(x) proportional to exp(-z^2 x / 2) sum over n of (-1)^n a_n(x),
#     a_n(x) = pi (n + 1/2) (2 / (pi x))^(3/2) exp(-2 (n + 1/2)^2 / x)   or, equal in the sum,
#     a_n(x) = pi (n + 1/2) exp(-(n + 1/2)^2 pi^2 x / 2).
#
# With the first form up to CUT and the second beyond, a_n falls with n, so that partial sums are
# bounds.  Proposals have the density of a_0: to the left of CUT an inverse Gaussian one, to the
# right an exponential one.  Draws are exact, and rows of many cases cost in proportion to these:
# over all rows that is no more than the cases.

from libc.math cimport M_PI, M_SQRT1_2, erfc, exp, fabs, log, sqrt
from numpy.random cimport bitgen_t

from _draws cimport standard_normal, uniform

cdef extern from *:
    """
    #define TK_CUT 0.64
    #define TK_SURE 0.994
    #define TK_NEVER 30
    """
    const double CUT "TK_CUT"
    const double SURE "TK_SURE"  # below 1 - a_1(x) / a_0(x) for all x
    const double NEVER "TK_NEVER"  # z beyond which a proposal right of CUT has less than 1e-100

cdef inline double exponential(bitgen_t *bitgen) noexcept nogil:
    return -log(uniform(bitgen))

cdef inline double normal_cdf(double x) noexcept nogil:
    return erfc(-x * M_SQRT1_2) / 2

cdef inline double right_of_cut(double z, double rate) noexcept nogil:
    # probability that a proposal is right of CUT: p / (p + q) of the paper
    cdef double root = sqrt(CUT), right, left
    if z > NEVER:
        return 0
    right = M_PI / (2 * rate) * exp(-rate * CUT)
    left = 2 * (exp(-z) * normal_cdf((CUT * z - 1) / root)
                + exp(z) * normal_cdf(-(CUT * z + 1) / root))
    return right / (right + left)

cdef inline double left_of_cut(double z, bitgen_t *bitgen) noexcept nogil:
    # an inverse Gaussian variable of mean 1 / z and shape 1, given that it is below CUT
    cdef double x, y, mean
    if z * CUT < 1:
        # without exp(-z^2 x / 2) this is 1 over the square of a normal variable
        while True:
            x = exponential(bitgen)
            y = exponential(bitgen)
            if x * x > 2 * y / CUT:
                continue
            x = CUT / ((1 + CUT * x) * (1 + CUT * x))
            if uniform(bitgen) <= exp(-z * z * x / 2):
                return x
    mean = 1 / z
    while True:
        y = standard_normal(bitgen)
        y = mean * y * y
        x = mean * (1 + (y - sqrt(y * (4 + y))) / 2)
        if uniform(bitgen) * (mean + x) > mean:
            x = mean * mean / x
        if 0 < x < CUT:
            return x

cdef inline bint accepted(double x, bitgen_t *bitgen) noexcept nogil:
    # whether u a_0(x) is below the alternating sum
    cdef double u = uniform(bitgen), bound = 1, rate
    cdef int n = 0
    if u <= SURE:
        return 1
    # a_n / a_0 = (2 n + 1) exp(-n (n + 1) rate)
    rate = 2 / x if x <= CUT else M_PI * M_PI * x / 2
    while True:
        n += 1
        bound -= (2 * n + 1) * exp(-n * (n + 1) * rate)
        if u <= bound:
            return 1
        n += 1
        bound += (2 * n + 1) * exp(-n * (n + 1) * rate)
        if u > bound:
            return 0

cdef inline double polya_gamma(double cases, double c, bitgen_t *bitgen) noexcept nogil:
    # PG(cases, c), cases whole
    cdef double z = fabs(c) / 2, rate = M_PI * M_PI / 8 + z * z / 2, right, x, total = 0
    right = right_of_cut(z, rate)
    while cases > 0.5:
        while True:
            if right > 0 and uniform(bitgen) <= right:
                x = CUT + exponential(bitgen) / rate
            else:
                x = left_of_cut(z, bitgen)
            if accepted(x, bitgen):
                break
        total += x
        cases -= 1
    return total / 4
