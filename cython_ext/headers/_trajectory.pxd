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

    /* The groups of a trajectory, and the rows of training cases of a tree of groups.

       z, p, easy and a are rows of `sets` numbers; s = width a z.  Groups of a tree come in
       preorder: each row is in its owner and in all groups above that, and owners ascend.  path
       and slope are rows for the sums on the way from the root, by depth; path[0] is 0. */
    typedef struct {
        double *z, *p;
        const double *easy, *a, *width;
        const int32_t *kind, *parent, *owner, *depth;
        double *path, *slope, *eta;
        const double *force;
        double *pulled;
        ptrdiff_t rows, classes, sets;
    } tk_groups;

    /* s of a group, added to `add` */
    TK_INLINE void tk_add_value(const tk_groups *t, ptrdiff_t g, const double *add, double *to,
                                ptrdiff_t sets)
    {
        double w = t->width[t->kind[g]];
        const double *a = t->a + sets * g, *z = t->z + sets * g;
        for (ptrdiff_t i = 0; i < sets; i += 4)
            TK_FOUR(to + i) = TK_CONST_FOUR(add + i)
                              + w * TK_CONST_FOUR(a + i) * TK_CONST_FOUR(z + i);
    }

    /* p -= kick (z - scale slope), scale = w a; pulled = sum of scale slope z; z += drift p / m */
    TK_INLINE void tk_move(const tk_groups *t, ptrdiff_t g, const double *slope, double kick,
                           double drift, ptrdiff_t sets)
    {
        double w = t->width[t->kind[g]];
        tk_four sum = {0};
        for (ptrdiff_t i = sets * g; i < sets * (g + 1); i += 4, slope += 4) {
            tk_four z = TK_CONST_FOUR(t->z + i), p = TK_CONST_FOUR(t->p + i);
            tk_four pull = w * TK_CONST_FOUR(t->a + i) * TK_CONST_FOUR(slope);
            p -= kick * (z - pull);
            sum += pull * z;
            TK_FOUR(t->p + i) = p;
            TK_FOUR(t->z + i) = z + drift * TK_CONST_FOUR(t->easy + i) * p;
        }
        t->pulled[g] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }

    TK_INLINE void tk_down_sets(const tk_groups *groups, ptrdiff_t begin, ptrdiff_t end,
                                ptrdiff_t sets)
    {
        const tk_groups t = *groups;
        ptrdiff_t g = begin ? t.owner[begin - 1] + 1 : 0, a, k;
        for (a = t.parent[g]; a >= 0; a = t.parent[a])
            tk_add_value(&t, a, t.path, t.path + sets * (t.depth[a] + 1), sets);
        for (k = sets; k < sets * t.depth[g]; ++k)
            t.path[sets + k] += t.path[k];
        for (; begin < end; ++g) {
            double *to = t.path + sets * (t.depth[g] + 1);
            tk_add_value(&t, g, to - sets, to, sets);
            /* without a branch that cannot be predicted: the owner writes last */
            for (k = 0; k < t.classes; ++k)
                t.eta[t.rows * k + begin] = to[k];
            begin += g == t.owner[begin];
        }
    }

    /* eta of the rows from begin to end of a tree */
    TK_CLONES
    static void tk_down(const tk_groups *t, ptrdiff_t begin, ptrdiff_t end)
    {
        if (t->sets == 4)
            tk_down_sets(t, begin, end, 4);
        else
            tk_down_sets(t, begin, end, t->sets);
    }

    TK_INLINE void tk_up_sets(const tk_groups *groups, ptrdiff_t begin, ptrdiff_t end,
                              double kick, double drift, ptrdiff_t sets)
    {
        const tk_groups t = *groups;
        ptrdiff_t first = begin ? t.owner[begin - 1] + 1 : 0, g = t.owner[end - 1], r = end - 1;
        for (; g >= first; --g) {
            double *sum = t.slope + sets * t.depth[g], *below = sum + sets;
            int owner = g == t.owner[r];
            const double *slope = owner ? t.force + sets * r : below;
            r -= owner && r > begin;
            tk_move(&t, g, slope, kick, drift, sets);
            for (ptrdiff_t k = 0; k < sets; k += 4) {
                TK_FOUR(sum + k) += TK_CONST_FOUR(slope + k);
                TK_FOUR(below + k) = (tk_four){0};
            }
        }
    }

    /* moves the groups whose first row is from begin to end, after those of all rows beyond */
    TK_CLONES
    static void tk_up(const tk_groups *t, ptrdiff_t begin, ptrdiff_t end, double kick,
                      double drift)
    {
        if (t->sets == 4)
            tk_up_sets(t, begin, end, kick, drift, 4);
        else
            tk_up_sets(t, begin, end, kick, drift, t->sets);
    }

    /* moves the groups, of the slopes given; one set of coefficients, or a multiple of four */
    TK_CLONES
    static void tk_move_all(const tk_groups *groups, ptrdiff_t size, const double *slope,
                            double kick, double drift)
    {
        const tk_groups t = *groups;
        for (ptrdiff_t g = 0; g < size; ++g) {
            if (t.sets > 1) {
                tk_move(&t, g, slope + t.sets * g, kick, drift, t.sets);
                continue;
            }
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
        for (ptrdiff_t g = 0; g < size; ++g)
            for (ptrdiff_t i = t.sets * g; i < t.sets * (g + 1); ++i)
                s[i] = t.width[t.kind[g]] * t.a[i] * t.z[i];
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

    /* of `lanes` rows, with a row of eta for each class: the largest eta; e = exp(eta - top), which
       is 1 of one class and computed of the others, and the sum of e */
    TK_INLINE void tk_exponentials(const double *eta, ptrdiff_t rows, ptrdiff_t classes,
                                   const int lanes, double *top, double *total, double *e)
    {
        double largest[8] = {0}, x[8];
        double *last = e + lanes * (classes - 1);
        for (int j = 0; j < lanes; ++j)
            top[j] = eta[j];
        for (ptrdiff_t k = 1; k < classes; ++k) {
            double class = (double)k;
            for (int j = 0; j < lanes; ++j) {
                x[j] = eta[rows * k + j];
                largest[j] = x[j] > top[j] ? class : largest[j];
                top[j] = x[j] > top[j] ? x[j] : top[j];
            }
        }
        for (int j = 0; j < lanes; ++j) {
            x[j] = eta[rows * (classes - 1) + j];
            last[j] = 1;
            total[j] = 0;
        }
        for (ptrdiff_t k = 0; k < classes - 1; ++k, e += lanes) {
            double class = (double)k;
            for (int j = 0; j < lanes; ++j) {
                double y = eta[rows * k + j];
                y = tk_exp((largest[j] == class ? x[j] : y) - top[j]);
                e[j] = largest[j] == class ? 1 : y;
                last[j] = largest[j] == class ? y : last[j];
                total[j] += e[j];
            }
        }
        for (int j = 0; j < lanes; ++j)
            total[j] += last[j];
    }

    TK_INLINE void tk_lanes(const double *eta, ptrdiff_t rows, const double *cases,
                            const double *n, double *out, ptrdiff_t classes, ptrdiff_t sets,
                            double *e, const int lanes)
    {
        double top[8], total[8], x[8];
        tk_exponentials(eta, rows, classes, lanes, top, total, e);
        for (int j = 0; j < lanes; ++j)
            total[j] = n[j] / total[j];
        for (ptrdiff_t k = 0; k < classes; ++k) {
            for (int j = 0; j < lanes; ++j)
                x[j] = cases[rows * k + j] - total[j] * e[lanes * k + j];
            for (int j = 0; j < lanes; ++j)
                out[sets * j + k] = x[j];
        }
    }

    /* cases less those expected, n exp(eta_k) / sum of exp(eta); cases and eta have a row for each
       class, and `out` a column, and others that stay as they are.  e : room for 8 classes */
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

    TK_INLINE double tk_log_lanes(const double *eta, ptrdiff_t rows, const double *cases,
                                  const double *n, ptrdiff_t classes, double *e, const int lanes)
    {
        double top[8], total[8], sum = 0;
        tk_exponentials(eta, rows, classes, lanes, top, total, e);
        for (int j = 0; j < lanes; ++j)
            total[j] = -n[j] * tk_log(total[j]);
        for (ptrdiff_t k = 0; k < classes; ++k)
            for (int j = 0; j < lanes; ++j)
                total[j] += cases[rows * k + j] * (eta[rows * k + j] - top[j]);
        for (int j = 0; j < lanes; ++j)
            sum += total[j];
        return sum;
    }

    /* sum of cases (eta - log of the sum of exp(eta)) */
    TK_CLONES
    static double tk_log_classes(const double *eta, ptrdiff_t rows, const double *cases,
                                 const double *n, ptrdiff_t classes, double *e)
    {
        double sum = 0;
        ptrdiff_t r = 0;
        for (; r + 8 <= rows; r += 8)
            sum += tk_log_lanes(eta + r, rows, cases + r, n + r, classes, e, 8);
        for (; r < rows; ++r)
            sum += tk_log_lanes(eta + r, rows, cases + r, n + r, classes, e, 1);
        return sum;
    }
    """
    # to[of[i]] = sum of values[members[j]], j from begin[i] to begin[i + 1]; rows of 1 or 4, 8, ...
    # numbers
    void gather "tk_gather"(
        const double *values, double *to, const int32_t *of, const Py_ssize_t *begin,
        const int32_t *members, Py_ssize_t size, Py_ssize_t sets,
    ) noexcept nogil
    # what a trajectory moves; see above
    ctypedef struct Moving "tk_groups":
        double *z
        double *p
        const double *easy
        const double *a
        const double *width
        const int32_t *kind
        const int32_t *parent
        const int32_t *owner
        const int32_t *depth
        double *path
        double *slope
        double *eta
        const double *force
        double *pulled
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
    # sum of cases (eta - log of the sum of exp(eta)), of all rows
    double log_classes "tk_log_classes"(
        const double *eta, Py_ssize_t rows, const double *cases, const double *n,
        Py_ssize_t classes, double *e,
    ) noexcept nogil
