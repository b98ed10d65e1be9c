"""Tables of the user's, configs of every kind for them, and tables of new samples."""

from pathlib import Path

import numpy as np
import pandas as pd

SELECTING = """
experiment: mine
title: Mine
about: A test.
data: { source: file, path: tissues.csv, response: status, positive: tumour }
report: { parts: [methods] }
"""
REAL = SELECTING.replace("tissues", "doses").replace("status, positive: tumour", "dose")
PATTERNS = """
experiment: mine
title: Mine
about: A test.
report: { parts: [orders] }
"""
SHORT = "kind: logistic, chains: 2, iterations: 40, burn_in: 10"
CONFIGS = {
    "naive": SELECTING
    + """
selection: { features: [3, all] }
model: { quadrature: [exact, simpson-21], methods: [corrected, uncorrected, bernoulli-nb] }
""",
    "missing": SELECTING.replace("tissues", "gaps")
    + "selection: { thresholds: [0.15] }\nmodel: { alpha_points: 12 }\n",
    "mixture": SELECTING
    + """
selection: { features: [3] }
model:
  kind: mixture
  samplers: [collapsed, gibbs]
  methods: [corrected, uncorrected, naive-corrected]
  collapsed: { chains: 2, iterations: 40, burn_in: 10, alpha_points: 20 }
  thesis: { chains: 1, iterations: 6, burn_in: 2 }
""",
    "enumeration": SELECTING
    + """
selection: { features: [1] }
model: { kind: mixture, samplers: [enumeration], collapsed: { alpha_points: 8 } }
""",
    "normal": SELECTING.replace("tissues", "gaps")
    + """
selection: { features: [3] }
model: { kind: normal, relevant: [some, all], temperature: [none, residual], methods: [corrected,
         uncorrected, naive-corrected] }
""",
    "three-classes": SELECTING.replace("tissues", "grades").replace(", positive: tumour", "")
    + """
selection: { features: [2, all] }
model: { kind: normal, class_prior: [1, 2, 1], temperature: [none, residual] }
""",
    "normal-real": REAL
    + """
selection: { features: [3] }
model: { kind: normal, response: gaussian, relevant: [some, all], temperature: [residual],
         methods: [corrected, uncorrected, ridge, lasso, pls, bayesian-ridge, pool] }
""",
    "pool-real": REAL
    + """
selection: { features: [all] }
model: { kind: pool, response: gaussian }
""",
    "tempered": SELECTING
    + "selection: { features: [3] }\nmodel: { temperature: [none, residual] }\n",
    "features": PATTERNS
    + f"""
data: {{ source: table, path: shapes.csv, response: status, id: name, ignore: [size] }}
model: {{ {SHORT}, orders: [2], priors: [cauchy, gaussian], compress: [true, false],
         peers: [naive-bayes, logistic-regression, gradient-boosting] }}
""",
    "frequent": PATTERNS
    + f"""
data: {{ source: table, path: shapes.csv, response: colour, ignore: [name, size] }}
model: {{ {SHORT}, orders: [all], min_samples: 3 }}
""",
    "real": PATTERNS
    + f"""
data: {{ source: table, path: shapes.csv, response: size, ignore: [name] }}
model: {{ {SHORT}, orders: [2], response: gaussian, peers: [ridge, random-forest] }}
""",
    "sequences": PATTERNS
    + f"""
data: {{ source: sequences, path: reads.txt, train: 30 }}
model: {{ {SHORT}, orders: [2, all], priors: [cauchy, gaussian],
         peers: [n-gram, logistic-regression] }}
""",
    "text": PATTERNS
    + f"""
data: {{ source: text, path: book.txt, history: 4, train: 30,
        states: {{ w: bcdfg, v: aeiou, _: null }} }}
model: {{ {SHORT}, orders: [2] }}
""",
    "two-states": PATTERNS
    + f"""
data: {{ source: sequences, path: bits.txt, train: 30 }}
model: {{ {SHORT}, orders: [3], priors: [cauchy, gaussian], compress: [true, false] }}
""",
    "rivals": SELECTING.replace("tissues", "grades").replace(", positive: tumour", "")
    + """
selection: { features: [3, all] }
model: { kind: normal, methods: [corrected, pool, lasso, l2-logistic, gaussian-nb] }
""",
    "pool": SELECTING.replace("tissues", "grades").replace(", positive: tumour", "")
    + "selection: { features: [all] }\nmodel: { kind: pool }\n",
    "pairs": PATTERNS.replace("[orders]", "[methods]")
    + """
data: { source: table, path: shapes.csv, response: status, id: name, covariates: [size] }
selection: { features: [1, 4], order: 2 }
model: { kind: naive-bayes, relevant: [some, all], temperature: [none, residual],
         methods: [corrected, uncorrected, logistic-regression] }
""",
    "mixing": PATTERNS
    + """
data: { source: sequences, path: reads.txt, train: 30 }
model: { kind: logistic, engine: mixing, peers: [n-gram] }
""",
    "mixing-text": PATTERNS
    + """
data: { source: text, path: book.txt, history: 4, train: 30 }
model: { kind: logistic, engine: [chains, mixing], orders: [2],
         chains: 2, iterations: 40, burn_in: 10 }
""",
}
NEW = dict.fromkeys(CONFIGS, "new-tissues.csv") | {
    "missing": "new-gaps.csv",
    "normal": "new-gaps.csv",
    "normal-real": "new-gaps.csv",
    "pool-real": "new-gaps.csv",
    "features": "new-shapes.csv",
    "frequent": "new-shapes.csv",
    "real": "new-shapes.csv",
    "pairs": "new-shapes.csv",
    "mixing": "new-reads.txt",
    "mixing-text": "new-book.txt",
    "sequences": "new-reads.txt",
    "text": "new-book.txt",
    "two-states": "new-bits.txt",
}


