"""An example of each public estimator and function, for the pages of the Python interface.

A cell begins with the package and the names that it is an example of.  Each runs by itself, when
the site is made and in the tests.
"""
# ruff: noqa: E402, I001

# %% thesiskit.estimators NaiveBayesClassifier MedianBinarizer
import numpy as np
from sklearn.pipeline import make_pipeline
from thesiskit.estimators import MedianBinarizer, NaiveBayesClassifier

rng = np.random.default_rng(0)
X, y = rng.normal(size=(100, 2000)), np.repeat([0, 1], 50)
X[:, :5] += y[:, None]  # five features differ between the classes
model = make_pipeline(MedianBinarizer(), NaiveBayesClassifier(n_features=20)).fit(X, y)
print(model.predict_proba(X[:3]).round(2))
print(model[-1].relevance_.round(1))

# %% thesiskit.estimators NormalClassifier
import numpy as np
from thesiskit.estimators import NormalClassifier

rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 500)), np.repeat(["a", "b", "c"], 20)
X[y == "b", :3] += 2
X[y == "c", :3] -= 2
model = NormalClassifier(n_features=10, random_state=0).fit(X, y)
print(model.classes_, model.predict_proba(X[:1]).round(3))
print(model.effects_.round(1).head(3))  # raw and corrected, with intervals

# %% thesiskit.estimators PoolClassifier
import numpy as np
from thesiskit.estimators import PoolClassifier

rng = np.random.default_rng(0)
y = np.repeat([0, 1], 30)
X = rng.normal(size=(60, 50)) + rng.normal(size=(60, 1)) + 0.5 * y[:, None] * rng.normal(size=50)
model = PoolClassifier(random_state=0).fit(X, y)
print(model.predict(X[:5]), model.power_.round(1))

# %% thesiskit.estimators MixtureClassifier
import numpy as np
from thesiskit.estimators import MixtureClassifier

rng = np.random.default_rng(0)
y = np.repeat([0, 1], 20)
X = (rng.random((40, 300)) < np.where(y[:, None] & (np.arange(300) < 30), 0.8, 0.3)).astype(int)
model = MixtureClassifier(n_features=5, iterations=200, burn_in=50, chains=2, random_state=0)
print(model.fit(X, y).predict_proba(X[[0, -1]]).round(2))

# %% thesiskit.estimators NormalRegressor
import numpy as np
from thesiskit.estimators import NormalRegressor

rng = np.random.default_rng(0)
y = rng.normal(size=50)
X = rng.normal(size=(50, 200))
X[:, :5] += y[:, None]
model = NormalRegressor(random_state=0).fit(X, y)
print(model.predict_interval(X[:3], level=0.9).round(1))

# %% thesiskit.estimators PoolRegressor
import numpy as np
from thesiskit.estimators import PoolRegressor

rng = np.random.default_rng(0)
y = rng.normal(size=50)
X = rng.normal(size=(50, 200))
X[:, :5] += y[:, None]
mean, sd = PoolRegressor(random_state=0).fit(X, y).predict(X[:3], return_std=True)
print(mean.round(1), sd.round(1))

# %% thesiskit.estimators SelectingClassifier
import numpy as np
from thesiskit.estimators import SelectingClassifier
from thesiskit.models.naive_bayes import NaiveBayes


class Relevant(SelectingClassifier):
    """Naive Bayes where few features are relevant."""

    model_class = NaiveBayes

    def __init__(self, n_features=10, *, relevant="some", random_state=None):
        self.n_features = n_features
        self.relevant = relevant
        self.random_state = random_state


rng = np.random.default_rng(0)
X, y = rng.integers(0, 2, (60, 200)), np.repeat([0, 1], 30)
print(Relevant(n_features=5).fit(X, y).predict_proba(X[:2]).round(2))

# %% thesiskit.estimators InteractionClassifier
import numpy as np
from thesiskit.estimators import InteractionClassifier

rng = np.random.default_rng(0)
X = rng.choice(["AA", "Aa", "aa"], (200, 4))
y = np.where(X[:, 0] == X[:, 1], "case", "control")  # the first two matter together
model = InteractionClassifier(2, iterations=300, burn_in=100, random_state=0).fit(X, y)
print(model.largest(3)[["pattern", "samples", "class", "median"]])

