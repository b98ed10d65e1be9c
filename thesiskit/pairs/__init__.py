"""Selection from all patterns of up to three discrete features, such as pairs of loci.

All of it is here: counting and selecting patterns, genotypes (PLINK files, and drawn ones),
covariates, and their reports.  The rest of the package finds it by `PATTERNS`, which
thesiskit/registry.py names; without that line and this folder all else works.
"""

from thesiskit.registry import Candidates

PATTERNS = Candidates(
    unit="pattern",
    needed="is required for these data. Fix: add the number of patterns, such as {features: [20], "
    "order: 2}; or give model.kind: logistic, which takes all",
    sources={
        "epistasis": "thesiskit.pairs.genotypes:EpistasisData",
        "genotypes": "thesiskit.pairs.genotypes:GenotypesData",
        "plink": "thesiskit.pairs.plink:PlinkData",
    },
    files={".bed": "thesiskit.pairs.drafts:inspect_bed"},
    parts={"pairs": "thesiskit.pairs.report:pairs_part"},
    block="thesiskit.pairs.block:PatternSelection",
    work="thesiskit.pairs.work:PairWork",
    draft="thesiskit.pairs.drafts:pair_blocks",
    method="thesiskit.pairs.fitted:PairMethod",
    model="thesiskit.pairs.fitted:fitted_model",
    covariates="thesiskit.pairs.covariates:Covariates",
)
