# Probabilities of counts, to full precision for any size of count and of alpha.
#
# A beta-binomial probability is a ratio of three negative binomial ones,
#
#     P(I | n, a, b) = NB(I; a) NB(n - I; b) / NB(n; a + b),
#     NB(x; a) = Gamma(a + x) / (Gamma(a) x!) p^a q^x,   p = (a + b) / (a + b + n),  q = 1 - p,
#
# and each of these, written as Loader (2000, "Fast and accurate computation of binomial
# probabilities") writes the binomial, is a sum of small terms: differences of lgamma, which lose
# every digit at a = 1e8, never appear.  With a = alpha theta the distances of I from its mean and
# of a from its own are one number, d = alpha (n theta - I) / (alpha + n).

from libc.math cimport exp, fabs, lgamma, log, log1p

cdef inline double stirling_error(double x) noexcept nogil:
    # lgamma(x + 1) - [(x + 1/2) log x - x + log(2 pi) / 2], for x > 0
    cdef double y
    if x < 16:
        return lgamma(x + 1) - (x + 0.5) * log(x) + x - 0.91893853320467274178
    y = 1 / (x * x)
    return (1. / 12 - y * (1. / 360 - y * (1. / 1260 - y * (1. / 1680 - y * (1. / 1188 - y
            * (691. / 360360 - y / 156)))))) / x

cdef inline double deviance(double x, double d) noexcept nogil:
    # x log(x / m) + m - x for the mean m = x - d, x > 0, m > 0; free of cancellation
    cdef double m = x - d, v = d / (x + m), square, term, total, previous
    cdef int j
    if fabs(v) > 0.1:
        return x * log(x / m) - d
    square = v * v
    total = d * v
    term = 2 * x * v
    for j in range(1, 100):
        term *= square
        previous = total
        total += term / (2 * j + 1)
        if total == previous:
            break
    return total

cdef inline double log_negative_binomial(double x, double a, double d, double log_p,
                                         double error_x) noexcept nogil:
    # log NB(x; a), where d = a - (its mean given x) and error_x = stirling_error(x)
    if x == 0:
        return a * log_p
    return (stirling_error(a + x) - stirling_error(a) - error_x - deviance(a, d) - deviance(x, -d)
            + 0.5 * (log(a) - log(x) - log(a + x)) - 0.91893853320467274178)

cdef inline double log_norm(double n, double alpha) noexcept nogil:
    # log NB(n; alpha), the denominator above
    if n == 0:
        return 0
    return log_negative_binomial(n, alpha, 0, -log1p(n / alpha), stirling_error(n))


cdef extern from *:
    """
    #include <stddef.h>

    /* Eight partial sums, which a compiler keeps in registers.  Compiled for AVX2 too where it can
       be chosen when the program starts; without fused products, so that the sums are the same. */
    #if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
    __attribute__((target_clones("avx2", "default")))
    #endif
    static double tk_dot(const double *x, const double *y, ptrdiff_t size)
    {
        double partial[8] = {0}, rest = 0;
        ptrdiff_t i = 0;
        for (; i + 8 <= size; i += 8)
            for (int j = 0; j < 8; ++j)
                partial[j] += x[i + j] * y[i + j];
        for (; i < size; ++i)
            rest += x[i] * y[i];
        return ((partial[0] + partial[1]) + (partial[2] + partial[3]))
               + ((partial[4] + partial[5]) + (partial[6] + partial[7])) + rest;
    }
    """
    # sum of x[i] y[i]
    double dot "tk_dot"(const double *x, const double *y, Py_ssize_t size) noexcept nogil
