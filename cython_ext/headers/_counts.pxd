# P(I ones among n cases | alpha, theta_g), theta integrated by the caller.

cdef extern from *:
    """
    #include <math.h>
    #include <stddef.h>

    /* probability[I * nodes + g], I = 0..n.  With p = alpha / (alpha + n) and q = 1 - p it is
       NB(I; a) NB(n - I; b) / NB(n; alpha), a = alpha theta, b = alpha (1 - theta).  For n <= 600
       nothing underflows that matters: the recurrences start at p^a >= exp(-n).  Compiled for
       AVX2 too, as in _maths.pxd. */
    #if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
    __attribute__((target_clones("avx2", "default")))
    #endif
    static void tk_fill_counts(double alpha, const double *theta, const double *complement,
                               ptrdiff_t nodes, ptrdiff_t n, double *probability)
    {
        const double log_p = -log1p(n / alpha), q = n / (alpha + n);
        double norm = exp(alpha * log_p);
        for (ptrdiff_t i = 0; i < n; ++i)
            norm *= (alpha + i) * q / (i + 1);
        /* upwards: NB(i + 1; a) = NB(i; a) (a + i) q / (i + 1) */
        for (ptrdiff_t g = 0; g < nodes; ++g)
            probability[g] = exp(alpha * theta[g] * log_p) / norm;
        for (ptrdiff_t i = 0; i < n; ++i) {
            const double c = q / (i + 1), *row = probability + i * nodes;
            double *next = probability + (i + 1) * nodes;
            for (ptrdiff_t g = 0; g < nodes; ++g)
                next[g] = row[g] * (alpha * theta[g] + i) * c;
        }
        /* times NB(o; b) downwards, o = n - I, some nodes at a time */
        for (ptrdiff_t start = 0; start < nodes; start += 64) {
            const ptrdiff_t stop = start + 64 < nodes ? start + 64 : nodes;
            double zeros[64];
            for (ptrdiff_t g = start; g < stop; ++g)
                zeros[g - start] = exp(alpha * complement[g] * log_p);
            for (ptrdiff_t o = 0; o <= n; ++o) {
                const double c = q / (o + 1);
                double *row = probability + (n - o) * nodes;
                for (ptrdiff_t g = start; g < stop; ++g) {
                    row[g] *= zeros[g - start];
                    zeros[g - start] *= (alpha * complement[g] + o) * c;
                }
            }
        }
    }
    """
    void fill_counts "tk_fill_counts"(double alpha, const double *theta, const double *complement,
                                      Py_ssize_t nodes, Py_ssize_t n,
                                      double *probability) noexcept nogil
