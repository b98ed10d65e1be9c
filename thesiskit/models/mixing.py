"""Sequences by mixing: a logistic model of the same contexts as chapter 3's, of all orders at once.

| symbol | name | shape |
|---|---|---|
| contexts of 0 to D states | `nodes` | (N, 5) |
| classes that followed each, with counts | `entries` | (E, 3) |
| n_d(k), how often class k followed the last d states | a count in `entries` | |
| w, by members | `weights` | (W, M) |
| K | number of classes | scalar |
| P(k) of a member, softmax of sum_d w_d log(1 + K n_d(k)) | `probability` | (T, K) |

In chapter 3 each pattern has a coefficient of its own; here it has the logs of its counts, and a
weight that it shares with other patterns.  Up to a constant, log(1 + K n) is the log of the
relative frequency with 1 / K added to each count.  A weight w_d depends on d, on a power of two of
the visits of the context, and on whether one, two or more classes followed it.  It is the sum of
five numbers: for each length of the longest context with ENOUGH visits, each of the last three
states, and the number of known contexts.

Samples are learnt in their order, each once: it is predicted, and the weights take a step along the
gradient of the log of the predicted probability.  After a block of samples their responses are
counted, and the path of each gets longer by at most one context.  So a sample is predicted from
those of the blocks before it: a text resembles itself nearby, and weights that were learnt from the
nearest samples would trust counts too much where new ones are far away.  Nothing changes when new
samples are predicted.  A member has a step of its own, and predictions are means over members.

Our own method; mixing by gradient steps is that of Mattern (2013, Data Compression Conference,
"Linear and geometric mixtures").
"""

from dataclasses import dataclass

import numpy as np

from thesiskit._kernels import mixing as kernel  # type: ignore[attr-defined]
from thesiskit.errors import DataError, UserError
from thesiskit.models.base import Arrays, check, shaped

MOST_ORDER, MOST_CLASSES, MOST_SAMPLES = 64, 256, 2**30
STEPS = (0.001, 0.01)  # of the members; the mean needs no choice by the training loss
SETTLED = 10_000  # samples for which STEPS are; with more they fall as the cube root
PACE = 0.15  # of the samples: after that many a step is half as long
START = 0.4  # of the weights, over the root of the number of contexts of a path; of few: sum 1
BLOCK, MOST_BLOCK = 0.06, 3_000  # of the samples, counted together; at most
ENOUGH = 8  # visits that make a context reliable
TABLED = 4096  # counts whose logs are kept
TOGETHER = 64  # new samples whose contexts are looked up together
BYTES = 90  # a sample, at most, of text: contexts, and counts while these are moved
STORED = {"nodes": (np.int32, "N F"), "entries": (np.int32, "E C"), "weights": (float, "W M")}


def check_sizes(order: int, n_states: int, n_classes: int) -> None:
    """Raise UserError for an order or an alphabet that the model does not take."""
    if order > MOST_ORDER:
        raise UserError(f"order {order} is above {MOST_ORDER}, the most of mixing. Fix: lower it")
    for number, unit in ((n_states, "states"), (n_classes, "classes")):
        if number > MOST_CLASSES:
            fix = "Fix: merge the rare ones"
            raise UserError(f"{number:,} {unit}; mixing takes at most {MOST_CLASSES}. {fix}")
    if n_classes < 2:
        raise DataError("there is one class; there is nothing to predict. Fix: add samples")


def memory(n: int, order: int, n_states: int, n_classes: int) -> int:
    """Return the bytes that fitting n samples takes at most, without the samples themselves."""
    per_member = kernel.n_weights(order, n_states)[1] + (order + 1) * n_classes
    of_block = 48 * min(MOST_BLOCK, int(BLOCK * n)) * (order + 2)
    return BYTES * n + of_block + 8 * len(STEPS) * per_member


