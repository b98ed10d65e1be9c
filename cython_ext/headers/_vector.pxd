# Logs and exponentials of many numbers, written so that a compiler computes several at once.
#
# exp(x) = 2^n exp(r), |r| <= log(2) / 2, by its series to r^13; log(x) = e log 2 + 2 atanh(f),
# f = (m - 1) / (m + 1), with x = 2^e m and sqrt(1/2) <= m < sqrt(2), by its series to f^21.  Both
# are within two units of the last digit.  A sum that the processor would round once where another
# rounds twice is not used, so that all processors give the same numbers.

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #include <string.h>

    #if defined(__GNUC__)
    #define TK_INLINE static inline __attribute__((always_inline))
    #else
    #define TK_INLINE static inline
    #endif
    #if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
    #define TK_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
    #else
    #define TK_CLONES
    #endif

    /* x must be in [-708, 709] */
    TK_INLINE double tk_exp(double x)
    {
        const double shift = 6755399441055744.0;  /* 1.5 * 2^52: adding it rounds */
        double shifted = x * 1.4426950408889634074 + shift, n = shifted - shift, r, p;
        int64_t bits, whole;
        r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
        p = 1.0 / 6227020800.0;
        p = p * r + 1.0 / 479001600.0;
        p = p * r + 1.0 / 39916800.0;
        p = p * r + 1.0 / 3628800.0;
        p = p * r + 1.0 / 362880.0;
        p = p * r + 1.0 / 40320.0;
        p = p * r + 1.0 / 5040.0;
        p = p * r + 1.0 / 720.0;
        p = p * r + 1.0 / 120.0;
        p = p * r + 1.0 / 24.0;
        p = p * r + 1.0 / 6.0;
        p = p * r + 0.5;
        p = p * r + 1.0;
        p = p * r + 1.0;
        memcpy(&whole, &shifted, 8);
        memcpy(&bits, &p, 8);
        bits += (int64_t)((uint64_t)whole << 52);
        memcpy(&p, &bits, 8);
        return p;
    }

    /* x must be positive, finite and not subnormal */
    TK_INLINE double tk_log(double x)
    {
        const double shift = 4503599627370496.0;  /* 2^52 */
        int64_t bits, exponent;
        double e, m, f, s, p;
        memcpy(&bits, &x, 8);
        /* m in [sqrt(1/2), sqrt(2)) */
        bits += 0x0010000000000000 - 0x0006A09E667F3BCD;
        exponent = (int64_t)((uint64_t)bits >> 52) + 0x4330000000000000;
        memcpy(&e, &exponent, 8);
        e = e - (shift + 1024.0);
        bits = (bits & 0x000FFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD;
        memcpy(&m, &bits, 8);
        f = (m - 1.0) / (m + 1.0);
        s = f * f;
        p = 1.0 / 21.0;
        p = p * s + 1.0 / 19.0;
        p = p * s + 1.0 / 17.0;
        p = p * s + 1.0 / 15.0;
        p = p * s + 1.0 / 13.0;
        p = p * s + 1.0 / 11.0;
        p = p * s + 1.0 / 9.0;
        p = p * s + 1.0 / 7.0;
        p = p * s + 1.0 / 5.0;
        p = p * s + 1.0 / 3.0;
        p = 2.0 * f + 2.0 * f * (s * p);
        return e * 6.93147180369123816490e-01 + (e * 1.90821492927058770002e-10 + p);
    }
    """
