/* Counts of patterns: those that say what a left row says and that a right feature has a value.

   Right features stand in groups of LANES with equally many values.  The words of a plane of a group
   are interleaved, word w of all its features side by side, so that one AND with a word of the left,
   and one population count, serve LANES features, and sums stay in their lanes.  Each class has words
   of its own.  The last plane of a feature or row says where it is known; where it is known everywhere
   ("complete") its products are the margins, and a group does not store it. */

#ifndef THESISKIT_PATTERNS_H
#define THESISKIT_PATTERNS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#define TK_X86 1
#include <immintrin.h>
#else
#define TK_X86 0
#endif

#if defined(__GNUC__)
#define TK_INLINE static inline __attribute__((always_inline))
#else
#define TK_INLINE static inline
#endif

enum { LANES = 8, SIDE = 2 * LANES };  /* the counts of a cell: of class 0, then of class 1 */

typedef struct {
    const uint64_t *words;     /* planes of all groups, (planes, width0 + width1, LANES) */
    const int32_t *counts;     /* their bits in each class, (planes, 2, LANES) */
    const int64_t *first;      /* the first plane of a group */
    const int32_t *values;     /* how many values a group's features have */
    const uint8_t *complete;
    ptrdiff_t groups, width0, width1;
} tk_right;

typedef struct {
    const uint64_t *words;     /* (rows, a * b, width0 + width1): what two features say; a = 1: one */
    const int32_t *counts;     /* (rows, a * b, 2) */
    const int64_t *after;      /* a row meets the features of a higher rank */
    ptrdiff_t rows, a, b;
    int complete;
} tk_left;

typedef struct {
    const int64_t *rank;       /* of the features on the right; -1: not wanted */
    double bound;              /* patterns of COR^2 >= bound are written to `found` */
    ptrdiff_t group, row;      /* where to go on */
    int32_t *found;            /* (room, 7): row, place of the feature, cell, I0, I1, n0, n1 */
    ptrdiff_t room, written;
    int64_t *tally;            /* (slots, 2): n0 2^32 + n1 + 1, and how many patterns have these */
    ptrdiff_t slots, taken;    /* slots: a power of two */
    int32_t *cells;            /* (a * b * values, 2, LANES) */
} tk_scan;

typedef void tk_count(const uint64_t *, ptrdiff_t, const uint64_t *, ptrdiff_t, ptrdiff_t, int32_t *,
                      ptrdiff_t);

