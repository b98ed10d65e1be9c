"""Integrals over theta for the binary naive Bayes model, and its predictions."""

import numpy as np

from libc.math cimport exp, fabs, log, log1p, sqrt

from _counts cimport fill_counts
from _maths cimport dot, log_negative_binomial, log_norm, stirling_error


def fill_count_probabilities(const double[::1] alpha, const double[::1] theta,
                             const double[::1] complement, Py_ssize_t n,
                             double[:, :, ::1] probability):
    """Write probability[k, I, g] = P(I ones among n | alpha_k, theta_g), shape (K, n + 1, G).

    `complement` is 1 - theta; n <= 600.
    """
    cdef Py_ssize_t k
    with nogil:
        for k in range(alpha.shape[0]):
            fill_counts(alpha[k], &theta[0], &complement[0], theta.shape[0], n,
                        &probability[k, 0, 0])


def integrate_pairs(const double[:, :, ::1] probability0, const double[:, :, ::1] probability1,
                    const Py_ssize_t[::1] ones0, const Py_ssize_t[::1] ones1,
                    const double[::1] theta, const double[::1] complement,
                    double[:, ::1] marginal, double[:, ::1] mean, double[:, ::1] complement_mean):
    """Write P(I0, I1 | alpha_k), E(theta | I0, I1, alpha_k) and E(1 - theta | ...), (D, K) each.

    probability0 already carries the quadrature weights.
    """
    cdef Py_ssize_t G = theta.shape[0], k, d, i, g
    cdef double[:, :, ::1] work = np.empty((2, probability0.shape[1], G))
    cdef double first, second
    if G == 0:
        return
    with nogil:
        for k in range(probability0.shape[0]):
            for i in range(probability0.shape[1]):
                for g in range(G):
                    work[0, i, g] = probability0[k, i, g] * theta[g]
                    work[1, i, g] = probability0[k, i, g] * complement[g]
            for d in range(ones0.shape[0]):
                # P = E(theta; counts) + E(1 - theta; counts)
                first = dot(&work[0, ones0[d], 0], &probability1[k, ones1[d], 0], G)
                second = dot(&work[1, ones0[d], 0], &probability1[k, ones1[d], 0], G)
                marginal[d, k] = first + second
                mean[d, k] = first / (first + second)
                complement_mean[d, k] = second / (first + second)


def sum_retained(const double[:, :, ::1] probability0, const double[:, :, ::1] probability1,
                 const Py_ssize_t[::1] reach, double[::1] retained):
    """Write retained[k] = 2 P(H+ | alpha_k), the probability that a feature is retained.

    reach[I1] is the largest I0 with Cor(I0, I1) > gamma, -1 if there is none (it never
    decreases); probability0 carries the quadrature weights.
    """
    cdef Py_ssize_t G = probability0.shape[2], k, i0, i1, g
    cdef double[::1] inner = np.empty(G)
    cdef double total
    with nogil:
        for k in range(probability0.shape[0]):
            for g in range(G):
                inner[g] = 0
            total = 0
            i0 = 0
            for i1 in range(reach.shape[0]):
                # inner = sum of P(I0) over I0 <= reach[i1]
                while i0 <= reach[i1]:
                    for g in range(G):
                        inner[g] += probability0[k, i0, g]
                    i0 += 1
                if i0 > 0:
                    total += dot(&inner[0], &probability1[k, i1, 0], G)
            retained[k] = 2 * total


def accumulate_counts(const unsigned char[:, :] features, const Py_ssize_t[::1] pair,
                      double[:, ::1] counts):
    """Add features[t, j] to counts[t, pair[j]]: test ones per distinct pair of training counts."""
    cdef Py_ssize_t t, j
    cdef const unsigned char *row
    with nogil:
        for t in range(features.shape[0]):
            if features.shape[1] > 0 and features.strides[1] == 1:
                row = &features[t, 0]
                for j in range(features.shape[1]):
                    counts[t, pair[j]] += row[j]
            else:
                for j in range(features.shape[1]):
                    counts[t, pair[j]] += features[t, j]


