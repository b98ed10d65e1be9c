# Normal variables on a forest: passes from the leaves up and from the roots down.
#
# Node g has a variable s_g ~ N(0, v_g), and t_g is the sum of s from its root to g.  Observations
# multiply the density by exp(-p_g t_g^2 / 2 + l_g t_g).  Parents stand before children.
#
# Up: given t_g, all that lies below node g multiplies the density by exp(-P_g t_g^2 / 2 + L_g t_g).
# With s_g integrated out this becomes, as a function of t of the parent,
#
#     P / (1 + P v),  L / (1 + P v),  and the factor (1 + P v)^(-1/2) exp(v L^2 / (1 + P v) / 2),
#
# and P_g, L_g are p_g, l_g plus the sums of these over the children.  The product of all factors is
# the marginal density.
#
# Down: if t of the parent has the posterior mean M and the variance Q, then t_g has
#
#     (M + v L) / (1 + P v)  and  Q / (1 + P v)^2 + v / (1 + P v),
#
# and the logarithm of the marginal density has in v_g the slope
#
#     ((L - P M)^2 + Q P^2) / (1 + P v)^2 / 2 - P / (1 + P v) / 2.
#
# Given t of the parent, s_g ~ N(v (L - P t) / (1 + P v), v / (1 + P v)).

from libc.math cimport log, sqrt
from libc.stdint cimport int32_t
from numpy.random cimport bitgen_t

from _draws cimport standard_normal

cdef struct Node:
    double own_precision, own_linear  # p, l
    double variance
    double precision, linear  # P, L
    double shrink  # 1 / (1 + P v)
    double mean, spread  # of t: M, Q; or t itself

cdef inline double pass_up(Node *node, const int32_t *parent, Py_ssize_t size,
                           bint density) noexcept nogil:
    # fill precision, linear and shrink; if asked for, the logarithm of the marginal density
    cdef Py_ssize_t g
    cdef double d, squares = 0, product = 1, logs = 0
    for g in range(size):
        node[g].precision, node[g].linear = node[g].own_precision, node[g].own_linear
    for g in range(size - 1, -1, -1):
        d = 1 + node[g].precision * node[g].variance
        node[g].shrink = 1 / d
        if density:
            squares += node[g].variance * node[g].linear * node[g].linear * node[g].shrink
            product *= d
            if product > 1e200:
                logs += log(product)
                product = 1
        if parent[g] >= 0:
            node[parent[g]].precision += node[g].precision * node[g].shrink
            node[parent[g]].linear += node[g].linear * node[g].shrink
    return (squares - logs - log(product)) / 2

cdef inline void pass_slopes(Node *node, const int32_t *parent, Py_ssize_t size,
                             const double *factor, const int32_t *kind,
                             double *slope) noexcept nogil:
    # add to slope, by kind, the slopes in v, times factor (NULL: 1); after pass_up
    cdef Py_ssize_t g
    cdef double mean, spread, a, p, x
    for g in range(size):
        mean = spread = 0
        if parent[g] >= 0:
            mean, spread = node[parent[g]].mean, node[parent[g]].spread
        x, p = node[g].shrink, node[g].precision * node[g].shrink
        a = node[g].linear * x - p * mean
        node[g].mean = mean * x + node[g].variance * (node[g].linear * x)
        node[g].spread = spread * x * x + node[g].variance * x
        a = (a * a + spread * p * p - p) / 2
        slope[kind[g]] += a if factor == NULL else factor[g] * a

cdef inline void pass_draw(Node *node, const int32_t *parent, Py_ssize_t size, double *s,
                           bitgen_t *bitgen) noexcept nogil:
    # draw all s, and t as the means; after pass_up
    cdef Py_ssize_t g
    cdef double t, v
    for g in range(size):
        t = node[parent[g]].mean if parent[g] >= 0 else 0
        v = node[g].variance * node[g].shrink
        s[g] = v * (node[g].linear - node[g].precision * t) + sqrt(v) * standard_normal(bitgen)
        node[g].mean = t + s[g]