/* Bits that each byte has, of LANES words at once, without an instruction for it. */
TK_INLINE void tk_add_bits(const uint64_t *left, const uint64_t *right, ptrdiff_t width, int32_t *sums)
{
    uint64_t bytes[LANES], x;
    ptrdiff_t w, stop, l;
    for (l = 0; l < LANES; ++l) sums[l] = 0;
    for (w = 0; w < width; w = stop) {
        stop = w + 31 < width ? w + 31 : width;  /* 31 words: a byte counts up to 255 */
        for (l = 0; l < LANES; ++l) bytes[l] = 0;
        for (ptrdiff_t i = w; i < stop; ++i)
            for (l = 0; l < LANES; ++l) {
                x = left[i] & right[i * LANES + l];
                x -= (x >> 1) & 0x5555555555555555ull;
                x = (x & 0x3333333333333333ull) + ((x >> 2) & 0x3333333333333333ull);
                bytes[l] += (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full;
            }
        for (l = 0; l < LANES; ++l) {
            x = bytes[l];
            x = (x & 0x00ff00ff00ff00ffull) + ((x >> 8) & 0x00ff00ff00ff00ffull);
            x += x >> 16;
            sums[l] += (int32_t)((x + (x >> 32)) & 0xffff);
        }
    }
}

/* cells[u] = bits that plane u of a row and a plane of a group have in common, in each class */
TK_INLINE void tk_count_any(const uint64_t *left, ptrdiff_t planes, const uint64_t *right,
                            ptrdiff_t width0, ptrdiff_t width1, int32_t *cells, ptrdiff_t step)
{
    for (ptrdiff_t u = 0; u < planes; ++u, left += width0 + width1, cells += step) {
        tk_add_bits(left, right, width0, cells);
        tk_add_bits(left + width0, right + width0 * LANES, width1, cells + LANES);
    }
}

/* Whether a cell of a lane is wanted, and how many cells of a lane vary: a pattern of some and not
   all of its n0 + n1 cases.  Whole numbers up to 1e10 are exact, so all processors say the same. */
TK_INLINE int tk_test(const int32_t *cells, ptrdiff_t number, const double *n0, const double *n1,
                      const double *least, double bound, int64_t *varying)
{
    double n[LANES], product[LANES];
    int64_t any[LANES], some = 0;
    for (int l = 0; l < LANES; ++l) {
        n[l] = n0[l] + n1[l];
        product[l] = n0[l] * n1[l];
        any[l] = varying[l] = 0;
    }
    for (const int32_t *cell = cells; number--; cell += SIDE)
        for (int l = 0; l < LANES; ++l) {
            double ones = cell[LANES + l], s = cell[l] + ones, rest = n[l] - s;
            double d = n[l] * ones - n1[l] * s, floor = bound * (product[l] * (s * rest));
            floor = floor > least[l] ? floor : least[l];
            any[l] |= d * d >= floor;
            varying[l] += (s > 0) & (rest > 0);
        }
    for (int l = 0; l < LANES; ++l) some |= any[l];
    return some != 0;
}

/* The counts of all cells of a row and a group; first of all planes, then differences. */
TK_INLINE void tk_cells(const tk_right *right, const tk_left *left, ptrdiff_t row, ptrdiff_t group,
                        int32_t *cells, double *n0, double *n1, tk_count *count)
{
    const ptrdiff_t values = right->values[group], width = right->width0 + right->width1;
    const ptrdiff_t planes = left->a * left->b, stored = values - right->complete[group];
    const uint64_t *words = left->words + row * planes * width;
    const int32_t *total = left->counts + row * planes * 2;
    const int32_t *margin = right->counts + right->first[group] * SIDE;
    ptrdiff_t u, v, a, i;
    for (v = 0; v < stored; ++v) {
        count(words, planes - left->complete, right->words + (right->first[group] + v) * width * LANES,
              right->width0, right->width1, cells + v * SIDE, values * SIDE);
        if (left->complete)
            memcpy(cells + ((planes - 1) * values + v) * SIDE, margin + v * SIDE, 4 * SIDE);
    }
    for (u = 0; u < planes && stored < values; ++u)
        for (i = 0; i < SIDE; ++i)
            cells[(u * values + stored) * SIDE + i] = total[2 * u + i / LANES];
    for (i = 0; i < LANES; ++i) {
        n0[i] = cells[(planes * values - 1) * SIDE + i];
        n1[i] = cells[(planes * values - 1) * SIDE + LANES + i];
    }
    for (u = 0; u < planes; ++u) {
        int32_t *last = cells + (u * values + values - 1) * SIDE;
        for (v = 1; v < values; ++v)
            for (i = 0; i < SIDE; ++i) last[i] -= last[i - v * SIDE];
    }
    for (a = 0; a < left->a; ++a) {
        int32_t *last = cells + ((a + 1) * left->b - 1) * values * SIDE;
        for (u = 1; u < left->b; ++u)
            for (i = 0; i < values * SIDE; ++i) last[i] -= last[i - u * values * SIDE];
    }
    for (a = 1; a < left->a; ++a) {
        const ptrdiff_t size = left->b * values * SIDE;
        for (i = 0; i < size; ++i) cells[(left->a - 1) * size + i] -= cells[(a - 1) * size + i];
    }
}

TK_INLINE void tk_tally(tk_scan *scan, double n0, double n1, int64_t number)
{
    const uint64_t key = ((uint64_t)n0 << 32) + (uint64_t)n1 + 1;
    ptrdiff_t slot = (ptrdiff_t)((key * 0x9e3779b97f4a7c15ull) >> 40) & (scan->slots - 1);
    while (scan->tally[2 * slot] && (uint64_t)scan->tally[2 * slot] != key)
        slot = (slot + 1) & (scan->slots - 1);
    scan->taken += !scan->tally[2 * slot];
    scan->tally[2 * slot] = (int64_t)key;
    scan->tally[2 * slot + 1] += number;
}

/* Go on from (group, row) until all is done, or `found` or `tally` could overflow. */
TK_INLINE void tk_scan_any(const tk_right *right, const tk_left *left, tk_scan *scan, tk_count *count)
{
    const ptrdiff_t planes = left->a * left->b;
    double n0[LANES], n1[LANES], least[LANES];
    int64_t varying[LANES], top;
    for (; scan->group < right->groups; ++scan->group, scan->row = 0) {
        const ptrdiff_t number = planes * right->values[scan->group];
        const int64_t *rank = scan->rank + scan->group * LANES;
        top = -1;
        for (int l = 0; l < LANES; ++l) top = rank[l] > top ? rank[l] : top;
        for (; scan->row < left->rows; ++scan->row) {
            const int64_t after = left->after[scan->row];
            if (top <= after) continue;
            if (scan->written + number * LANES > scan->room || 2 * (scan->taken + LANES) > scan->slots)
                return;
            tk_cells(right, left, scan->row, scan->group, scan->cells, n0, n1, count);
            /* of a bound above 0 what has no correlation is not wanted, although 0 >= bound * 0 */
            for (int l = 0; l < LANES; ++l)
                least[l] = rank[l] <= after ? INFINITY : scan->bound > 0 ? 0.5 : 0;
            const int some = tk_test(scan->cells, number, n0, n1, least, scan->bound, varying);
            for (int l = 0; l < LANES; ++l) {
                if (rank[l] <= after) continue;
                int64_t alike = varying[l];
                while (l + 1 < LANES && rank[l + 1] > after && n0[l + 1] == n0[l] && n1[l + 1] == n1[l]
                       && !some)
                    alike += varying[++l];
                if (alike) tk_tally(scan, n0[l], n1[l], alike);
                for (ptrdiff_t cell = 0; some && cell < number; ++cell) {
                    const int32_t *sum = scan->cells + cell * SIDE;
                    const double ones = sum[LANES + l], s = sum[l] + ones, n = n0[l] + n1[l];
                    const double d = n * ones - n1[l] * s, rest = n - s;
                    const double floor = scan->bound * (n0[l] * n1[l] * (s * rest));
                    if (!(s > 0 && rest > 0 && d * d >= floor && d * d >= least[l])) continue;
                    int32_t *out = scan->found + 7 * scan->written++;
                    out[0] = (int32_t)scan->row;
                    out[1] = (int32_t)(scan->group * LANES + l);
                    out[2] = (int32_t)cell;
                    out[3] = sum[l];
                    out[4] = sum[LANES + l];
                    out[5] = (int32_t)n0[l];
                    out[6] = (int32_t)n1[l];
                }
            }
        }
    }
}

/* One form for each kind of processor: the counts, and all else compiled for it. */
#define TK_FORM(NAME, TARGET)                                                                     \
    TARGET static void tk_scan_##NAME(const tk_right *right, const tk_left *left, tk_scan *scan)  \
    {                                                                                             \
        tk_scan_any(right, left, scan, tk_count_##NAME);                                          \
    }

static void tk_count_plain(const uint64_t *left, ptrdiff_t planes, const uint64_t *right,
                           ptrdiff_t width0, ptrdiff_t width1, int32_t *cells, ptrdiff_t step)
{
    tk_count_any(left, planes, right, width0, width1, cells, step);
}
TK_FORM(plain, )

#if TK_X86
#define TK_AVX2 __attribute__((target("avx2")))
#define TK_AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx512vpopcntdq")))

TK_AVX2 static void tk_count_avx2(const uint64_t *left, ptrdiff_t planes, const uint64_t *right,
                                  ptrdiff_t width0, ptrdiff_t width1, int32_t *cells, ptrdiff_t step)
{
    tk_count_any(left, planes, right, width0, width1, cells, step);
}

TK_AVX512 static void tk_count_avx512(const uint64_t *left, ptrdiff_t planes, const uint64_t *right,
                                      ptrdiff_t width0, ptrdiff_t width1, int32_t *cells,
                                      ptrdiff_t step)
{
    for (ptrdiff_t u = 0; u < planes; ++u, cells += step) {
        const uint64_t *other = right;
        for (int side = 0; side < 2; ++side) {
            const ptrdiff_t width = side ? width1 : width0;
            __m512i sum = _mm512_setzero_si512();
            for (ptrdiff_t w = 0; w < width; ++w, other += LANES) {
                const __m512i word = _mm512_set1_epi64((long long)*left++);
                sum = _mm512_add_epi64(
                    sum, _mm512_popcnt_epi64(_mm512_and_si512(word, _mm512_loadu_si512(other))));
            }
            _mm256_storeu_si256((__m256i *)(cells + side * LANES), _mm512_cvtepi64_epi32(sum));
        }
    }
}
TK_FORM(avx2, TK_AVX2)
TK_FORM(avx512, TK_AVX512)
#endif

/* The forms that this processor has, the best last: 1, 2 or 3 of plain, avx2 and avx512. */
static int tk_forms(void)
{
#if TK_X86
    if (__builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("avx512vl")
        && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        return 3;
    if (__builtin_cpu_supports("avx2")) return 2;
#endif
    return 1;
}

static void tk_scan_form(const tk_right *right, const tk_left *left, tk_scan *scan, int form)
{
#if TK_X86
    if (form == 2) tk_scan_avx512(right, left, scan);
    if (form == 1) tk_scan_avx2(right, left, scan);
#endif
    if (form == 0) tk_scan_plain(right, left, scan);
}

#endif
