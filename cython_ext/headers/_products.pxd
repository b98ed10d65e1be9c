# Sums over rows: those of logarithms as logarithms of running products, eight at a time.
#
# A product of factors that are bounded below is kept from underflow by taking its exponent off
# before it can.  Compiled for AVX2 too where it can be chosen when the program starts; without
# fused products, so that the sums are the same.

cdef extern from *:
    """
    #include "vector.h"

    static inline double tk_finish(double *lane, double exponent)
    {
        double all = 1;
        for (int j = 0; j < 8; ++j)
            all *= lane[j];
        return log(all) + exponent * TK_LN2;
    }

    /* sum of log(q[i] + p[i] t), t = exp(-magnitude) <= 1, p + q = 1: factors in [t, 1] */
    TK_CLONES
    static double tk_log_mixtures(const double *p, const double *q, double t, double magnitude,
                                  ptrdiff_t size)
    {
        double lane[8] = {1, 1, 1, 1, 1, 1, 1, 1}, part[8], exponent = 0, rest = 1;
        double steps = magnitude > 1.2 ? 600 / magnitude : 500;  /* factors above exp(-600) */
        ptrdiff_t i = 0, stop, batch = 8 * (steps < 1 ? 1 : (ptrdiff_t)steps);
        if (size >= 8) {
            while (i + 8 <= size) {
                stop = i + batch < size ? i + batch : size;
                for (; i + 8 <= stop; i += 8)
                    for (int j = 0; j < 8; ++j)
                        lane[j] *= q[i + j] + p[i + j] * t;
                for (int j = 0; j < 8; ++j) {
                    part[j] = tk_split(&lane[j]);
                }
                for (int j = 0; j < 8; ++j)
                    exponent += part[j];
            }
            rest = 1;
            for (int j = 0; j < 8; ++j)
                rest *= lane[j];
        }
        for (; i < size; ++i) {
            rest *= q[i] + p[i] * t;
            if (rest < 1e-30)
                exponent += tk_split(&rest);
        }
        return log(rest) + exponent * TK_LN2;
    }

    /* sum of log(w) - log(w^2 + s2[i]) for w = rest[i] + count[i] sigma; squares within 1e+-150 */
    TK_CLONES
    static double tk_log_widths(const double *rest, const double *count, const double *s2,
                                double sigma, ptrdiff_t size)
    {
        double up[8] = {1, 1, 1, 1, 1, 1, 1, 1}, down[8] = {1, 1, 1, 1, 1, 1, 1, 1};
        double part[8] = {0}, total = 0, w;
        ptrdiff_t i = 0;
        for (; i + 16 <= size; i += 16) {
            for (int j = 0; j < 8; ++j) {
                double w1 = rest[i + j] + count[i + j] * sigma;
                double w2 = rest[i + 8 + j] + count[i + 8 + j] * sigma;
                up[j] *= w1 * w2;
                down[j] *= (w1 * w1 + s2[i + j]) * (w2 * w2 + s2[i + 8 + j]);
                part[j] += tk_split(&up[j]) - tk_split(&down[j]);
            }
        }
        for (int j = 0; j < 8; ++j)
            total += part[j];
        total *= TK_LN2;
        if (i > 0)
            total += tk_finish(up, 0) - tk_finish(down, 0);
        if (i < size) {
            double above = 1, below = 1, exponent = 0;
            for (; i < size; ++i) {
                w = rest[i] + count[i] * sigma;
                above *= w;
                below *= w * w + s2[i];
                exponent += tk_split(&above) - tk_split(&below);
            }
            total += log(above / below) + exponent * TK_LN2;
        }
        return total;
    }

    /* sum of log(w2 + s2[i]) */
    TK_CLONES
    static double tk_log_shifted(const double *s2, double w2, ptrdiff_t size)
    {
        double down[8] = {1, 1, 1, 1, 1, 1, 1, 1}, part[8] = {0}, total = 0;
        ptrdiff_t i = 0;
        for (; i + 16 <= size; i += 16)
            for (int j = 0; j < 8; ++j) {
                down[j] *= (w2 + s2[i + j]) * (w2 + s2[i + 8 + j]);
                part[j] += tk_split(&down[j]);
            }
        for (int j = 0; j < 8; ++j)
            total += part[j];
        total = tk_finish(down, total);
        for (; i < size; ++i)
            total += log(w2 + s2[i]);
        return total;
    }

    /* the sum of term(i) for i below size, in eight lanes and the rest */
    #define TK_SUM(term)                                                                     \\
        double lane[8] = {0}, rest = 0;                                                      \\
        ptrdiff_t i = 0;                                                                     \\
        for (; i + 8 <= size; i += 8)                                                        \\
            for (int j = 0; j < 8; ++j)                                                      \\
                lane[j] += term(i + j);                                                      \\
        for (; i < size; ++i)                                                                \\
            rest += term(i);                                                                 \\
        return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5])            \\
               + (lane[6] + lane[7])) + rest;

    /* sum of n[i] log(q[i] + p[i] t) */
    #define TK_WEIGHTED(i) (n[i] * tk_log(q[i] + p[i] * t))
    TK_CLONES
    static double tk_log_weighted(const double *p, const double *q, const double *n, double t,
                                  ptrdiff_t size)
    { TK_SUM(TK_WEIGHTED) }

    static inline __attribute__((always_inline))
    double tk_binary_term(double x, double cases, double n)
    {
        double top = x > 0 ? x : 0;
        return cases * x - n * (top + tk_log(1 + tk_exp(x > 0 ? -x : x)));
    }

    /* sum of cases[i] eta[i] - n[i] log(1 + exp(eta[i])) */
    #define TK_BINARY(i) tk_binary_term(eta[i], cases[i], n[i])
    TK_CLONES
    static double tk_log_binary(const double *eta, const double *cases, const double *n,
                                ptrdiff_t size)
    { TK_SUM(TK_BINARY) }

    /* sum of n[i] log(v[i]) + s[i] / v[i], v = rest[i] + count[i] x */
    static inline __attribute__((always_inline))
    double tk_variance_term(double v, double n, double s) { return n * tk_log(v) + s / v; }
    #define TK_VARIANCE(i) tk_variance_term(fixed[i] + count[i] * x, n[i], s[i])
    TK_CLONES
    static double tk_log_variances(const double *fixed, const double *count, const double *n,
                                   const double *s, double x, ptrdiff_t size)
    { TK_SUM(TK_VARIANCE) }

    /* sum of n[i] (y[i] - eta[i]) */
    #define TK_RESIDUAL(i) (n[i] * (y[i] - eta[i]))
    TK_CLONES
    static double tk_sum_residuals(const double *n, const double *y, const double *eta,
                                   ptrdiff_t size)
    { TK_SUM(TK_RESIDUAL) }

    /* sum of n[i] (y[i] - eta[i])^2 */
    #define TK_SQUARED(i) (n[i] * (y[i] - eta[i]) * (y[i] - eta[i]))
    TK_CLONES
    static double tk_squared_residuals(const double *n, const double *y, const double *eta,
                                       ptrdiff_t size)
    { TK_SUM(TK_SQUARED) }
    """
    # sum of log(q[i] + p[i] t), t = exp(-magnitude)
    double log_mixtures "tk_log_mixtures"(
        const double *p, const double *q, double t, double magnitude, Py_ssize_t size,
    ) noexcept nogil
    # sum of n[i] log(q[i] + p[i] t)
    double log_weighted "tk_log_weighted"(
        const double *p, const double *q, const double *n, double t, Py_ssize_t size,
    ) noexcept nogil
    # sum of log(w) - log(w^2 + s2[i]), w = rest[i] + count[i] sigma
    double log_widths "tk_log_widths"(
        const double *rest, const double *count, const double *s2, double sigma, Py_ssize_t size,
    ) noexcept nogil
    # sum of log(w2 + s2[i])
    double log_shifted "tk_log_shifted"(
        const double *s2, double w2, Py_ssize_t size,
    ) noexcept nogil
    # sum of n[i] log(v[i]) + s[i] / v[i], v = rest[i] + count[i] x
    double log_variances "tk_log_variances"(
        const double *rest, const double *count, const double *n, const double *s, double x,
        Py_ssize_t size,
    ) noexcept nogil
    # sum of cases[i] eta[i] - n[i] log(1 + exp(eta[i]))
    double log_binary "tk_log_binary"(
        const double *eta, const double *cases, const double *n, Py_ssize_t size,
    ) noexcept nogil
    # sum of n[i] (y[i] - eta[i])
    double sum_residuals "tk_sum_residuals"(
        const double *n, const double *y, const double *eta, Py_ssize_t size,
    ) noexcept nogil
    # sum of n[i] (y[i] - eta[i])^2
    double squared_residuals "tk_squared_residuals"(
        const double *n, const double *y, const double *eta, Py_ssize_t size,
    ) noexcept nogil
