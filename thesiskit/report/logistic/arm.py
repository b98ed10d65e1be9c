"""The models of an experiment of chapter 3, and what tables call them."""

from dataclasses import dataclass

PEER_WORDS = {
    "vlmc": "vlmc (variable-length Markov chain)",
    "ppm": "arithmetic-compressor's PPM, rate tuned",
    "context-tree": "BayesML's context tree",
    "n-gram": "interpolated n-gram, order chosen",
    "logistic-regression": "logistic regression, one-hot",
    "pairwise-logistic-regression": "logistic regression, pairs",
    "ridge": "ridge regression, one-hot",
    "pairwise-ridge": "ridge regression, pairs",
    "random-forest": "random forest",
    "gradient-boosting": "gradient boosting",
    "naive-bayes": "naive Bayes",
}


@dataclass(frozen=True)
class Arm:
    """One model; its row of the arrays."""

    row: int
    order: int
    prior: str
    compress: bool
    engine: str
    scale: str
    name: str

    @property
    def peer(self) -> bool:
        """Whether it is one of the other classifiers, to compare with."""
        return self.prior == "none"

    @property
    def words(self) -> str:
        """The model, as tables name it."""
        if self.peer:
            return PEER_WORDS[self.engine]
        if self.engine == "gp":
            return "Gaussian process"
        text = f"{self.prior.capitalize()}, {'compressed' if self.compress else 'original'}"
        return text + (", sigma's own scale" if self.scale == "natural" else "")

    @property
    def title(self) -> str:
        """The model, as tables of all models name it."""
        return self.words if self.peer else f"{self.words}, order {self.order}"

    @property
    def name_in_full(self) -> str:
        """The model with its order; a peer that uses all features has none."""
        return self.words if self.order < 0 else f"{self.words}, order {self.order}"
