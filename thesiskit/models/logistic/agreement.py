"""What chains of logistic models have to agree in: all that predictions depend on.

| thesis | name | shape |
|---|---|---|
| l(x*) given a draw, shares and new coefficients in expectation | `expected` | (D, S, T) |
| sigma_1 / (sigma_1 + sigma_2), of Gaussian priors with squares | share of a group's sum | (D, .) |

The quantities are the log likelihood, the log noise of real responses, and the predictions for up
to MOST_CASES cases: real responses, or the probability of a class, with more than two each class
in its turn.  Sections "Splitting Compressed Parameters" and "Making Prediction for a Test Case".
Sigmas are not among them: those of orders that matter little may mix slowly.  Probabilities are
rounded to PLACES decimals: whether a prediction is made with certainty 1 - 1e-6 or 1 - 1e-9 changes
no result, and where patterns separate the classes, chains need long to agree in it.

A split of a sum has a mean with Cauchy priors too: its density falls with the fourth power.  So
no random number is needed here, and a chain's generator is left alone.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import expit

from thesiskit.models.patterns import Groups, Shared
from thesiskit.models.running import Arrays
from thesiskit.models.until import names_of_cases, spread

SEPARATING = 20  # draws that are tried, those with the highest likelihood
MOST_ENTRIES = 5_000_000  # of rows in groups, up to which they are tried
PLACES = 2  # decimals of probabilities that are judged


@dataclass(frozen=True)
class Probe:
    """A few cases whose predictions chains have to agree in.

    shared : what they share with the groups; case (T,) : which distinct ones, by row of it;
    names (T,) : what messages call them.
    """

    shared: Shared
    case: np.ndarray
    names: list[str]

    @classmethod
    def of_tests(cls, shared: Shared) -> "Probe":
        """Return distinct ones of the cases, evenly spread, called test cases from 1."""
        first = np.unique(shared.case_of, return_index=True)[1]
        place = np.sort(first)[spread(len(first))]
        return cls(shared, shared.case_of[place], names_of_cases("test", place))

    @classmethod
    def of_training(cls, groups: Groups, X: np.ndarray) -> "Probe":
        """Return some of the training cases X (N, .), one of a row, evenly spread."""
        first = np.sort(np.unique(groups.row_of, return_index=True)[1])
        place = first[spread(len(first))]
        shared = groups.shared(X[place])
        return cls(shared, shared.case_of, names_of_cases("training", place))


def expected(
    coefficient: np.ndarray, log_sigma: np.ndarray, probe: Probe, *, cauchy: bool
) -> np.ndarray:
    """Return E l(x) given each draw, (D, S, T), for coefficient (D, S, G), log_sigma (D, O + 1)."""
    shared = probe.shared
    kinds, kind_of = np.unique(shared.partial_kind, return_inverse=True)
    share = shares(shared, kinds, log_sigma, cauchy=cauchy)
    linear = np.empty((*coefficient.shape[:2], len(probe.case)))
    for t, d in enumerate(probe.case):
        entire = shared.whole[shared.whole_begin[d] : shared.whole_begin[d + 1]]
        part = slice(shared.partial_begin[d], shared.partial_begin[d + 1])
        # l = sum of s_g + sum of s_g * share; coefficients of new patterns have mean or median 0
        split = coefficient[:, :, shared.partial[part]] * share[:, None, kind_of[part]]
        linear[:, :, t] = _total(coefficient[:, :, entire]) + _total(split)
    return linear


def shares(shared: Shared, kinds: np.ndarray, log_sigma: np.ndarray, *, cauchy: bool) -> np.ndarray:
    """Return what a case has of a sum in expectation, (D, kinds), of kinds of partial groups."""
    power = np.exp((1 if cauchy else 2) * log_sigma)[:, None]
    first, second = (
        _total(power * counts[kinds]) for counts in (shared.shared_counts, shared.other_counts)
    )
    return first / (first + second)


def _total(values: np.ndarray) -> np.ndarray:
    """Return sums over the last axis, added one after another.

    Other sums add in an order that depends on how many draws there are: what is judged would depend
    on the blocks in which chains run.
    """
    if not values.shape[-1]:
        return np.zeros(values.shape[:-1])
    return np.add.accumulate(values, axis=-1, dtype=float)[..., -1]


def judged_probabilities(linear: np.ndarray) -> np.ndarray:
    """Return of linear functions (D, S, T) the probabilities that are compared, (D, T)."""
    if linear.shape[1] == 1:
        return expit(linear[:, 0]).round(PLACES)
    odds = np.exp(linear - linear.max(axis=1, keepdims=True))
    case = np.arange(linear.shape[2])
    chance = odds[:, case % linear.shape[1], case] / _total(np.moveaxis(odds, 1, 2))
    return chance.round(PLACES)


@dataclass(frozen=True)
class Quantities:
    """Computes what is judged from draws, (D, Q)."""

    probe: Probe
    cauchy: bool
    noise: bool

    @property
    def names(self) -> list[str]:
        """What the quantities are called, (Q,)."""
        return ["log likelihood", *["log noise"] * self.noise, *self.probe.names]

    def __call__(self, drawn: Arrays) -> np.ndarray:
        """Return the quantities of draws: coefficient, log_sigma, info, perhaps log_noise."""
        linear = expected(drawn["coefficient"], drawn["log_sigma"], self.probe, cauchy=self.cauchy)
        columns = [drawn["info"][:, 0], *([drawn["log_noise"]] if self.noise else [])]
        return np.column_stack(
            [*columns, linear[:, 0] if self.noise else judged_probabilities(linear)]
        )


def separates(linear: np.ndarray, cases: np.ndarray) -> bool:
    """Whether one of these linear functions (D, S, R) tells the classes of all cases apart.

    cases (R, K) of each row and class.  If one does, the classes can be separated, and the
    likelihood alone puts no bound on coefficients.
    """
    if linear.shape[1] == 1:
        linear = np.concatenate([np.zeros_like(linear), linear], axis=1)
    largest = linear.max(axis=1)
    # the class of a case must be above all others, without a tie
    right = (linear == largest[:, None]) & ((linear == largest[:, None]).sum(axis=1) == 1)[:, None]
    return bool((right | (cases.T == 0)).all(axis=(1, 2)).any())


def separated(
    coefficient: np.ndarray, log_likelihood: np.ndarray, groups: Groups, cases: np.ndarray
) -> bool:
    """Whether a draw of coefficient (D, S, G) is a proof that the training cases are separable.

    cases (R, K) of each row and class.  The draws with the highest log likelihood (D,) are tried.
    No other proof is looked for: where none of them separates the cases, the prior keeps the
    chains away from where only the prior bounds the coefficients.
    """
    begin, size = groups.begin, groups.end - groups.begin
    if size.sum() > MOST_ENTRIES:
        return False
    best = np.argsort(-log_likelihood, kind="stable")[:SEPARATING]
    # members of all groups in a row: those of group g are members[begin[g] : end[g]]
    entry = np.arange(size.sum()) + np.repeat(begin - np.cumsum(size) + size, size)
    place = np.repeat(np.arange(groups.n_groups), size)
    shape = (groups.n_rows, groups.n_groups)
    member = sparse.csr_matrix((np.ones(len(entry)), (groups.members[entry], place)), shape=shape)
    chosen = coefficient[best].astype(float)
    linear = np.stack([(member @ one.T).T for one in chosen])  # l(x) = sum of s_g, g in x
    return separates(linear, cases)