# ---- any n: log probabilities at a point, and integrals that look for their own support ----

cdef double DROP = 45      # where the integrand ends: exp(-45) = 3e-20 of its peak
cdef enum:
    FEWEST_POINTS = 24
    MOST_POINTS = 6144


cdef struct Pair:
    # counts of one feature with what depends on them alone
    double[4] x        # I0, O0, I1, O1
    double[4] error    # their Stirling errors
    double[2] n


cdef struct Norms:
    double log_p
    double log_norm


cdef Pair make_pair(double i0, double n0, double i1, double n1) noexcept nogil:
    cdef Pair pair
    cdef int c
    pair.x[0], pair.x[1], pair.x[2], pair.x[3] = i0, n0 - i0, i1, n1 - i1
    pair.n[0], pair.n[1] = n0, n1
    for c in range(4):
        pair.error[c] = stirling_error(pair.x[c]) if pair.x[c] > 0 else 0
    return pair


cdef inline double log_nb_or_limit(double x, double a, double d, double log_p,
                                   double error) noexcept nogil:
    # log NB(x; a) with its limit at a = 0: all mass at x = 0
    if a == 0:
        return 0 if x == 0 else -1e300
    return log_negative_binomial(x, a, d, log_p, error)


cdef double log_pair(const Pair *pair, double alpha, const Norms *classes,
                     double theta, double complement) noexcept nogil:
    # log P(I0 | alpha, theta) + log P(I1 | alpha, theta)
    cdef double total = 0, d, n
    cdef int y
    for y in range(2):
        n = pair.n[y]
        if n == 0:
            continue
        if theta < complement:
            d = alpha * (n * theta - pair.x[2 * y]) / (alpha + n)
        else:
            d = alpha * (pair.x[2 * y + 1] - n * complement) / (alpha + n)
        total += (log_nb_or_limit(pair.x[2 * y], alpha * theta, d, classes[y].log_p,
                                  pair.error[2 * y])
                  + log_nb_or_limit(pair.x[2 * y + 1], alpha * complement, -d, classes[y].log_p,
                                    pair.error[2 * y + 1])
                  - classes[y].log_norm)
    return total


cdef inline double at_logit(const Pair *pair, double alpha, const Norms *classes,
                            double x) noexcept nogil:
    # log of the integrand over x = logit(theta), where it falls off to both sides
    cdef double theta = 1 / (1 + exp(-x)), complement = 1 / (1 + exp(x))
    return log_pair(pair, alpha, classes, theta, complement) + log(theta * complement)


cdef double edge(const Pair *pair, double alpha, const Norms *classes, double start, double step,
                 double *top) noexcept nogil:
    # Walk from start until the log integrand is DROP below its highest value seen, then bisect to
    # the place.  It is concave in theta, so what is beyond is less.
    cdef double inside = start, outside = start + step, middle
    cdef double value = at_logit(pair, alpha, classes, outside)
    cdef int _j
    while value > top[0] - DROP:
        top[0] = max(top[0], value)
        inside = outside
        step *= 1.5
        outside = inside + step
        value = at_logit(pair, alpha, classes, outside)
    for _j in range(3):
        middle = 0.5 * (inside + outside)
        if at_logit(pair, alpha, classes, middle) < top[0] - DROP:
            outside = middle
        else:
            inside = middle
    return outside


