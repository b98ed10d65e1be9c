# Population counts of bit-packed features: one row of 64-bit words per feature, one bit per case.
#
# A plain x86-64 build has no popcount instruction to rely on, so the loop is compiled once for
# each kind of processor and the best one is chosen when it is called.

from libc.stdint cimport int32_t, uint64_t

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>

    /* ones[j][y] = |row j and mask y|: I0 and I1 of feature j */
    #define TK_COUNT_ROWS(NAME, TARGET)                                                      \\
    TARGET static void NAME(const uint64_t *words, ptrdiff_t rows, ptrdiff_t width,          \\
                            const uint64_t *mask0, const uint64_t *mask1, int32_t *ones)     \\
    {                                                                                        \\
        for (ptrdiff_t j = 0; j < rows; ++j) {                                               \\
            const uint64_t *row = words + j * width;                                         \\
            uint64_t ones0 = 0, ones1 = 0;                                                   \\
            for (ptrdiff_t w = 0; w < width; ++w) {                                          \\
                ones0 += (uint64_t)__builtin_popcountll(row[w] & mask0[w]);                  \\
                ones1 += (uint64_t)__builtin_popcountll(row[w] & mask1[w]);                  \\
            }                                                                                \\
            ones[2 * j] = (int32_t)ones0;                                                    \\
            ones[2 * j + 1] = (int32_t)ones1;                                                \\
        }                                                                                    \\
    }
    TK_COUNT_ROWS(tk_count_rows_plain, )

    #if defined(__x86_64__) && defined(__GNUC__)
    TK_COUNT_ROWS(tk_count_rows_popcnt, __attribute__((target("popcnt"))))
    TK_COUNT_ROWS(tk_count_rows_avx512,
                  __attribute__((target("avx512f,avx512vl,avx512vpopcntdq,popcnt"))))
    static void tk_count_rows(const uint64_t *words, ptrdiff_t rows, ptrdiff_t width,
                              const uint64_t *mask0, const uint64_t *mask1, int32_t *ones)
    {
        if (__builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("avx512vl"))
            tk_count_rows_avx512(words, rows, width, mask0, mask1, ones);
        else if (__builtin_cpu_supports("popcnt"))
            tk_count_rows_popcnt(words, rows, width, mask0, mask1, ones);
        else
            tk_count_rows_plain(words, rows, width, mask0, mask1, ones);
    }
    #else
    #define tk_count_rows tk_count_rows_plain
    #endif
    """
    void count_rows "tk_count_rows"(
        const uint64_t *words, Py_ssize_t rows, Py_ssize_t width,
        const uint64_t *mask0, const uint64_t *mask1, int32_t *ones,
    ) noexcept nogil
