# What the kernels of the mixture model share: what a sampler asks of the tables, and its draws.
#
# The tables are objects of the kernels mixture_tables and mixture_discards.  Who asks a table holds
# the object, and asks it by the functions below, so that each kernel is compiled by itself.

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport exp
from numpy.random cimport bitgen_t

ctypedef const double *(*at_nodes_t)(void *owner, Py_ssize_t m) noexcept nogil
ctypedef double *(*table_t)(void *owner, Py_ssize_t m, Py_ssize_t a) noexcept nogil
ctypedef double (*cell_at_t)(void *owner, const double *nodes, Py_ssize_t cell,
                             Py_ssize_t a) noexcept nogil
ctypedef Py_ssize_t (*first_cell_t)(void *owner, Py_ssize_t s) noexcept nogil
ctypedef const double *(*log_chance_t)(void *owner, Py_ssize_t c0, Py_ssize_t c1) noexcept nogil
ctypedef double (*chance_at_t)(void *owner, const double *nodes, Py_ssize_t a) noexcept nogil
ctypedef const double *(*entry_t)(void *owner, Py_ssize_t c0, Py_ssize_t c1) noexcept nogil

cdef enum:
    LANES = 8  # numbers that loops take together, as dot does

cdef struct MarginalsDoor:
    void *owner
    at_nodes_t at_nodes      # log m for component 1 of size m <= n / 2, (cells, nodes)
    table_t table            # the same at point a of the grid, (cells,); NaN where not known yet
    cell_at_t cell_at        # log m of a cell at point a, from what at_nodes gives
    first_cell_t first_cell  # where the cells of a total begin
    Py_ssize_t points, nodes

cdef struct ChancesDoor:
    void *owner
    log_chance_t log_chance  # log P(COR in a set) at the nodes, by the cases of each class in
    # component 1, which has at most half of all
    chance_at_t chance_at    # the same at point a of the grid, from what log_chance gives

cdef struct DiscardsDoor:
    void *owner
    entry_t entry  # log P(selection) for every alpha, by the cases of each class in component 1

cdef inline MarginalsDoor *marginals_door(object marginals) except NULL:
    return <MarginalsDoor *> PyCapsule_GetPointer(marginals.door, "thesiskit.marginals")

cdef inline ChancesDoor *chances_door(object chances) except NULL:
    return <ChancesDoor *> PyCapsule_GetPointer(chances.door, "thesiskit.chances")

cdef inline DiscardsDoor *discards_door(object discards) except NULL:
    return <DiscardsDoor *> PyCapsule_GetPointer(discards.door, "thesiskit.discards")

cdef inline const double *at_nodes(MarginalsDoor *door, Py_ssize_t m) noexcept nogil:
    return door.at_nodes(door.owner, m)

cdef inline double *table_at(MarginalsDoor *door, Py_ssize_t m, Py_ssize_t a) noexcept nogil:
    return door.table(door.owner, m, a)

cdef inline double cell_at(MarginalsDoor *door, const double *nodes, Py_ssize_t cell,
                           Py_ssize_t a) noexcept nogil:
    return door.cell_at(door.owner, nodes, cell, a)

cdef inline Py_ssize_t first_cell(MarginalsDoor *door, Py_ssize_t s) noexcept nogil:
    return door.first_cell(door.owner, s)

cdef inline const double *log_chance(ChancesDoor *door, Py_ssize_t c0,
                                     Py_ssize_t c1) noexcept nogil:
    # NULL where there is no table
    if door == NULL:
        return NULL
    return door.log_chance(door.owner, c0, c1)

cdef inline double chance_at(ChancesDoor *door, const double *nodes, Py_ssize_t a) noexcept nogil:
    return door.chance_at(door.owner, nodes, a)

cdef inline const double *log_discards(DiscardsDoor *door, Py_ssize_t c0,
                                       Py_ssize_t c1) noexcept nogil:
    return door.entry(door.owner, c0, c1)

cdef inline bitgen_t *generator(object capsule) except NULL:
    return <bitgen_t *> PyCapsule_GetPointer(capsule, "BitGenerator")

cdef inline double uniform(bitgen_t *rng) noexcept nogil:
    # in [0, 1)
    return rng.next_double(rng.state)

cdef inline Py_ssize_t categorical(double *log_weight, Py_ssize_t points, double power,
                                   bitgen_t *rng) noexcept nogil:
    # draw a position with probability proportional to exp(power log_weight), which is lost
    cdef Py_ssize_t a
    cdef double top = log_weight[0], total = 0, u
    for a in range(points):
        top = max(top, log_weight[a])
    for a in range(points):
        log_weight[a] = exp(power * (log_weight[a] - top))
        total += log_weight[a]
    u = uniform(rng) * total
    for a in range(points - 1):
        u -= log_weight[a]
        if u < 0:
            return a
    return points - 1
