# Features left out that may tie with those kept, of which a lot was drawn.
#
# A feature has |COR| = gamma with probability e, |COR| < gamma with probability s.  Of d features
# left out it is not known how many tie with the m kept ones that do.  If t of them do, the lot
# chose among m + t features, and
#
#     P(selection) = sum over t of C(d, t) e^t s^(d - t) / C(m + t, m).
#
# With x = e / s the terms have the ratios (d - t) x / (m + t + 1), which fall.  Continued to t = -m
# the sum would be (e + s)^(d + m) / (C(d + m, m) e^m), so that either side of t = 0 gives it: the
# cheaper one is that on which the terms fall from the start, some sqrt(m) terms.

from libc.math cimport INFINITY, exp, log, log1p

cdef inline double log_lot(double log_e, double log_s, double d, double m,
                           double log_choose) noexcept nogil:
    # log of the sum, for d > 0; log_choose = log C(d + m, m)
    cdef double x, term = 1, total = 0, t = 0
    if log_e == -INFINITY:
        return d * log_s
    if log_s == -INFINITY:
        return d * log_e - log_choose
    x = exp(log_e - log_s)
    if d * x <= m + 1:
        while term > 1e-17 * total:
            total += term
            term *= (d - t) * x / (m + t + 1)
            t += 1
        return d * log_s + log(total)
    while t < m:
        term *= (m - t) / ((d + t + 1) * x)
        total += term
        if term < 1e-17 * total:
            break
        t += 1
    # the whole sum over s^d
    term = (d + m) * log1p(x) - m * log(x) - log_choose
    return d * log_s + term + log1p(-total * exp(-term))