def integrate_pairs_locally(const double[::1] ones0, const double[::1] ones1, double n0, double n1,
                            const double[::1] alpha, double tolerance,
                            double[:, ::1] log_marginal, double[:, ::1] mean,
                            double[:, ::1] complement_mean):
    """Write log P(I0, I1 | alpha_k), E(theta | I0, I1, alpha_k), E(1 - theta | ...) for any n.

    All are (D, K).  Each integrand is located first; the trapezoid rule on logit(theta), which
    converges faster than any power of its step for what falls off to both sides, is then halved
    until both means' integrals move by less than `tolerance`, relative.  Returns the number of
    integrals that did not get there.
    """
    cdef Py_ssize_t k, d
    cdef Py_ssize_t failures = 0
    cdef Pair pair
    cdef Norms[2] classes
    with nogil:
        for k in range(alpha.shape[0]):
            classes[0].log_p, classes[1].log_p = -log1p(n0 / alpha[k]), -log1p(n1 / alpha[k])
            classes[0].log_norm, classes[1].log_norm = (log_norm(n0, alpha[k]),
                                                        log_norm(n1, alpha[k]))
            for d in range(ones0.shape[0]):
                pair = make_pair(ones0[d], n0, ones1[d], n1)
                if not integrate_one(&pair, alpha[k], classes, tolerance, &log_marginal[d, k],
                                     &mean[d, k], &complement_mean[d, k]):
                    failures += 1
    return failures


cdef bint integrate_one(const Pair *pair, double alpha, const Norms *classes, double tolerance,
                        double *log_marginal, double *mean,
                        double *complement_mean) noexcept nogil:
    cdef double n0 = pair.n[0], n1 = pair.n[1]
    cdef double size0 = n0 * alpha / (n0 + alpha), size1 = n1 * alpha / (n1 + alpha)
    # a first guess: class fractions weighted by their effective sample sizes
    cdef double fraction = ((size0 * pair.x[0] / n0 if n0 > 0 else 0)
                            + (size1 * pair.x[2] / n1 if n1 > 0 else 0) + 0.5) / (size0 + size1 + 1)
    cdef double centre = log(fraction / (1 - fraction))
    cdef double width = 1 / sqrt((size0 + size1 + 1) * fraction * (1 - fraction))
    cdef double top = at_logit(pair, alpha, classes, centre)
    cdef double low, high, step
    cdef double first = 0, second = 0, last_first, last_second
    cdef Py_ssize_t points = FEWEST_POINTS, j
    low = edge(pair, alpha, classes, centre, -9 * width, &top)
    high = edge(pair, alpha, classes, centre, 9 * width, &top)
    step = (high - low) / points
    for j in range(1, points):
        add_point(pair, alpha, classes, low + j * step, top, &first, &second)
    while points <= MOST_POINTS:
        last_first, last_second = first, second
        for j in range(points):
            add_point(pair, alpha, classes, low + (j + 0.5) * step, top, &first, &second)
        points *= 2
        step *= 0.5
        if (fabs(0.5 * first - last_first) <= tolerance * last_first
                and fabs(0.5 * second - last_second) <= tolerance * last_second):
            log_marginal[0] = top + log(step * (first + second))
            mean[0] = first / (first + second)
            complement_mean[0] = second / (first + second)
            return True
    return False


cdef inline void add_point(const Pair *pair, double alpha, const Norms *classes, double x,
                           double top, double *first, double *second) noexcept nogil:
    # first += f theta, second += f (1 - theta)
    cdef double value = exp(at_logit(pair, alpha, classes, x) - top)
    first[0] += value / (1 + exp(-x))
    second[0] += value / (1 + exp(x))


def log_pairs_at(const double[::1] ones0, const double[::1] ones1, double n0, double n1,
                 double alpha, const double[::1] theta, const double[::1] complement,
                 double[:, ::1] log_probability):
    """Write log P(I0 | alpha, theta_g) + log P(I1 | alpha, theta_g), shape (D, G)."""
    cdef Py_ssize_t d, g
    cdef Pair pair
    cdef Norms[2] classes
    with nogil:
        classes[0].log_p, classes[1].log_p = -log1p(n0 / alpha), -log1p(n1 / alpha)
        classes[0].log_norm, classes[1].log_norm = log_norm(n0, alpha), log_norm(n1, alpha)
        for d in range(ones0.shape[0]):
            pair = make_pair(ones0[d], n0, ones1[d], n1)
            for g in range(theta.shape[0]):
                log_probability[d, g] = log_pair(&pair, alpha, classes, theta[g], complement[g])


