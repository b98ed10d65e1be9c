/* Logs and exponentials without branches, so that a compiler can compute several at once, and the
   processors for which it is to do so.  No product is fused with a sum, so that all of them give
   the same numbers. */

#ifndef THESISKIT_VECTOR_H
#define THESISKIT_VECTOR_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
#define TK_CLONES __attribute__((target_clones("avx2", "default")))
#define TK_WIDE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TK_CLONES
#define TK_WIDE_CLONES
#endif

#define TK_INLINE static inline __attribute__((always_inline))

/* four numbers, wherever they lie: a compiler seldom finds such vectors by itself */
typedef double tk_four __attribute__((vector_size(32), aligned(8), may_alias));
#define TK_FOUR(x) (*(const tk_four *)(x))

#define TK_LN2 0.693147180559945309417

/* x = m 2^e with m in [1, 2), for x > 0 and not denormal: returns e as a double */
static inline double tk_split(double *x)
{
    uint64_t bits, e;
    double exponent;
    memcpy(&bits, x, 8);
    e = (bits >> 52) | 0x4330000000000000ull;  /* the double 2^52 + biased exponent */
    bits = (bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull;
    memcpy(x, &bits, 8);
    memcpy(&exponent, &e, 8);
    return exponent - (4503599627370496.0 + 1023.0);
}

/* log x for x > 0 and not denormal, as fdlibm does it, but without branches: 1 ulp */
static inline double tk_log(double x)
{
    uint64_t bits, e;
    double k, f, s, z, w, r, half;
    memcpy(&bits, &x, 8);
    bits += 0x3ff0000000000000ull - 0x3fe6a09e00000000ull;
    e = (bits >> 52) | 0x4330000000000000ull;
    memcpy(&k, &e, 8);
    k -= 4503599627370496.0 + 1023.0;
    bits = (bits & 0x000fffffffffffffull) + 0x3fe6a09e00000000ull;
    memcpy(&f, &bits, 8);
    f -= 1.0;
    half = 0.5 * f * f;
    s = f / (2.0 + f);
    z = s * s;
    w = z * z;
    r = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01
             + w * 1.531383769920937332e-01))
      + z * (6.666666666666735130e-01 + w * (2.857142874366239149e-01
             + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    return s * (half + r) + k * 1.90821492927058770002e-10 - half + f
           + k * 6.93147180369123816490e-01;
}

/* exp(x) for x <= 0, 0 below -700: 1 ulp or two */
static inline double tk_exp(double x)
{
    double k, r, result, scale;
    uint64_t bits;
    double y = x < -700 ? -700.0 : x;
    k = y * 1.44269504088896340736 + 6755399441055744.0;  /* rounds to a whole number */
    memcpy(&bits, &k, 8);
    k -= 6755399441055744.0;
    r = (y - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    result = 1 + r * (1 + r * (0.5 + r * (1. / 6 + r * (1. / 24 + r * (1. / 120 + r * (1. / 720
           + r * (1. / 5040 + r * (1. / 40320 + r * (1. / 362880 + r * (1. / 3628800
           + r * (1. / 39916800 + r * (1. / 479001600 + r * (1. / 6227020800.0)))))))))))));
    bits = (bits + 1023) << 52;
    memcpy(&scale, &bits, 8);
    result *= scale;
    return x < -700 ? 0.0 : result;
}

#endif