# %% thesiskit.estimators InteractionRegressor
import numpy as np
from thesiskit.estimators import InteractionRegressor

rng = np.random.default_rng(0)
X = rng.integers(0, 3, (150, 4))
y = 2.0 * (X[:, 0] == X[:, 1]) + rng.normal(size=150)
model = InteractionRegressor(2, iterations=300, burn_in=100, random_state=0).fit(X, y)
print(model.predict_quantiles(X[:2], [0.05, 0.5, 0.95]).round(1), round(model.noise_, 1))

# %% thesiskit.estimators SequenceClassifier
import numpy as np
from thesiskit.estimators import SequenceClassifier

states = np.array(["abac"[t % 4] for t in range(300)])
X = np.lib.stride_tricks.sliding_window_view(states, 3)
model = SequenceClassifier("all", iterations=200, burn_in=50, random_state=0)
model.fit(X[:-1], states[3:])
print(model.classes_, model.predict_proba([["a", "b", "a"]]).round(2))

# %% thesiskit.fitted load_model FittedModel
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import thesiskit
from thesiskit.cli import main

with TemporaryDirectory() as folder, redirect_stdout(StringIO()):
    file = Path(folder) / "tumours.model"
    command = ["export", "breast-cancer", str(file), "--method", "3 corrected exact"]
    main([*command, "--results", folder, "--jobs", "0"], standalone_mode=False)
    model = thesiskit.load_model(file)
print(model.classes, list(model.methods), model.shares({"malignant": 0.05}))

# %% thesiskit.models.selection select_features Selection Screened
import numpy as np
from thesiskit.models.selection import select_features

rng = np.random.default_rng(0)
X, y = rng.integers(0, 2, (40, 500)), np.repeat([0, 1], 20)
selection = select_features(X, y, 3, rng)
print(selection.selected, np.sqrt(float(selection.gamma_squared)).round(2))

# %% thesiskit.models.selection select_by_f FSelection
import numpy as np
from thesiskit.models.selection import select_by_f

rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 500)), np.repeat([0, 1, 2], 20)
selection = select_by_f(X, y, 3, rng)
print(selection.selected, round(float(selection.threshold), 1))

# %% thesiskit.models.selection squared_correlation
from thesiskit.models.selection import squared_correlation

print(squared_correlation(2, 11, 8, 14))  # 2 of 8 ones in class 0, and 11 of 14 in class 1

# %% thesiskit.models.selection correlation_lattice
from thesiskit.models.selection import correlation_lattice

correlation, kind = correlation_lattice(4, 5, "0.5")
print(correlation.round(1))
print(kind)

# %% thesiskit.models.selection f_limits correlation_of_f
from fractions import Fraction
import numpy as np
from thesiskit.models.selection import correlation_of_f, f_limits

counts = np.array([[20, 30], [14, 21]])  # of two features, one of which has missing values
f = f_limits(Fraction(16, 100), counts)
print(f.round(2), correlation_of_f(f, counts))

# %% thesiskit.models.naive_bayes NaiveBayes fit predict predict_log_odds
import numpy as np
from thesiskit.models.naive_bayes import NaiveBayes, fit, predict, predict_log_odds
from thesiskit.models.selection import select_features

rng = np.random.default_rng(0)
X, y = rng.integers(0, 2, (60, 1000)), np.repeat([0, 1], 30)  # useless features
selection = select_features(X, y, 10, rng)
for correct in (False, True):
    posterior = fit(selection, NaiveBayes(), correct=correct)
    print(correct, predict(posterior, X[:3, selection.selected]).round(2))
print(predict_log_odds(posterior, X[:3, selection.selected]).round(2))

# %% thesiskit.models.naive_bayes log_alpha_density NaiveBayesPosterior
import numpy as np
from thesiskit.models.naive_bayes import NaiveBayes, fit, log_alpha_density
from thesiskit.models.selection import select_features

