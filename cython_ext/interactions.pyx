"""Counting and testing all patterns of two and of three features, in bits."""

from libc.stdint cimport int32_t, int64_t, uint64_t

cdef extern from "patterns.h":
    ctypedef struct tk_right:
        const uint64_t *words
        const int32_t *counts
        const int64_t *first
        const int32_t *values
        const unsigned char *complete
        Py_ssize_t groups, width0, width1

    ctypedef struct tk_left:
        const uint64_t *words
        const int32_t *counts
        const int64_t *after
        Py_ssize_t rows, a, b
        int complete

    ctypedef struct tk_scan:
        const int64_t *rank
        double bound
        Py_ssize_t group, row
        int32_t *found
        Py_ssize_t room, written
        int64_t *tally
        Py_ssize_t slots, taken
        int32_t *cells

    int tk_forms() noexcept nogil
    void tk_scan_form(const tk_right *, const tk_left *, tk_scan *, int) noexcept nogil

LANES = 8
FORMS = ("plain", "avx2", "avx512")[:tk_forms()]


cdef class Right:
    """The planes of all features: the arrays of `Planes` in thesiskit/pairs/planes."""

    cdef tk_right c
    cdef object kept  # what the pointers are of

    def __init__(self, const uint64_t[:, :, ::1] words, const int32_t[:, :, ::1] counts,
                 const int64_t[::1] first, const int32_t[::1] values,
                 const unsigned char[::1] complete, Py_ssize_t width0):
        self.kept = words, counts, first, values, complete
        self.c.words, self.c.counts = &words[0, 0, 0], &counts[0, 0, 0]
        self.c.first, self.c.values, self.c.complete = &first[0], &values[0], &complete[0]
        self.c.groups = values.shape[0]
        self.c.width0, self.c.width1 = width0, words.shape[1] - width0


cdef class Left:
    """Rows that say what one feature says (a = 1), or two, (rows, a * b, words)."""

    cdef tk_left c
    cdef object kept

    def __init__(self, const uint64_t[:, :, ::1] words, const int32_t[:, :, ::1] counts,
                 const int64_t[::1] after, Py_ssize_t a, bint complete):
        self.kept = words, counts, after
        self.c.words, self.c.counts, self.c.after = &words[0, 0, 0], &counts[0, 0, 0], &after[0]
        self.c.rows, self.c.a, self.c.b = words.shape[0], a, words.shape[1] // a
        self.c.complete = complete


cdef class Scan:
    """A walk through all cells of rows and features of a higher rank.

    `go` walks until `found` is nearly full, and returns how many of its rows are written.  `tally`
    has how many patterns vary, by n0 2^32 + n1 + 1; where 0 stands, a slot is empty.
    """

    cdef tk_scan c
    cdef Right right
    cdef Left left
    cdef object kept

    def __init__(self, Right right, Left left, const int64_t[::1] rank, int32_t[:, ::1] found,
                 int64_t[:, ::1] tally, int32_t[::1] cells):
        self.right, self.left, self.kept = right, left, (rank, found, tally, cells)
        self.c.rank, self.c.found, self.c.tally = &rank[0], &found[0, 0], &tally[0, 0]
        self.c.cells = &cells[0]
        self.c.room, self.c.slots = found.shape[0], tally.shape[0]
        self.c.group = self.c.row = self.c.taken = 0

    def go(self, double bound, int form):
        """Walk on; patterns of COR^2 >= bound are found.  `form`: index of FORMS, -1: the last."""
        self.c.bound, self.c.written = bound, 0
        form = range(len(FORMS))[form]
        with nogil:
            tk_scan_form(&self.right.c, &self.left.c, &self.c, form)
        return self.c.written

    def emptied(self):
        """The caller has emptied `tally`."""
        self.c.taken = 0

    @property
    def done(self):
        """Whether nothing is left to walk through."""
        return self.c.group == self.right.c.groups
