"""Bit packing and counting for feature screening."""

from libc.stdint cimport int32_t, uint64_t

from _bits cimport count_rows

cdef enum:
    BLOCK = 512  # columns packed at a time: their words stay in the first-level cache


def pack_columns(const unsigned char[:, :] features, uint64_t[:, ::1] words):
    """Write bit i % 64 of words[j, i // 64] = features[i, j], for features (n, p) of 0 and 1.

    `words` is (p, ceil(n / 64)); unused high bits are zero.
    """
    cdef Py_ssize_t n = features.shape[0], p = features.shape[1]
    cdef Py_ssize_t block, start, stop, w, i, j
    cdef uint64_t[BLOCK] packed
    cdef const unsigned char *row
    with nogil:
        for block in range((p + BLOCK - 1) // BLOCK):
            start = block * BLOCK
            stop = min(start + BLOCK, p)
            for w in range(words.shape[1]):
                for j in range(stop - start):
                    packed[j] = 0
                for i in range(64 * w, min(64 * w + 64, n)):
                    if features.strides[1] == 1:
                        row = &features[i, start]
                        for j in range(stop - start):
                            packed[j] |= <uint64_t> row[j] << (i - 64 * w)
                    else:
                        for j in range(stop - start):
                            packed[j] |= <uint64_t> features[i, start + j] << (i - 64 * w)
                for j in range(stop - start):
                    words[start + j, w] = packed[j]


def count_classes(const uint64_t[:, ::1] words, const uint64_t[::1] mask0,
                  const uint64_t[::1] mask1, int32_t[:, ::1] ones):
    """Write ones[j, y] = bits set both in row j and in mask y: I0 and I1 of feature j, (p, 2)."""
    if words.shape[0] == 0 or words.shape[1] == 0:
        ones[:, :] = 0
        return
    with nogil:
        count_rows(&words[0, 0], words.shape[0], words.shape[1], &mask0[0], &mask1[0], &ones[0, 0])


def score_counts(const int32_t[:, ::1] ones, double n0, double n1, double[::1] score):
    """Write score[j] = COR^2 = (n I1 - n1 s)^2 / (n0 n1 s (n - s)), s = I0 + I1; 0 for 0 / 0.

    In floating point, to a few units in the last place: good for ranking, not for ties.
    """
    cdef double n = n0 + n1, s, d, denominator
    cdef Py_ssize_t j
    with nogil:
        for j in range(ones.shape[0]):
            s = ones[j, 0] + ones[j, 1]
            d = n * ones[j, 1] - n1 * s
            denominator = n0 * n1 * s * (n - s)
            score[j] = d * d / denominator if denominator > 0 else 0
