"""Predictive densities of normal features, mixed over their effects."""

from libc.math cimport log

cimport _vector

cdef extern from *:
    """
    #define TK_LEAST -300.0  /* logs of densities relative to the largest end here: sums are normal */

    /* The densities of a value at 8 n nodes, relative to the largest, whose log is returned:
       log_factor - power log(spread + (x - mean)^2 inverse). */
    TK_CLONES
    static double tk_densities(ptrdiff_t eights, double x, double power,
                               const double *restrict log_factor, const double *restrict mean,
                               const double *restrict inverse, const double *restrict spread,
                               double *restrict out)
    {
        const ptrdiff_t size = 8 * eights;
        double tops[8], top;
        for (ptrdiff_t t = 0; t < size; ++t) {
            double away = x - mean[t];
            out[t] = log_factor[t] - power * tk_log(spread[t] + away * away * inverse[t]);
        }
        for (int i = 0; i < 8; ++i)
            tops[i] = out[i];
        for (ptrdiff_t t = 8; t < size; t += 8)
            for (int i = 0; i < 8; ++i)
                tops[i] = out[t + i] > tops[i] ? out[t + i] : tops[i];
        top = tops[0];
        for (int i = 1; i < 8; ++i)
            top = tops[i] > top ? tops[i] : top;
        for (ptrdiff_t t = 0; t < size; ++t) {
            double below = out[t] - top;
            out[t] = tk_exp(below < TK_LEAST ? TK_LEAST : below);
        }
        return top;
    }

    /* Averages of 8 n nodes by each of 8 m rows of weights; four nodes are added at a time. */
    TK_CLONES
    static void tk_averages(ptrdiff_t eights, ptrdiff_t row_eights, const double *restrict density,
                            const double *restrict weight, double *restrict out)
    {
        const ptrdiff_t rows = 8 * row_eights;
        for (ptrdiff_t r = 0; r < rows; ++r)
            out[r] = 0;
        for (ptrdiff_t t = 0; t < 8 * eights; t += 4, weight += 4 * rows)
            for (ptrdiff_t r = 0; r < rows; ++r)
                out[r] += (density[t] * weight[r] + density[t + 1] * weight[rows + r])
                          + (density[t + 2] * weight[2 * rows + r]
                             + density[t + 3] * weight[3 * rows + r]);
    }

    /* product *= h without + (1 - h) average for each pi and row; the largest is returned. */
    TK_CLONES
    static double tk_multiply(ptrdiff_t pis, ptrdiff_t row_eights, double without,
                              const double *restrict h, const double *restrict average,
                              double *restrict product)
    {
        const ptrdiff_t rows = 8 * row_eights;
        double tops[8] = {0}, top = 0;
        for (ptrdiff_t j = 0; j < pis; ++j, h += rows, product += rows) {
            for (ptrdiff_t r = 0; r < rows; ++r)
                product[r] *= average[r] + h[r] * (without - average[r]);
            for (ptrdiff_t r = 0; r < rows; r += 8)
                for (int i = 0; i < 8; ++i)
                    tops[i] = product[r + i] > tops[i] ? product[r + i] : tops[i];
        }
        for (int i = 0; i < 8; ++i)
            top = tops[i] > top ? tops[i] : top;
        return top;
    }

    /* Divide by the largest; what is so small that it predicts nothing becomes 0. */
    static void tk_rescale(ptrdiff_t size, double top, double *product)
    {
        for (ptrdiff_t i = 0; i < size; ++i)
            product[i] = product[i] < 1e-150 * top ? 0.0 : product[i] / top;
    }
    """
    double densities "tk_densities"(Py_ssize_t eights, double x, double power,
                                    const double *log_factor, const double *mean,
                                    const double *inverse, const double *spread,
                                    double *out) noexcept nogil
    void averages "tk_averages"(Py_ssize_t eights, Py_ssize_t row_eights, const double *density,
                                const double *weight, double *out) noexcept nogil
    double multiply "tk_multiply"(Py_ssize_t pis, Py_ssize_t row_eights, double without,
                                  const double *h, const double *average,
                                  double *product) noexcept nogil
    void rescale "tk_rescale"(Py_ssize_t size, double top, double *product) noexcept nogil


cdef double LOW = 1e-100  # of the largest product, below which all are divided by it


def multiply_densities(const double[:, ::1] cases, const Py_ssize_t[::1] offset,
                       const double[::1] power,
                       const double[:, ::1] log_factor, const double[:, ::1] mean,
                       const double[:, ::1] inverse, const double[::1] spread,
                       const double[:, ::1] weight, const double[:, :, ::1] irrelevant,
                       double[::1] density, double[::1] averaged,
                       double[:, :, :, ::1] product, double[:, ::1] log_scale):
    """Multiply product[i, g] by the predictive density of each feature of case i in class g.

    The density is product exp(log_scale), up to what all classes have in common.  cases (T, k) has
    NaN where a value is missing: it has no factor.  Feature j has the nodes offset[j] to
    offset[j + 1] of log_factor, mean, inverse (G, M) and spread (M,), the first without effect;
    weight (M, R) averages the others for each row, irrelevant (k, J, R) is the probability of the
    first.  product is (T, G, J, R).  R and the offsets are multiples of 8.  density (the most nodes
    of a feature) and averaged (R,) are scratch.
    """
    cdef Py_ssize_t T = cases.shape[0], k = cases.shape[1], G = log_factor.shape[0]
    cdef Py_ssize_t J = product.shape[2], eights = averaged.shape[0] // 8
    cdef Py_ssize_t i, j, g, first, size
    cdef double x, top
    with nogil:
        for j in range(k):
            first, size = offset[j], (offset[j + 1] - offset[j]) // 8
            for i in range(T):
                x = cases[i, j]
                if x != x:
                    continue
                for g in range(G):
                    log_scale[i, g] += densities(
                        size, x, power[j], &log_factor[g, first], &mean[g, first],
                        &inverse[g, first], &spread[first], &density[0])
                    averages(size, eights, &density[0], &weight[first, 0], &averaged[0])
                    top = multiply(J, eights, density[0], &irrelevant[j, 0, 0], &averaged[0],
                                   &product[i, g, 0, 0])
                    if top < LOW:
                        rescale(8 * J * eights, top, &product[i, g, 0, 0])
                        log_scale[i, g] += log(top)
