"""Models to compare with the Bayesian logistic sequence model (thesis, Chapter 3).

Every method sees the same cases: a history of `order` states and the response after it.  Nothing
else is fitted (no state inside a history counts as an outcome), so independent sequences and the
windows of one text are handled alike, and no context runs from one sequence into another.

| method              | by                        | what keeps P(class) above 0                   |
|---------------------|---------------------------|-----------------------------------------------|
| vlmc                | vlmc                      | 1/2 on every count (Jeffreys) in the leaf     |
| ppm                 | arithmetic-compressor     | a floor of 1/4096 in each context, normalized |
| context-tree        | bayesml                   | 1/2 on every count, averaged over trees       |
| n-gram              | the functions below       | interpolation down to the uniform             |
| logistic-regression | scikit-learn              | one more case, shared by the classes equally  |
| gradient-boosting   | scikit-learn              | one more case, shared by the classes equally  |
"""

import importlib
import importlib.util
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

from thesiskit.errors import DataError, UserError

METHODS: tuple[str, ...] = (
    "vlmc",
    "ppm",
    "context-tree",
    "n-gram",
    "logistic-regression",
    "gradient-boosting",
)
_OPTIONAL = {"vlmc": "vlmc", "ppm": "arithmetic_compressor", "context-tree": "bayesml"}
_MODULES = {
    "vlmc": ("vlmc",),
    "ppm": ("arithmetic_compressor.models",),
    "context-tree": ("bayesml.contexttree",),
    "n-gram": (),
    "logistic-regression": ("thesiskit.models.peers.scikit",),
    "gradient-boosting": ("thesiskit.models.peers.scikit",),
}
# the weight that the package's PPM model gives to the past at each update; its own is the last
_PPM_RATES = tuple(1 - 2.0**-j for j in range(1, 11))


def missing(methods: Iterable[str]) -> list[str]:
    """Return those of the methods whose optional package is not installed; import nothing."""
    methods = list(methods)
    for method in methods:
        if method not in METHODS:
            raise UserError(f"unknown method {method}: choose from {', '.join(METHODS)}")
    return [m for m in methods if m in _OPTIONAL and importlib.util.find_spec(_OPTIONAL[m]) is None]


def load(methods: Iterable[str]) -> None:
    """Import what the methods need, so that it is not counted in the time of the first fit."""
    methods = list(methods)
    absent = missing(methods)
    if absent:
        raise UserError(_advice(absent))
    for method in methods:
        for module in _MODULES[method]:
            try:
                importlib.import_module(module)
            except ImportError as error:
                raise UserError(f"{_advice([method])} ({error})") from error


def _advice(methods: list[str]) -> str:
    return f'{", ".join(methods)}: a package is missing: pip install "thesiskit[peers]"'


def fit_predict(
    method: str,
    order: int,
    train: np.ndarray,
    response: np.ndarray,
    test: np.ndarray,
    n_states: int,
    n_classes: int,
    seed: int,
) -> np.ndarray:
    """Return P(class) for the test histories, (T, n_classes): positive, each row summing to 1.

    `train` (n, length) and `test` (T, length) hold states 0..n_states-1 in order of time, of which
    the last `order` are used; `response` (n,) holds classes 0..n_classes-1.  `seed` matters to the
    folds of n-gram and logistic-regression and the validation cases of gradient-boosting alone.
    Raises UserError for an unknown method, an impossible order or a missing package, DataError for
    no training case.
    """
    load([method])
    length = min(train.shape[1], test.shape[1])
    if not 0 <= order <= length:
        raise UserError(f"order is {order}, but the histories hold {length} states")
    if len(train) == 0:
        raise DataError(f"{method} needs at least one training case")
    if n_classes == 1:
        return np.ones((len(test), 1))
    train = np.asarray(train[:, train.shape[1] - order :], dtype=np.int64)
    test = np.asarray(test[:, test.shape[1] - order :], dtype=np.int64)
    response = np.asarray(response, dtype=np.int64)
    if method == "n-gram":
        return _n_gram(train, response, test, n_states, n_classes, seed)
    if method in ("logistic-regression", "gradient-boosting"):
        return _scikit_learn(method, train, response, test, n_states, n_classes, seed)
    # these three predict in Python, one history at a time: each different history once
    histories, where = np.unique(test, axis=0, return_inverse=True)
    if method == "ppm":
        answer = _ppm(train, response, histories, n_classes)
    else:  # one alphabet for states and classes: what is no class is cut off afterwards
        symbols = max(n_states, n_classes)
        fit = _vlmc if method == "vlmc" else _context_tree
        answer = fit(train, response, histories, symbols)[:, :n_classes]
    return (answer / answer.sum(axis=1, keepdims=True))[where.reshape(-1)]


def _vlmc(train: np.ndarray, response: np.ndarray, test: np.ndarray, symbols: int) -> np.ndarray:
    """Bayesian context tree: the most probable tree (Kontoyiannis et al. 2022), its leaf's counts.

    The defaults of vlmc.VLMC: method "bct", beta = 1 - 2^(1 - symbols).  It conditions on the
    first `order` symbols of each sequence, so a sequence of order + 1 gives one outcome.
    """
    from vlmc import VLMC

    model = VLMC(alphabet_size=symbols, max_depth=train.shape[1])
    model.fit(np.column_stack([train, response]).tolist())
    return np.array([model.predict_proba(history) for history in test.tolist()])