cdef void fill_window(double[::1] probability, Py_ssize_t n, double alpha, double theta,
                      double complement, Py_ssize_t *low, Py_ssize_t *high) noexcept nogil:
    # probability[low..high] = P(I | n, alpha, theta), from near the mean outwards until 1e-280
    # of the largest; entries outside are left alone and count as 0.
    cdef double a = alpha * theta, b = alpha * complement, value = 1, largest = 1, total = 1
    cdef Py_ssize_t start = <Py_ssize_t> (n * theta + 0.5), i
    start = min(max(start, 0), n)
    probability[start] = 1
    low[0] = high[0] = start
    i = start
    while i < n:
        # P(i + 1) / P(i) = (n - i) (a + i) / ((i + 1) (b + n - i - 1))
        value *= (n - i) * (a + i) / ((i + 1) * (b + (n - i - 1)))
        if not value > 1e-280 * largest:
            break
        i += 1
        probability[i] = value
        total += value
        largest = max(largest, value)
    high[0] = i
    value = 1
    i = start
    while i > 0:
        value *= i * (b + (n - i)) / ((n - i + 1) * (a + (i - 1)))
        if not value > 1e-280 * largest:
            break
        i -= 1
        probability[i] = value
        total += value
        largest = max(largest, value)
    low[0] = i
    for i in range(low[0], high[0] + 1):
        probability[i] /= total


def fill_windows(double alpha, const double[::1] theta, const double[::1] complement,
                 double[:, ::1] probability):
    """Write probability[I, g] = P(I | alpha, theta_g), (n + 1, G), for any n.

    What is below 1e-280 of the largest is written as 0.
    """
    cdef Py_ssize_t n = probability.shape[0] - 1, g, i, low, high
    cdef double[::1] scratch = np.empty(n + 1)
    with nogil:
        for i in range(n + 1):
            for g in range(theta.shape[0]):
                probability[i, g] = 0
        for g in range(theta.shape[0]):
            fill_window(scratch, n, alpha, theta[g], complement[g], &low, &high)
            for i in range(low, high + 1):
                probability[i, g] = scratch[i]


def retained_probabilities(double alpha, const double[::1] theta, const double[::1] complement,
                           Py_ssize_t n0, const Py_ssize_t[::1] reach, double[::1] retained):
    """Write retained[g] = P(H+ or H- | alpha, theta_g).

    `reach` as in sum_retained, shape (n1 + 1,).  H- is H+ with zeros and ones exchanged.
    """
    cdef Py_ssize_t n1 = reach.shape[0] - 1
    cdef double[::1] scratch0 = np.empty(n0 + 1), scratch1 = np.empty(n1 + 1)
    cdef Py_ssize_t g, i0, i1, low0, high0, low1, high1
    cdef double inner, total
    with nogil:
        for g in range(theta.shape[0]):
            fill_window(scratch0, n0, alpha, theta[g], complement[g], &low0, &high0)
            fill_window(scratch1, n1, alpha, theta[g], complement[g], &low1, &high1)
            total = 0
            # H+: sum over I1 of P(I1) times the sum of P(I0) over I0 <= reach[I1]
            inner = 0
            i0 = low0
            for i1 in range(low1, high1 + 1):
                while i0 <= min(reach[i1], high0):
                    inner += scratch0[i0]
                    i0 += 1
                total += scratch1[i1] * inner
            # H-: the same with I0 -> n0 - I0, I1 -> n1 - I1
            inner = 0
            i0 = n0 - high0
            for i1 in range(n1 - high1, n1 - low1 + 1):
                while i0 <= min(reach[i1], n0 - low0):
                    inner += scratch0[n0 - i0]
                    i0 += 1
                total += scratch1[n1 - i1] * inner
            retained[g] = total
