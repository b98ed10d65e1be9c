"""Methods that need a package of one author, or that no page shows, beside ours.

    pip install arithmetic-compressor bayesml vlmc
    python benchmarks/rivals.py hmm text            # sequences: vlmc, ppm, context-tree
    python benchmarks/rivals.py tic-tac-toe         # discrete features: boost, pairwise

For each config it prints the log loss and the error rate of each method on the test samples of the
first divisions: the same samples as the config's own methods have.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import PolynomialFeatures

from thesiskit.config import load_config
from thesiskit.models.peers import CS, logistic_regression, one_hot
from thesiskit.pairs.interactions import _Walk as Walk
from thesiskit.pairs.planes import MOST_VALUES, Planes
from thesiskit.registry import find
from thesiskit.study.patterns import PatternDesign

DIVISIONS = 3  # of a config
SEED = 1
PAIRS = 10  # of boost
PAIRWISE_CS = np.logspace(-5, 3, 9)  # more columns, more shrinkage
# the weight that the package's PPM model gives to the past at each update; its own is the last
PPM_RATES = tuple(1 - 2.0**-j for j in range(1, 11))


# ---- sequences ----


def vlmc(train: np.ndarray, response: np.ndarray, test: np.ndarray, symbols: int) -> np.ndarray:
    """Bayesian context tree: the most probable tree (Kontoyiannis et al. 2022), its leaf's counts.

    The defaults of vlmc.VLMC: method "bct", beta = 1 - 2^(1 - symbols).  It conditions on the
    first `order` symbols of each sequence, so a sequence of order + 1 gives one outcome.  1/2 is
    added to every count in the leaf (Jeffreys).
    """
    from vlmc import VLMC

    model = VLMC(alphabet_size=symbols, max_depth=train.shape[1])
    model.fit(np.column_stack([train, response]).tolist())
    return np.array([model.predict_proba(history) for history in test.tolist()])


def ppm(train: np.ndarray, response: np.ndarray, test: np.ndarray, n_classes: int) -> np.ndarray:
    """Longest context seen, as arithmetic_compressor.models.PPMModel has it.

    Its tables hold no counts and it has no escapes: P moves by 1 - update_rate to each symbol seen,
    and has a floor of 1/4096 in each context.  The package's own rate, 1 - 2^-10, is for streams of
    many thousand symbols and predicts worse than the base rate after a thousand, so the rate is the
    one of 1 - 2^-1, ..., 1 - 2^-10 that predicted the training responses best, each from those
    before it.  `context` is set before each update, and predictions read the tables without an
    update.
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
    for rate in PPM_RATES:
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


def context_tree(
    train: np.ndarray, response: np.ndarray, test: np.ndarray, symbols: int
) -> np.ndarray:
    """Bayes average over all context trees (Matsushima and Hirasawa 2009), bayesml's defaults.

    Each node splits with prior probability 1/2.  bayesml reads the last entry of what it is given
    as the symbol to predict, also where it only predicts: there it is a dummy.
    """
    from bayesml.contexttree import LearnModel

    model = LearnModel(c_k=symbols, c_d_max=max(train.shape[1], 1))
    for sample in np.column_stack([train, response]):
        model.pred_and_update(sample)
    dummy = np.column_stack([test, np.zeros(len(test), dtype=np.int64)])
    return np.array([model.calc_pred_dist(sample).make_prediction().copy() for sample in dummy])


# ---- discrete features ----


def boost_pairs(planes: Planes, k: int, form: int = -1) -> tuple[np.ndarray, np.ndarray]:
    """Return the k pairs of features with the largest interaction by BOOST, and its statistic.

    Wan et al. (2010, American Journal of Human Genetics 87, 325): twice the log likelihood ratio of
    the table of both features and the class to Kirkwood's superposition approximation of it, made
    of its margins of two; over the samples where both features are known.

    Returns
    -------
    pairs : (k, 2) columns, the smaller one first, by falling statistic, then by column; fewer if
        there are fewer pairs.
    statistic : (k,).
    """
    places = np.flatnonzero(planes.feature >= 0)
    walk, most = Walk(planes, places, len(places), 2), int(planes.values.max())
    pairs, statistic = np.empty((0, 2), dtype=np.int64), np.empty(0)
    for block in walk.blocks():
        for rows, _ in walk.scan_block(block, form):
            if not len(rows):
                continue
            key, which = np.unique(rows[:, 0] * len(walk.rank) + rows[:, 1], return_inverse=True)
            u, v, _ = walk.cells(rows)
            table = np.zeros((len(key), most, most, 2))
            table[which, u, v] = rows[:, 3:5]
            first, second = np.divmod(key, len(walk.rank))
            names = planes.feature[np.column_stack([block[1][first], second])]
            pairs = np.concatenate([pairs, np.sort(names, axis=1)])
            statistic = np.concatenate([statistic, kirkwood(table)])
            best = np.lexsort((pairs[:, 1], pairs[:, 0], -statistic))[:k]
            pairs, statistic = pairs[best], statistic[best]
    return pairs, statistic