def _ppm(train: np.ndarray, response: np.ndarray, test: np.ndarray, n_classes: int) -> np.ndarray:
    """Longest context seen, as arithmetic_compressor.models.PPMModel has it.

    Its tables hold no counts and it has no escapes: P moves by 1 - update_rate to each symbol seen.
    The package's own rate, 1 - 2^-10, is for streams of many thousand symbols and predicts worse
    than the base rate after a thousand, so the rate is the one of 1 - 2^-1, ..., 1 - 2^-10 that
    predicted the training responses best, each from those before it.  `context` is set before each
    update, and predictions read the tables without an update.
    """
    from arithmetic_compressor.models import PPMModel

    def text(codes: list[int]) -> str:  # one character a symbol: contexts are strings there
        return "".join(chr(0x100 + code) for code in codes)

    def probabilities(history: str) -> np.ndarray:
        table = model.get_context_probability(history)
        p = np.array([table[symbol] for symbol in classes])
        return p / p.sum()

    classes = list(text(list(range(n_classes))))
    contexts, answers = [text(row) for row in train.tolist()], [text(row) for row in test.tolist()]
    best, result = -np.inf, np.empty(0)
    for rate in _PPM_RATES:
        model = PPMModel(classes, k=train.shape[1])
        model.update_rate = rate
        score = 0.0
        for context, c in zip(contexts, response.tolist(), strict=True):
            score += np.log(probabilities(context)[c])
            model.context = context
            model.update(classes[c])
        if score > best:
            best, result = score, np.array([probabilities(history) for history in answers])
    return result


def _context_tree(
    train: np.ndarray, response: np.ndarray, test: np.ndarray, symbols: int
) -> np.ndarray:
    """Bayes average over all context trees (Matsushima and Hirasawa 2009), bayesml's defaults.

    Each node splits with prior probability 1/2.  bayesml reads the last entry of what it is given
    as the symbol to predict, also where it only predicts: there it is a dummy.
    """
    from bayesml.contexttree import LearnModel

    model = LearnModel(c_k=symbols, c_d_max=max(train.shape[1], 1))
    for case in np.column_stack([train, response]):
        model.pred_and_update(case)
    dummy = np.column_stack([test, np.zeros(len(test), dtype=np.int64)])
    return np.array([model.calc_pred_dist(case).make_prediction().copy() for case in dummy])


def n_grams(
    train: np.ndarray, response: np.ndarray, test: np.ndarray, n_states: int, n_classes: int
) -> Iterator[np.ndarray]:
    """Yield interpolated n-grams (Witten and Bell 1991, method C) of orders 0, 1, ..., (T, K) each.

    P_m(c | h) = (count(h, c) + T(h) P_{m-1}(c | h')) / (count(h) + T(h)), where h' is h without
    its oldest state and T(h) the number of classes seen after h; unseen h leaves P_{m-1}, and
    P_{-1} is uniform.
    """
    histories = np.concatenate([train, test])
    context = np.zeros(len(histories), dtype=np.int64)  # a number for each different context
    p = np.full((len(test), n_classes), 1 / n_classes)
    for m in range(train.shape[1] + 1):
        if m > 0:
            longer = context * n_states + histories[:, -m]
            context = np.unique(longer, return_inverse=True)[1].reshape(-1)
        counts = np.zeros((context.max() + 1, n_classes))
        np.add.at(counts, (context[: len(train)], response), 1)
        seen = counts[context[len(train) :]]
        types = np.count_nonzero(seen, axis=1)[:, None]
        total = seen.sum(axis=1, keepdims=True) + types
        p = np.where(total > 0, (seen + types * p) / np.maximum(total, 1), p)
        yield p


def _n_gram(
    train: np.ndarray,
    response: np.ndarray,
    test: np.ndarray,
    n_states: int,
    n_classes: int,
    seed: int,
) -> np.ndarray:
    """Interpolated n-gram of the order that predicts best in five folds of the training cases.

    A context seen once takes half the weight at every level, so that long ones are overconfident.
    """
    fold = np.random.default_rng(seed).permutation(len(train)) % 5
    losses = np.zeros(train.shape[1] + 1)
    for f in range(min(5, len(train)) if len(train) > 1 else 0):
        out = fold == f
        models = n_grams(train[~out], response[~out], train[out], n_states, n_classes)
        for order, p in enumerate(models):
            losses[order] -= np.log(p[np.arange(out.sum()), response[out]]).sum()
    models = n_grams(train, response, test, n_states, n_classes)
    return next(islice(models, int(losses.argmin()), None))


def _scikit_learn(
    method: str,
    train: np.ndarray,
    response: np.ndarray,
    test: np.ndarray,
    n_states: int,
    n_classes: int,
    seed: int,
) -> np.ndarray:
    """scikit-learn's models of one-hot states (logistic-regression) or categorical ones."""
    from thesiskit.models.peers import scikit as scikit_peers

    if method == "gradient-boosting":
        model = scikit_peers.gradient_boosting(train.shape[1], response, seed)
    else:
        model = scikit_peers.logistic_regression(response, seed)
        train, test = (scikit_peers.one_hot(one, n_states).toarray() for one in (train, test))
    return scikit_peers.predict_classes(model, train, response, test, n_classes)
