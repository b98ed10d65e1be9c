"""What a new user does with an installed thesiskit, in an empty folder without a network.

    python tests/support/newcomer.py PYTHON

PYTHON is that of an environment with thesiskit[parquet].  `make check-sdist` runs this with
one that was installed from the built sdist.
"""

import csv
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

TABLES = """
import gzip
import numpy as np
import pandas as pd

rng = np.random.default_rng(7)
response = np.arange(60) % 2
values = rng.normal(size=(60, 3000)).round(3)
values[:, :5] += 3 * response[:, None]
status = np.where(response == 1, "tumour", "normal")
genes = pd.DataFrame(values, columns=[f"gene-{j}" for j in range(3000)])
genes.insert(0, "status", status)
genes.insert(0, "tissue", [f"t{i:02d}" for i in range(60)])
genes[:50].to_csv("genes.csv", index=False)
genes[50:].drop(columns="status").to_csv("new.csv", index=False)
genes.to_csv("genes.tsv", sep="\\t", index=False)
genes.to_csv("genes.csv.gz", index=False)
genes.to_parquet("genes.parquet")
snps = rng.binomial(2, 0.3, (60, 3000)).astype("int8")
codes = np.array([3, 2, 0])[snps].T.reshape(3000, 15, 4)  # four genotypes in a byte
packed = (codes << np.array([0, 2, 4, 6])).sum(axis=2).astype(np.uint8)
open("snps.bed", "wb").write(bytes([0x6C, 0x1B, 1]) + packed.tobytes())
open("snps.bim", "w").writelines(f"1 rs{j} 0 {j + 1} A G\\n" for j in range(3000))
open("snps.fam", "w").writelines(f"f t{i:02d} 0 0 0 {response[i] + 1}\\n" for i in range(60))
reads = rng.choice(list("ACGT"), (60, 30))
for i in range(60):
    reads[i, 10:16] = list("TATAAT" if response[i] else "GGCGCC")
fasta = (f">s{i} {['other', 'promoter'][response[i]]}\\n{''.join(reads[i])}\\n" for i in range(60))
open("reads.fasta", "w").writelines(fasta)
"""
KINDS = ("genes.csv", "genes.tsv", "genes.csv.gz", "genes.parquet", "snps.bed", "reads.fasta")
PYTHON_PREDICTIONS = """
import json, sys
import numpy as np
import pandas as pd
import thesiskit
from thesiskit.estimators import NormalClassifier

old, new = pd.read_csv("genes.csv", index_col="tissue"), pd.read_csv("new.csv", index_col="tissue")
model = NormalClassifier(n_features=5)
p = model.fit(old.drop(columns="status"), old["status"]).predict_proba(new)[:, 1]
loaded = thesiskit.load_model("genes.model").predict_proba(new, method=sys.argv[1])
print(json.dumps([p.tolist(), loaded[:, 1].tolist()]))
"""


def without_network() -> list[str]:
    """Return what to put before a command so that it has no network, where this system can."""
    command = ["unshare", "--map-root-user", "--net"]
    if shutil.which("unshare") and subprocess.run([*command, "true"]).returncode == 0:
        return command
    return ["env", "http_proxy=http://127.0.0.1:9", "https_proxy=http://127.0.0.1:9"]


def caller(python: str, folder: Path) -> Callable[..., str]:
    """Return a function that runs Python in a folder, without a network, and returns its output."""
    before = without_network()

    def call(*arguments: str) -> str:
        started = time.perf_counter()
        done = subprocess.run(
            [*before, python, *arguments], cwd=folder, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"
        if arguments[:2] == ("-m", "thesiskit"):
            seconds = time.perf_counter() - started
            print(f"{seconds:6.1f} s  thesiskit {' '.join(arguments[2:])}", flush=True)
        return done.stdout

    return call


def rows(text: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV table."""
    yield from csv.DictReader(text.splitlines())


def main(python: str) -> None:
    """Do what a new user does, and compare what comes out."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        call = caller(python, folder)

        def thesiskit(*arguments: str) -> str:
            return call("-m", "thesiskit", *arguments)

        assert "naive-simulation" in thesiskit("list")
        assert "experiment: colon" in thesiskit("show", "colon")
        thesiskit("run", "colon", "--set", "replicates=5")
        thesiskit("run", "null", "text", "splice", "votes", "--smoke")
        for report in ("colon", "null-smoke", "text-smoke", "splice-smoke", "votes-smoke"):
            assert (folder / "results" / report / "report.html").exists()

        call("-c", TABLES)
        for table in KINDS:
            name = table.replace(".", "-")
            (folder / f"{name}.yaml").write_text(thesiskit("init", table))
            # of other formats than CSV it is only asked whether all of it runs
            options = ["--name", name] if table == "genes.csv" else ["--quick"]
            report = thesiskit("run", f"{name}.yaml", *options).split("report: ")[1]
            assert (folder / report.split(" (")[0]).exists()

        # Python fits the model that `init` chose; five genes are clearly the best
        five = ["genes-csv.yaml", "--set", "selection.features=[5]"]
        by_config = thesiskit("predict", *five, "--new", "new.csv", "--all-methods")
        thesiskit("export", *five, "genes.model", "--all-methods")
        assert thesiskit("predict", "--model", "genes.model", "--new", "new.csv") == by_config
        first, last = "5 corrected", "residual-tempered"  # the default of the classifier
        names = [row["method"] for row in rows(by_config)]
        method = next(name for name in names if name.startswith(first) and name.endswith(last))
        found = [row for row in rows(by_config) if row["method"] == method]
        assert [row["id"] for row in found] == [f"t{i}" for i in range(50, 60)]
        wanted = [float(row["probability: tumour"]) for row in found]
        for theirs in json.loads(call("-c", PYTHON_PREDICTIONS, method)):
            differences = [abs(a - b) for a, b in zip(theirs, wanted, strict=True)]
            assert max(differences) < 1e-12, differences
    print("a new user comes from an empty folder to predictions without a network")


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).absolute()))
