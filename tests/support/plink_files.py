"""PLINK files for tests."""

import numpy as np

from thesiskit.datasets.source import MISSING

BITS = {2: 0b00, MISSING: 0b01, 1: 0b10, 0: 0b11}


def write_plink(path, X, phenotype=None, *, names=None, alleles=None, families=None, ids=None):
    """Write copies of the first allele, (n, p), one locus after the other."""
    n, p = X.shape
    content = bytearray(b"\x6c\x1b\x01")
    for j in range(p):
        for start in range(0, n, 4):
            byte = 0
            for k, copies in enumerate(X[start : start + 4, j].tolist()):
                byte |= BITS[copies] << 2 * k
            content.append(byte)
    path.write_bytes(content)
    names = names or [f"rs{j}" for j in range(p)]
    alleles = alleles or [("A", "G")] * p
    lines = (f"1 {names[j]}\t0 {100 + j} {alleles[j][0]} {alleles[j][1]}\n" for j in range(p))
    path.with_suffix(".bim").write_text("".join(lines))
    phenotype = 1 + np.arange(n) % 2 if phenotype is None else phenotype
    families, ids = families or [f"f{i}" for i in range(n)], ids or [f"i{i}" for i in range(n)]
    lines = (f"{families[i]} {ids[i]} 0 0 {1 + i // 2 % 2} {phenotype[i]}\n" for i in range(n))
    path.with_suffix(".fam").write_text("".join(lines))
    return path
