"""A small table with columns of every kind, as texts; tests write it with one oddity."""

import numpy as np

N = 30
GAPS = (3, 8, 16)  # rows
ODD = np.random.default_rng(7)
CASE = np.arange(N) % 3 > 0  # the class of each sample
PLAIN = {
    "sample": [f"S{i:02}" for i in range(N)],
    "status": [("control", "case")[k] for k in CASE.astype(int)],
    "dose": [f"{x:.2f}" for x in ODD.normal(5, 1, N) + CASE],
    "gene": [f"{x:.2f}" for x in ODD.normal(7, 2, N)],
    "stage": [("high", "low", "mid")[i] for i in ODD.integers(0, 3, N)],
    "smoker": [("False", "True")[i] for i in ODD.integers(0, 2, N)],
    "grade": [str(i) for i in ODD.integers(0, 3, N)],
    "patient": [f"P{i // 2}" for i in range(N)],
}
NUMBERS, DISCRETE = ("dose", "gene", "grade"), ("stage", "smoker", "grade")
EVERY = (*NUMBERS[:2], *DISCRETE)