def write_tables(folder: Path) -> None:
    """Write all tables that the configs read, and tables of new samples."""
    rng = np.random.default_rng(5)
    genes = [f"gene {j}" for j in range(12)]
    tissues = pd.DataFrame(rng.normal(size=(40, 12)), columns=genes)
    tumour = tissues["gene 2"] - tissues["gene 7"] + rng.normal(size=40) > 0
    tissues.assign(status=np.where(tumour, "tumour", "normal")).to_csv(
        folder / "tissues.csv", index=False
    )
    # in another order, with a column that the training table has not
    new = pd.DataFrame(rng.normal(size=(9, 12)), columns=genes)[genes[::-1]]
    new.assign(batch=1).to_csv(folder / "new-tissues.csv", index=False)
    grade = np.array(["I", "II", "III"])[np.digitize(tissues["gene 2"], [-0.5, 0.5])]
    tissues.assign(status=grade).to_csv(folder / "grades.csv", index=False)
    for table, where in ((tissues.assign(status=tumour), "gaps"), (new, "new-gaps")):
        known = rng.random((len(table), 12)) < 0.8
        gaps = table[genes].where(known)
        if "status" in table:
            gaps["status"] = np.where(table.status, "tumour", "normal")
        gaps.to_csv(folder / f"{where}.csv", index=False)
        if "status" in table:
            noise = np.random.default_rng(6).normal(size=40)
            dose = 20 + 3 * tissues["gene 2"] - 3 * tissues["gene 7"] + noise
            table[genes].where(known).assign(dose=dose.round(2)).to_csv(
                folder / "doses.csv", index=False
            )
    shapes = _shapes(rng, 40, ["round", "square", "?"])
    shapes["status"] = np.where((shapes.form == "round") ^ (rng.random(40) < 0.2), "yes", "no")
    shapes["size"] = rng.integers(0, 30, 40) / 10 + 2 * (shapes.form == "round")
    shapes.to_csv(folder / "shapes.csv", index=False)
    new = _shapes(rng, 7, ["round", "square", "?", "flat"])
    # each table of shapes has a response that is a feature of another
    new.assign(status="no", size=1.5).to_csv(folder / "new-shapes.csv", index=False)
    (folder / "book.txt").write_text("A bad face, a good dog: big food. " * 3)
    (folder / "new-book.txt").write_text("A dead cod.")
    for name, states in (("reads", "ACGT"), ("bits", "ab")):
        samples = rng.choice(list(states), (40, 6))
        (folder / f"{name}.txt").write_text("".join(" ".join(row) + "\n" for row in samples))
        samples = rng.choice([*states, "N"], (8, 5))
        (folder / f"new-{name}.txt").write_text("".join(" ".join(row) + "\n" for row in samples))


def _shapes(rng: np.random.Generator, n: int, forms: list[str]) -> pd.DataFrame:
    return pd.DataFrame({
        "name": [f"shape-{i}" for i in range(n)],
        "form": rng.choice(forms, n),
        "colour": rng.choice(["red", "green", "blue"], n),
        "level": rng.integers(1, 4, n),
    })  # fmt: skip


def write_config(folder: Path, kind: str) -> Path:
    """Write the config of a kind, and return its path."""
    path = folder / f"{kind}.yaml"
    path.write_text(CONFIGS[kind])
    return path
