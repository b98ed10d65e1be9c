"""Numbers that configs, models and estimators share, so that each is written once."""

import math
from typing import Final

# Logistic models.  The thesis's, but for SIGMA_SCALE and JOINT_UPDATES.
PRIOR: Final = "cauchy"
# by prior: the width of the coefficient of order 0, and a coefficient's first slice interval
SIGMA_0: dict[str, float] = {"cauchy": 5, "gaussian": 10}
STEP: dict[str, float] = {"cauchy": 20, "gaussian": 10}
SIGMA_SHAPE, SIGMA_MODE = 0.25, 0.1  # of the Inverse-Gamma prior of sigma_1
SIGMA_SCALE: Final = "log"
SIGMA_UPDATES = 10
SIGMA_STEP = 1.0
MOST_STEPS = 50
JOINT_UPDATES = 1
NOISE_SHAPE, NOISE_MODE = 0.25, 0.5  # of the prior of the standard deviation of noise
ITERATIONS, BURN_IN, THIN = 2000, 750, 5
LEARNING = 100  # first iterations of a chain in which its sampler may be tuned, if not kept
CHAINS = 1
MIN_SAMPLES = 1
LEAST_SHAPE = 0.2  # the kernel looks at sigmas up to e^80: 1e-7 of that prior is beyond
LEAST_WIDTH, MOST_WIDTH = 1e-20, 1e20
RELIABLE_RHAT, RELIABLE_ESS = 1.1, 40.0  # of the log likelihood: chains that support predictions

# of all that is compared of a mixture, in the same sense
MIXTURE_RHAT, MIXTURE_ESS = 1.05, 100.0

# chains that run until they agree
UNTIL_RHAT, UNTIL_ESS = 1.01, 400.0
UNTIL_CHAINS, UNTIL_ITERATIONS = 4, 10_000  # the iterations are the limit
# of wide tables, whose fits take long, and of estimators: cross-validation makes many fits, and
# nobody watches them
UNTIL_FEWER_ITERATIONS = 4000
UNTIL_FIRST = 200  # iterations after which chains are first compared
MOST_UNTIL_ESS = 1000.0  # as many draws are kept of all chains together

MOST_VALUES = 255  # of a feature, or states of a sequence: a byte each
MISSING = -1  # the code of a missing value: a pattern that fixes the feature is not expressed
UNSEEN = -2  # the code of a value that no training sample has

# ---- models of chapter 2 ----

# names of samplers up to version 0.2; random streams keep them, so that no number moves
OLD_SAMPLERS = {"thesis": "gibbs", "as-printed": "approximate"}

TABLE_SAMPLES = 600  # samples up to which counts are tabulated: beyond, the recurrences underflow
MOST_POINTS = 10_000  # for alpha

CLASS_PRIOR = (1.0, 1.0)  # f_0, f_1
ALPHA_PRIOR = (0.5, 5.0)  # shape and rate, of alpha and of the mixture model's alpha_0
NAIVE_ALPHA_POINTS = 30
# that a feature is relevant: log-even from 1e-4 to 1
PI = tuple(float(f"{10 ** (-4 + 4 * i / 20):.6g}") for i in range(21))
# of patterns, of which there are millions
PATTERN_PI = tuple(float(f"{10 ** (-9 + 9 * i / 36):.6g}") for i in range(37))
# of real features: logs of the least rho in tables of 10,000 features or more, and of the largest;
# shapes c of the scale of effects, None where it is 1
LOG_RATIO = -11.5, 4.5
EFFECT_SHAPES = (3.0, 10.0, None)
LEAVE_OUT = "leave-out"  # the scheme of folds that are whole sites
LEAST_CHOSEN = 4  # folds, inside each of which a method is chosen
THESIS_GRID_POINTS = 10  # of the grids of alpha of the thesis's samplers of mixtures
# the two temperatures of a config, and what methods are called that have the second
NO_TEMPERATURE, RESIDUAL = "none", "residual"
TEMPERED = "residual-tempered"
# of real features, before all else
NO_TRANSFORM, LOG, SCORES = "none", "log", "normal-scores"


def normal_grids(features: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the default values of pi and of rho for a table of p real features.

    The number of relevant features, pi p, is log-even from 0.7 p^-0.211 to p: from 0.1 of 10,000
    features, from 0.7 of a single feature.  So the probability that no feature is relevant is about
    the same for all p (0.16 to 0.22): tables of few features are measured for a reason.  The least
    rho is 0.1 / p: with weaker effects all features together show nothing (two classes differ by
    less than half a standard deviation).  At p = 10,000, pi begins at 1e-5, and rho too.
    """
    low = math.log10(0.7) - (1 + math.log10(7) / 4) * math.log10(features)
    pi = tuple(float(f"{10 ** (low - low * i / 40):.6g}") for i in range(41))
    first, last = max(LOG_RATIO[0], math.log(0.1 / features)), LOG_RATIO[1]
    return pi, tuple(math.exp(first + (last - first) / 64 * i) for i in range(65))
