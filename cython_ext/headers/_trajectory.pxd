# The loops of a Hamiltonian trajectory.
#
# Matrices have a row for each group, or each row of training cases, and a column for each set of
# coefficients: one column, or a multiple of four, which are computed as one vector.

from libc.stdint cimport int32_t

cdef extern from *:
    """
    #include "vector.h"

    /* to[of[i]] = sum of from[members[j]] for j from begin[i] to begin[i + 1]; rows of `sets`
       numbers */
    TK_CLONES
    static void tk_gather(const double *from, double *to, const int32_t *of,
                          const ptrdiff_t *begin, const int32_t *members, ptrdiff_t size,
                          ptrdiff_t sets)
    {
        if (sets == 1) {
            for (ptrdiff_t i = 0; i < size; ++i) {
                double a = 0, b = 0, c = 0, d = 0;
                ptrdiff_t j = begin[i], stop = begin[i + 1];
                for (; j + 4 <= stop; j += 4) {
                    a += from[members[j]];
                    b += from[members[j + 1]];
                    c += from[members[j + 2]];
                    d += from[members[j + 3]];
                }
                for (; j < stop; ++j)
                    a += from[members[j]];
                to[of[i]] = (a + b) + (c + d);
            }
            return;
        }
        for (ptrdiff_t i = 0; i < size; ++i)
            for (ptrdiff_t k = 0; k < sets; k += 4) {
                double a[4] = {0}, b[4] = {0};
                ptrdiff_t j = begin[i], stop = begin[i + 1];
                for (; j + 2 <= stop; j += 2) {
                    const double *x = from + sets * (ptrdiff_t)members[j] + k;
                    const double *y = from + sets * (ptrdiff_t)members[j + 1] + k;
                    for (int l = 0; l < 4; ++l) {
                        a[l] += x[l];
                        b[l] += y[l];
                    }
                }
                if (j < stop) {
                    const double *x = from + sets * (ptrdiff_t)members[j] + k;
                    for (int l = 0; l < 4; ++l)
                        a[l] += x[l];
                }
                for (int l = 0; l < 4; ++l)
                    to[sets * of[i] + k + l] = a[l] + b[l];
            }
    }

    /* z += step p / m; scale = w a; s = scale z */
    TK_CLONES
    static void tk_drift(double step, double *z, const double *p, const double *easy,
                         const double *a, const double *width, const int32_t *kind, double *scale,
                         double *s, ptrdiff_t groups, ptrdiff_t sets)
    {
        if (sets == 1) {
            for (ptrdiff_t g = 0; g < groups; ++g) {
                z[g] += step * easy[g] * p[g];
                scale[g] = width[kind[g]] * a[g];
                s[g] = scale[g] * z[g];
            }
            return;
        }
        for (ptrdiff_t g = 0; g < groups; ++g)
            for (ptrdiff_t i = sets * g; i < sets * (g + 1); i += 4)
                for (ptrdiff_t l = i; l < i + 4; ++l) {
                    z[l] += step * easy[l] * p[l];
                    scale[l] = width[kind[g]] * a[l];
                    s[l] = scale[l] * z[l];
                }
    }

    /* p -= step (z - scale slope); pulled[g] = sum of scale slope z, one number for each group */
    TK_CLONES
    static void tk_kick(double step, const double *z, double *p, const double *scale,
                        const double *slope, double *pulled, ptrdiff_t groups, ptrdiff_t sets)
    {
        if (sets == 1) {
            for (ptrdiff_t g = 0; g < groups; ++g) {
                double pull = scale[g] * slope[g];
                p[g] -= step * (z[g] - pull);
                pulled[g] = pull * z[g];
            }
            return;
        }
        for (ptrdiff_t g = 0; g < groups; ++g) {
            double sum[4] = {0};
            for (ptrdiff_t i = sets * g; i < sets * (g + 1); i += 4)
                for (int l = 0; l < 4; ++l) {
                    double pull = scale[i + l] * slope[i + l];
                    p[i + l] -= step * (z[i + l] - pull);
                    sum[l] += pull * z[i + l];
                }
            pulled[g] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
        }
    }

    /* cases of the second class less those expected, n / (1 + exp(-eta)) */
    TK_CLONES
    static void tk_residuals(const double *eta, const double *cases, const double *n,
                             double *out, ptrdiff_t size)
    {
        for (ptrdiff_t r = 0; r < size; ++r) {
            double x = eta[r], e = tk_exp(x > 0 ? -x : x);
            out[r] = cases[r] - n[r] * (x > 0 ? 1 : e) / (1 + e);
        }
    }

    /* cases less those expected, n exp(eta_k) / sum of exp(eta), of the first `classes` columns of
       each row; the others have no cases */
    TK_CLONES
    static void tk_class_residuals(const double *eta, const double *cases, const double *n,
                                   double *out, ptrdiff_t size, ptrdiff_t classes, ptrdiff_t sets)
    {
        for (ptrdiff_t r = 0; r < size; ++r, eta += sets, cases += sets, out += sets) {
            double top = eta[0], total = 0;
            for (ptrdiff_t k = 1; k < classes; ++k)
                top = eta[k] > top ? eta[k] : top;
            for (ptrdiff_t i = 0; i < sets; i += 4)
                for (int l = 0; l < 4; ++l)
                    out[i + l] = tk_exp(eta[i + l] - top < 0 ? eta[i + l] - top : 0);
            for (ptrdiff_t k = classes; k < sets; ++k)
                out[k] = 0;
            for (ptrdiff_t k = 0; k < classes; ++k)
                total += out[k];
            total = n[r] / total;
            for (ptrdiff_t i = 0; i < sets; i += 4)
                for (int l = 0; l < 4; ++l)
                    out[i + l] = cases[i + l] - total * out[i + l];
        }
    }
    """
    # to[of[i]] = sum of values[members[j]], j from begin[i] to begin[i + 1]; rows of 1 or 4, 8, ...
    # numbers
    void gather "tk_gather"(
        const double *values, double *to, const int32_t *of, const Py_ssize_t *begin,
        const int32_t *members, Py_ssize_t size, Py_ssize_t sets,
    ) noexcept nogil
    # z += step p / m; scale = w a; s = scale z
    void drift_all "tk_drift"(
        double step, double *z, const double *p, const double *easy, const double *a,
        const double *width, const int32_t *kind, double *scale, double *s, Py_ssize_t groups,
        Py_ssize_t sets,
    ) noexcept nogil
    # p -= step (z - scale slope); pulled = sums of scale slope z, (groups,)
    void kick_all "tk_kick"(
        double step, const double *z, double *p, const double *scale, const double *slope,
        double *pulled, Py_ssize_t groups, Py_ssize_t sets,
    ) noexcept nogil
    # cases of the second class less n / (1 + exp(-eta))
    void fill_residuals "tk_residuals"(
        const double *eta, const double *cases, const double *n, double *out, Py_ssize_t size,
    ) noexcept nogil
    # cases less n exp(eta_k) / sum of exp(eta), of `classes` columns; 0 of those that are no class
    void fill_class_residuals "tk_class_residuals"(
        const double *eta, const double *cases, const double *n, double *out, Py_ssize_t size,
        Py_ssize_t classes, Py_ssize_t sets,
    ) noexcept nogil