rng = np.random.default_rng(0)
X, y = rng.integers(0, 2, (60, 1000)), np.repeat([0, 1], 30)
posterior = fit(select_features(X, y, 10, rng), NaiveBayes())
print(log_alpha_density(posterior).shape)

# %% thesiskit.models.naive_bayes predictive_probabilities_of_new_samples
import numpy as np
from thesiskit.models.naive_bayes import (
    NaiveBayes,
    fit,
    predictive_probabilities_of_new_samples,
)
from thesiskit.models.selection import select_features

rng = np.random.default_rng(0)
X, y = rng.integers(0, 2, (60, 1000)), np.repeat([0, 1], 30)
posterior = fit(select_features(X, y, 10, rng), NaiveBayes())
p = predictive_probabilities_of_new_samples(posterior, rng)
print(f"{np.minimum(p, 1 - p).mean():.2f} predicted error")

# %% thesiskit.models.mixture Mixture MixtureTarget MixtureDraws sample diagnose as_arviz
import numpy as np
from thesiskit.models.mixture import Mixture, MixtureTarget, as_arviz, diagnose, sample

rng = np.random.default_rng(0)
X, y = rng.integers(0, 2, (30, 3)), rng.permutation(np.repeat([0, 1], 15))
target = MixtureTarget(X, y, Mixture(iterations=200, burn_in=50))
draws = sample(target, rng.spawn(2))
found = diagnose(target, draws)
print(found.rhat.round(2), list(as_arviz(target, draws, found).groups["posterior"]))

# %% thesiskit.models.mixture enumerate_posterior
import numpy as np
from thesiskit.models.mixture import Mixture, MixtureTarget, enumerate_posterior

y = np.repeat([0, 1], 5)
X = np.where(np.arange(10) % 5 == 0, 1 - y, y)[:, None]
exact = enumerate_posterior(MixtureTarget(X, y, Mixture(alpha_points=10)))
print(type(exact).__name__)

# %% thesiskit.models.normal Normal fit
import numpy as np
from thesiskit.models.normal import Normal, fit
from thesiskit.models.selection import select_by_f

rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 1000)), np.repeat([0, 1, 2], 20)  # useless features
selection = select_by_f(X, y, 10, rng)
for correct in (False, True):
    posterior = fit(selection, Normal(), correct=correct)
    print(correct, Normal().predict(posterior, X[:1, selection.selected]).round(2))

# %% thesiskit.models.normal predictive_probabilities_of_new_samples NormalPosterior
import numpy as np
from thesiskit.models.normal import Normal, fit, predictive_probabilities_of_new_samples
from thesiskit.models.selection import select_by_f

rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 1000)), np.repeat([0, 1, 2], 20)
posterior = fit(select_by_f(X, y, 10, rng), Normal())
p = predictive_probabilities_of_new_samples(posterior, rng)
print(f"{1 - p.max(axis=1).mean():.2f} predicted error")

# %% thesiskit.models.patterns compress_features FeatureGroups
import numpy as np
from thesiskit.models.patterns import compress_features

groups = compress_features(np.random.default_rng(0).integers(0, 3, (50, 6)), "all")
print(groups.n_patterns, "patterns,", groups.n_groups, "groups")

# %% thesiskit.models.patterns compress_sequences SequenceGroups
import numpy as np
from thesiskit.models.patterns import compress_sequences

groups = compress_sequences(np.random.default_rng(0).integers(0, 2, (50, 10)), "all")
print(groups.n_patterns, "patterns,", groups.n_groups, "groups")

# %% thesiskit.datasets.synthetic draw_naive_bayes
import numpy as np
from thesiskit.datasets.synthetic import draw_naive_bayes

rng = np.random.default_rng(0)
drawn = draw_naive_bayes(rng, features=100, alpha=3, train=(20, 20), test=(50, 50))
print(drawn.train.features.shape, drawn.test.features.shape)

# %% thesiskit.datasets.synthetic draw_mixture
import numpy as np
from thesiskit.datasets.synthetic import draw_mixture

rng = np.random.default_rng(0)
drawn = draw_mixture(rng, features=100, alpha=3, response=(0.1, 0.9), train=(20, 20), test=(50, 50))
print(drawn.train.features.shape, drawn.test.features.shape)
