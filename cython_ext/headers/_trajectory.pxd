# The loops of a Hamiltonian trajectory.
#
# Matrices have a row for each group, or each row of training cases, and a column for each set of
# coefficients: one column, or a multiple of four, which are computed as one vector.

from libc.stdint cimport int32_t

ctypedef double *numbers
ctypedef const double *fixed_numbers
ctypedef const int32_t *indices

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
                tk_four a = {0}, b = {0};
                ptrdiff_t j = begin[i], stop = begin[i + 1];
                for (; j + 2 <= stop; j += 2) {
                    a += TK_FOUR(from + sets * members[j] + k);
                    b += TK_FOUR(from + sets * members[j + 1] + k);
                }
                if (j < stop)
                    a += TK_FOUR(from + sets * members[j] + k);
                *(tk_four *)(to + sets * of[i] + k) = a + b;
            }
    }

    /* The groups of a trajectory, and of trees the rows of training cases and their eta.

       z, p, easy = 1 / m and a are rows of `sets` numbers.  Groups of a tree come before all that
       are in them: each row is in its owner and in all groups above that, and owners ascend.  path
       and slope are sums from the root and towards it, by depth; path[0] is 0. */
    typedef struct {
        double *z, *p, *path, *slope, *eta, *pulled;
        const double *easy, *a, *width, *force;
        const int32_t *kind, *parent, *owner, *depth;
        ptrdiff_t rows, classes, sets;
    } tk_groups;

    /* to = from + s, s = width a z */
    TK_INLINE void tk_add_value(const tk_groups *t, ptrdiff_t g, const double *from, double *to)
    {
        double w = t->width[t->kind[g]];
        for (ptrdiff_t i = t->sets * g; i < t->sets * (g + 1); i += 4, from += 4, to += 4)
            *(tk_four *)to = TK_FOUR(from) + w * TK_FOUR(t->a + i) * TK_FOUR(t->z + i);
    }

    /* p -= kick (z - scale slope), scale = w a; pulled = sum of scale slope z; z += drift p / m */
    TK_INLINE void tk_move(const tk_groups *t, ptrdiff_t g, const double *slope, double kick,
                           double drift)
    {
        double w = t->width[t->kind[g]];
        tk_four sum = {0};
        for (ptrdiff_t i = t->sets * g; i < t->sets * (g + 1); i += 4, slope += 4) {
            tk_four z = TK_FOUR(t->z + i), pull = w * TK_FOUR(t->a + i) * TK_FOUR(slope);
            tk_four p = TK_FOUR(t->p + i) - kick * (z - pull);
            sum += pull * z;
            *(tk_four *)(t->p + i) = p;
            *(tk_four *)(t->z + i) = z + drift * TK_FOUR(t->easy + i) * p;
        }
        t->pulled[g] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }

    /* eta of the rows from begin to end of a tree */
    TK_CLONES
    static void tk_down(const tk_groups *groups, ptrdiff_t begin, ptrdiff_t end)
    {
        const tk_groups t = *groups;
        ptrdiff_t g = begin ? t.owner[begin - 1] + 1 : 0, sets = t.sets;
        for (ptrdiff_t a = t.parent[g]; a >= 0; a = t.parent[a])
            tk_add_value(&t, a, t.path, t.path + sets * (t.depth[a] + 1));
        for (ptrdiff_t k = sets; k < sets * t.depth[g]; ++k)
            t.path[sets + k] += t.path[k];
        for (; begin < end; ++g) {
            double *to = t.path + sets * (t.depth[g] + 1);
            tk_add_value(&t, g, to - sets, to);
            for (ptrdiff_t k = 0; k < t.classes; ++k)  /* the owner is the last to write */
                t.eta[t.rows * k + begin] = to[k];
            begin += g == t.owner[begin];
        }
    }

    /* moves the groups that begin at the rows from begin to end, after those of rows beyond */
    TK_CLONES
    static void tk_up(const tk_groups *groups, ptrdiff_t begin, ptrdiff_t end, double kick,
                      double drift)
    {
        const tk_groups t = *groups;
        ptrdiff_t first = begin ? t.owner[begin - 1] + 1 : 0, r = end - 1;
        for (ptrdiff_t g = t.owner[r]; g >= first; --g) {
            double *sum = t.slope + t.sets * t.depth[g], *below = sum + t.sets;
            int owner = g == t.owner[r];
            const double *slope = owner ? t.force + t.sets * r : below;
            r -= owner && r > begin;
            tk_move(&t, g, slope, kick, drift);
            for (ptrdiff_t k = 0; k < t.sets; k += 4) {
                *(tk_four *)(sum + k) += TK_FOUR(slope + k);
                *(tk_four *)(below + k) = (tk_four){0};
            }
        }
    }

    /* moves groups of one set of coefficients, or a multiple of four, of the slopes given.  A
       compiler is told that no array overlaps another, or it computes single numbers one by one */
    TK_CLONES
    static void tk_move_all(const tk_groups *groups, ptrdiff_t size, const double *slope,
                            double kick, double drift)
    {
        const tk_groups t = *groups;
        for (ptrdiff_t g = 0; g < size && t.sets > 1; ++g)
            tk_move(&t, g, slope + t.sets * g, kick, drift);
        #pragma GCC ivdep
        for (ptrdiff_t g = 0; g < (t.sets == 1 ? size : 0); ++g) {
            double pull = t.width[t.kind[g]] * t.a[g] * slope[g];
            t.p[g] -= kick * (t.z[g] - pull);
            t.pulled[g] = pull * t.z[g];
            t.z[g] += drift * t.easy[g] * t.p[g];
        }
    }

    /* s of all groups */
    TK_CLONES
    static void tk_values(const tk_groups *groups, ptrdiff_t size, double *s)
    {
        const tk_groups t = *groups;
        for (ptrdiff_t g = 0; g < size && t.sets > 1; ++g)
            for (ptrdiff_t i = t.sets * g; i < t.sets * (g + 1); i += 4)
                *(tk_four *)(s + i) = t.width[t.kind[g]] * TK_FOUR(t.a + i) * TK_FOUR(t.z + i);
        #pragma GCC ivdep
        for (ptrdiff_t g = 0; g < (t.sets == 1 ? size : 0); ++g)
            s[g] = t.width[t.kind[g]] * t.a[g] * t.z[g];
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

    TK_INLINE void tk_lanes(const double *eta, ptrdiff_t rows, const double *cases,
                            const double *n, double *out, ptrdiff_t classes, ptrdiff_t sets,
                            double *e, const int lanes)
    {
        double top[8], total[8] = {0};
        for (int j = 0; j < lanes; ++j)
            top[j] = eta[j];
        for (ptrdiff_t k = rows; k < rows * classes; k += rows)
            for (int j = 0; j < lanes; ++j)
                top[j] = eta[k + j] > top[j] ? eta[k + j] : top[j];
        for (ptrdiff_t k = 0; k < classes; ++k)
            for (int j = 0; j < lanes; ++j) {
                e[lanes * k + j] = tk_exp(eta[rows * k + j] - top[j]);
                total[j] += e[lanes * k + j];
            }
        for (int j = 0; j < lanes; ++j)
            total[j] = n[j] / total[j];
        for (ptrdiff_t k = 0; k < classes; ++k)
            for (int j = 0; j < lanes; ++j)
                out[sets * j + k] = cases[rows * k + j] - total[j] * e[lanes * k + j];
    }

    /* cases less those expected, n exp(eta_k) / sum of exp(eta), into the columns of `out` that are
       classes; cases and eta have a row for each class.  e : room for 8 numbers of each */
    TK_CLONES
    static void tk_class_residuals(const double *eta, ptrdiff_t rows, const double *cases,
                                   const double *n, double *out, ptrdiff_t size,
                                   ptrdiff_t classes, ptrdiff_t sets, double *e)
    {
        ptrdiff_t r = 0;
        for (; r + 8 <= size; r += 8)
            tk_lanes(eta + r, rows, cases + r, n + r, out + sets * r, classes, sets, e, 8);
        for (; r < size; ++r)
            tk_lanes(eta + r, rows, cases + r, n + r, out + sets * r, classes, sets, e, 1);
    }
    """
    # to[of[i]] = sum of values[members[j]], j from begin[i] to begin[i + 1]; rows of 1 or 4, 8, ...
    # numbers
    void gather "tk_gather"(
        const double *values, double *to, const int32_t *of, const Py_ssize_t *begin,
        const int32_t *members, Py_ssize_t size, Py_ssize_t sets,
    ) noexcept nogil
    ctypedef struct Moving "tk_groups":
        numbers z, p, path, slope, eta, pulled
        fixed_numbers easy, a, width, force
        indices kind, parent, owner, depth
        Py_ssize_t rows, classes, sets
    # of trees: eta of the rows from begin to end
    void go_down "tk_down"(const Moving *groups, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    # of trees: moves the groups whose first row is from begin to end, after those beyond
    void go_up "tk_up"(
        const Moving *groups, Py_ssize_t begin, Py_ssize_t end, double kick, double drift,
    ) noexcept nogil
    # p -= kick (z - scale slope); pulled = sums of scale slope z; z += drift p / m
    void move_all "tk_move_all"(
        const Moving *groups, Py_ssize_t size, const double *slope, double kick, double drift,
    ) noexcept nogil
    # s = width a z
    void fill_values "tk_values"(const Moving *groups, Py_ssize_t size, double *s) noexcept nogil
    # cases of the second class less n / (1 + exp(-eta))
    void fill_residuals "tk_residuals"(
        const double *eta, const double *cases, const double *n, double *out, Py_ssize_t size,
    ) noexcept nogil
    # cases less n exp(eta_k) / sum of exp(eta), into the columns of `out` that are classes
    void fill_class_residuals "tk_class_residuals"(
        const double *eta, Py_ssize_t rows, const double *cases, const double *n, double *out,
        Py_ssize_t size, Py_ssize_t classes, Py_ssize_t sets, double *e,
    ) noexcept nogil
