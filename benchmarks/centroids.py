"""Shrunken centroids, a method that benchmarks/studies.py compares with."""

import numpy as np
from scipy import special

from thesiskit.models.peers import REALS, Peer, _folds

THRESHOLDS = 30  # from 0 to that which shrinks all to one centroid


class NearestCentroids(Peer):
    """Shrunken centroids of Tibshirani, Hastie, Narasimhan and Chu (2002, PNAS 99, 6567-6572).

    scikit-learn's NearestCentroid has the same centroids, but its log odds are more than twice
    those of the paper.  The threshold has the lowest log loss in folds.
    """

    words, takes = "nearest shrunken centroids", (REALS,)

    def learn(self, task, columns, response, seed):
        distance = centroids(columns, response)[-1]
        thresholds = np.linspace(0, np.abs(distance).max(), THRESHOLDS)
        folds = _folds(response, seed, task.groups)
        if folds is None:  # a class has one sample
            best = THRESHOLDS // 2
        else:
            loss = np.zeros(THRESHOLDS)
            for train, test in folds:
                given = centroids(columns[train], response[train])
                for i, threshold in enumerate(thresholds):
                    fitted = shrunken(given, response[train], threshold)
                    p = self.answer(fitted, columns[test])[np.arange(len(test)), response[test]]
                    loss[i] -= np.log(np.maximum(p, np.finfo(float).eps)).sum()
            best = int(loss.argmin())
        return shrunken(centroids(columns, response), response, thresholds[best])

    def answer(self, learnt, columns):
        centroid = learnt["centroid"]
        samples = (columns - learnt["mean"]) / learnt["deviation"]
        score = samples @ centroid.T - (centroid**2).sum(axis=1) / 2 + learnt["log_prior"]
        return special.softmax(score, axis=1)


def centroids(columns, codes):
    """Return mean and deviation of columns, (p,), and errors and distances of classes, (G, p).

    The deviation is that within classes plus the median of these; the standard error of a class
    follows from it, and is the unit of the distance of the class from the mean.
    """
    n, counts = len(columns), np.bincount(codes)
    classes = range(len(counts))
    means = np.array([columns[codes == g].mean(axis=0) for g in classes])
    within = sum(((columns[codes == g] - means[g]) ** 2).sum(axis=0) for g in classes)
    deviation = np.sqrt(within / max(1, n - len(counts)))
    median = np.median(deviation)
    deviation = deviation + (median if median > 0 else deviation.mean() or 1.0)
    mean, error = columns.mean(axis=0), np.sqrt(1 / counts - 1 / n)[:, None] * deviation
    return mean, deviation, error, (means - mean) / error


def shrunken(given, codes, threshold):
    """Return the fit with a threshold."""
    mean, deviation, error, distance = given
    centroid = np.sign(distance) * np.maximum(np.abs(distance) - threshold, 0) * error / deviation
    log_prior = np.log(np.bincount(codes) / len(codes))
    return {"mean": mean, "deviation": deviation, "log_prior": log_prior, "centroid": centroid}
