"""How often 95% intervals of AUC cover it, of normal scores: docs/evidence/auc.csv.

    python benchmarks/auc.py          about two minutes

`interval` is the one of reports, `DeLong` that on the scale of log odds, which has none where AUC
is 0 or 1 (counted as not covering).
"""

import numpy as np
from scipy import special

from thesiskit.report.metrics import binormal

SETS = 5000  # of each design
SIZES = ((5, 25), (25, 25), (20, 100), (100, 100))
AREAS = (0.5, 0.7, 0.9, 0.99)


def areas_and_errors(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return AUC and DeLong's standard error of scores x (D, m) of a class and y (D, n), (D,)."""
    wins = x[:, :, None] > y[:, None]
    sides = [wins.mean(axis=axis) for axis in (1, 2)]
    variance = sum(side.var(axis=1, ddof=1) / side.shape[1] for side in sides)
    return sides[0].mean(axis=1), np.sqrt(variance)


def coverage(rng: np.random.Generator, m: int, n: int, true: float) -> tuple[float, float, float]:
    """Return in how many data sets each interval covers, and the mean width of ours."""
    ours, delong, width = 0, 0, 0.0
    for _ in range(SETS // 100):
        x = rng.normal(special.ndtri(true) * np.sqrt(2), 1, (100, m))
        for area, error in zip(*areas_and_errors(x, rng.normal(size=(100, n))), strict=True):
            low, high = binormal(area, error, m, n)
            ours, width = ours + (low <= true <= high), width + high - low
            if 0 < area < 1:
                half = 1.96 * error / (area * (1 - area))
                delong += abs(special.logit(area) - special.logit(true)) <= half
    return ours / SETS, delong / SETS, width / SETS


def main() -> None:
    rng = np.random.default_rng(1)
    print("smaller class,larger class,AUC,interval,DeLong,width")
    for m, n in SIZES:
        for true in AREAS:
            ours, delong, width = coverage(rng, m, n, true)
            print(f"{m},{n},{true},{ours:.3f},{delong:.3f},{width:.3f}", flush=True)


if __name__ == "__main__":
    main()