def kirkwood(table: np.ndarray) -> np.ndarray:
    """Return 2 sum n_uvc log(n_uvc / m_uvc) of tables of counts n, (m, u, v, c).

    m_uvc is proportional to n_uv. n_u.c n_.vc / (n_u.. n_.v. n_..c), and has the same sum as n.
    """
    total = table.sum(axis=(1, 2, 3), keepdims=True)
    expected = np.ones_like(table)
    for axis in (1, 2, 3):
        expected *= table.sum(axis=axis, keepdims=True)
    for axes in ((2, 3), (1, 3), (1, 2)):
        margin = table.sum(axis=axes, keepdims=True)
        np.divide(expected, margin, out=expected, where=margin > 0)
    expected *= total / expected.sum(axis=(1, 2, 3), keepdims=True)
    ratio = np.divide(table, expected, out=np.ones_like(table), where=table > 0)
    return 2 * (table * np.log(ratio)).sum(axis=(1, 2, 3))


def boost(train: np.ndarray, response: np.ndarray, test: np.ndarray, n_values: list) -> np.ndarray:
    """Logistic regression of the cells of the PAIRS pairs that BOOST ranks first.

    Of more than two classes it is the most frequent one against the others that ranks them.
    """
    known = np.where(train < np.minimum(n_values, MOST_VALUES), train, -1)
    first = response == np.bincount(response).argmax()
    pairs, _ = boost_pairs(Planes.pack(known, first.astype(np.int64)), PAIRS)
    sizes = np.asarray(n_values)[pairs] + 1  # missing is a value, too

    def cells(codes: np.ndarray) -> Any:
        codes = np.where(codes < 0, n_values, codes)
        numbers = codes[:, pairs[:, 0]] * sizes[:, 1] + codes[:, pairs[:, 1]]
        return one_hot(numbers.astype(np.int64), sizes.prod(axis=1))

    model = logistic_regression(cells(train), response, SEED, CS)
    return model.predict_proba(cells(test))


def pairwise(
    train: np.ndarray, response: np.ndarray, test: np.ndarray, n_values: list
) -> np.ndarray:
    """Logistic regression of one-hot features and all products of two of them."""
    expand = PolynomialFeatures(2, interaction_only=True, include_bias=False)
    columns = expand.fit_transform(one_hot(train, n_values))
    used = np.unique(columns.nonzero()[1])
    model = logistic_regression(columns[:, used], response, SEED, PAIRWISE_CS)
    return model.predict_proba(expand.transform(one_hot(test, n_values))[:, used])


# ---- configs ----


def predictions(design: PatternDesign, division: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return P(class) of the test samples by method, (T, K) each, and their classes, (T,)."""
    samples = design.samples(division)
    train, response, test = samples.train, samples.train_response, samples.test
    (*_, codes) = samples.patterns.names
    if samples.patterns.kind == "features":
        n_values = [len(symbols) for symbols in codes]
        found = {
            method.__name__: method(train, response, test, n_values) for method in (boost, pairwise)
        }
        return found, samples.test_response
    classes, symbols = len(samples.classes), max(len(codes), len(samples.classes))
    train, test = (np.where(table < len(codes), table, -1) for table in (train, test))
    found = {
        "vlmc": vlmc(train, response, test, symbols)[:, :classes],
        "context-tree": context_tree(train, response, test, symbols)[:, :classes],
        "ppm": ppm(train, response, test, classes),
    }
    return {name: p / p.sum(axis=1, keepdims=True) for name, p in found.items()}, (
        samples.test_response
    )


def main() -> None:
    """Print the scores of the methods for the configs that are named."""
    print("config,division,method,log_loss,error")
    for name in sys.argv[1:]:
        config = load_config(find(name)[0])
        design = PatternDesign(config, Path.cwd())
        for division in range(min(DIVISIONS, config.divisions)):
            by_method, response = predictions(design, division)
            for method, p in by_method.items():
                loss = -np.log(p[np.arange(len(response)), response]).mean()
                error = (p.argmax(axis=1) != response).mean()
                print(f"{name},{division + 1},{method},{loss:.4f},{error:.4f}", flush=True)


if __name__ == "__main__":
    main()