@dataclass(frozen=True)
class Mixed:
    """A fitted model.

    arrays : nodes, entries and weights; `restore` takes them.
    loss : of the training samples, each before it was learnt, (n,); empty of a restored model.
    """

    order: int
    n_states: int
    n_classes: int
    arrays: Arrays
    loss: np.ndarray

    def predict(self, histories: np.ndarray) -> np.ndarray:
        """Return the probabilities of the classes, (T, K), for histories (T, L >= order).

        A state that no training history had ends the context: the known ones after it predict.
        """
        # the kernel takes copies of arrays that are mapped from a file
        arrays = [np.require(self.arrays[name], requirements="W") for name in STORED]
        *tree, weights = arrays
        sizes = self.order, self.n_states, self.n_classes
        mixer = kernel.Mixer(*sizes, ENOUGH, weights, TABLED, TOGETHER)
        mixer.hold(*tree)
        answer = np.empty((len(histories), self.n_classes))
        mixer.mean_probability(histories.astype(np.int32, copy=False), answer)
        return answer

    @classmethod
    def restore(cls, arrays: Arrays, order: int, n_states: int, n_classes: int) -> "Mixed":
        """Return the model of the arrays of a file; ValueError for what a kernel cannot take."""
        check_sizes(order, n_states, n_classes)
        sizes = {
            "F": kernel.NODE,
            "C": kernel.ENTRY_WIDTH,
            "W": kernel.n_weights(order, n_states)[1],
        }
        stored = shaped(arrays, STORED, **sizes)
        stored = {name: np.ascontiguousarray(array) for name, array in stored.items()}
        nodes, entries = stored["nodes"], stored["entries"]
        check(len(nodes) and len(entries) and (nodes >= 0).all() and (entries >= 0).all())
        place, (child, sibling, state, entry, _) = np.arange(len(nodes)), nodes.T
        check((child < len(nodes)).all() and ((child == 0) | (child > place)).all())
        check(((sibling == 0) | (sibling < place)).all() and (state < max(1, n_states)).all())
        of_class, _, following = entries.T
        check((entry < len(entries)).all() and (of_class < n_classes).all())
        check((following[1:] < np.arange(1, len(entries))).all())
        check(stored["weights"].shape[1] > 0)
        return cls(order, n_states, n_classes, stored, np.empty(0))


def fit(
    histories: np.ndarray, response: np.ndarray, order: int, n_states: int, n_classes: int
) -> Mixed:
    """Learn from samples in their order.

    Parameters
    ----------
    histories : (n, L >= order) states 0 to n_states - 1, the last column most recent; windows of
        one sequence are not copied.
    response : (n,) classes 0 to n_classes - 1.

    Raises
    ------
    UserError: the order is above MOST_ORDER, or the length, or there are too many states.
    DataError: there is one class, or no sample.
    """
    check_sizes(order, n_states, n_classes)
    n, length = histories.shape
    if n == 0:
        raise DataError("there are no training samples. Fix: add some")
    if n > MOST_SAMPLES:
        raise UserError(f"{n:,} samples; mixing takes at most {MOST_SAMPLES:,}. Fix: use fewer")
    if not 0 <= order <= length:
        fix = "Fix: lower the order, or use longer histories"
        raise UserError(f"order {order}, but the histories have {length} states. {fix}")
    start = max(1 / (order + 1), START / np.sqrt(order + 1))
    by_length, n_weights = kernel.n_weights(order, n_states)
    weights = np.zeros((n_weights, len(STEPS)))
    weights[:by_length] = start
    steps, loss = np.array(STEPS) * np.cbrt(SETTLED / n), np.empty(n)
    block, n_learnt = max(1, min(MOST_BLOCK, int(BLOCK * n))), 0
    mixer = kernel.Mixer(order, n_states, n_classes, ENOUGH, weights, TABLED, block)
    nodes = np.zeros((n + 1, kernel.NODE), dtype=np.int32)
    entries = np.zeros((n + block * (order + 2) + 1, kernel.ENTRY_WIDTH), dtype=np.int32)
    samples = histories.astype(np.int32, copy=False), np.ascontiguousarray(response, dtype=np.int32)
    while True:
        mixer.hold(nodes, entries)
        n_learnt = mixer.learn(*samples, steps, PACE * n, loss, n_learnt)
        if n_learnt == n:
            break
        entries = np.concatenate([entries, np.zeros_like(entries)])
    arrays = {"nodes": nodes[: mixer.n_nodes].copy(), "entries": entries[: mixer.n_entries].copy()}
    return Mixed(order, n_states, n_classes, arrays | {"weights": weights}, loss)
