"""What is done with every split: its selections, and the arms that start from each.

An *arm* is one analysis: how many features to keep, by which method, with which quadrature or
sampler, whether all features may be relevant or some, and with a temperature or without.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from thesiskit.config import (
    OWN_METHODS,
    Config,
    MixtureModel,
    NaiveModel,
    NormalModel,
)
from thesiskit.config.selection import OTHER_METHODS, WHOLE_METHODS, ScreenedBlock

NONE, CV = "none", "cv"  # temperatures


@dataclass(frozen=True)
class Arm:
    """One analysis of a split; `size` counts through `selections`."""

    size: int
    label: str  # that of the selection
    method: str
    variant: str  # the rule for theta, or the sampler; "none" for a peer
    relevant: str = "all"  # which features may be relevant, "all" or "some"; "none" for a peer
    temperature: str = NONE  # or "cv"

    @property
    def name(self) -> str:
        """What it is called, the same whatever else is done."""
        others = (self.method, self.variant, self.relevant, "tempered" if self.tempered else NONE)
        return " ".join([self.label, *(one for one in others if one not in (NONE, "all"))])

    @property
    def tempered(self) -> bool:
        """Whether its log odds are divided by a temperature."""
        return self.temperature == CV

    @property
    def correct(self) -> bool:
        """Whether the selection is corrected for, if it is a method of ours."""
        return OTHER_METHODS.get(self.method, self.method) != "uncorrected"


@dataclass(frozen=True)
class Chosen:
    """A selection that is asked for.

    size : a number of features, "all", or a threshold.
    of : how many features there were before the table was screened, 0 for as many as the table has;
        None where it was not, or where the arms of this selection do not ask.
    """

    label: str  # how many features: "10", "all", or "|COR| > 0.2"; of several, "10 of 5,000"
    size: int | str | float
    of: int | None = None


def selections(config: Config) -> list[Chosen]:
    """Return the selections that are made in every split; each has another label."""
    return list(dict.fromkeys(chosen for chosen, *_ in _analyses(config)))


def selecting_model(config: Config) -> NaiveModel | MixtureModel | NormalModel:
    """Return the model of an experiment of chapter 2."""
    assert isinstance(config.model, NaiveModel | MixtureModel | NormalModel)
    return config.model


def arms(config: Config) -> list[Arm]:
    """Return what is done with every split."""
    place = {chosen: i for i, chosen in enumerate(selections(config))}
    found = [Arm(place[chosen], chosen.label, *how) for chosen, *how in _analyses(config)]
    methods = selecting_model(config).methods
    return found + [Arm(0, "all", one, NONE, NONE) for one in methods if one in WHOLE_METHODS]


def _analyses(config: Config) -> Iterator[tuple[Chosen, str, str, str, str]]:
    """Yield for each arm a selection, a method, a variant, what may be relevant, a temperature."""
    assert config.selection is not None
    screened, model = config.selection.screened, selecting_model(config)
    peers = [one for one in model.methods if one not in (*OWN_METHODS, *WHOLE_METHODS)]
    ways = list(product(model.relevances, model.temperature))
    for size in config.selection.features or config.selection.thresholds or []:
        label = str(size) if config.selection.features else f"|COR| > {size}"
        plain, counted = _chosen(label, size, screened)
        for variant in model.variants:
            if size == "all" and screened is None:
                # with nothing to correct the two are one
                if variant != "as-printed" or "thesis" not in model.variants:
                    for way in ways:
                        yield plain, "complete", variant, *way
                continue
            for method in (one for one in model.methods if one in OWN_METHODS):
                mine = counted if method == "corrected" else [plain]
                for chosen, way in product(mine, ways):
                    yield chosen, method, variant, *way
        for peer in peers if size != "all" or screened else ():
            mine = counted if OTHER_METHODS.get(peer) == "corrected" else [plain]
            temperatures = model.temperature if peer in OTHER_METHODS else [NONE]
            for chosen, temperature in product(mine, temperatures):
                yield chosen, peer, NONE, NONE, temperature


def _chosen(
    label: str, size: int | str | float, screened: ScreenedBlock | None
) -> tuple[Chosen, list[Chosen]]:
    """Return a selection as it is, and as the correction has it: one for each `of` of a list."""
    if screened is None or len(screened.of or [0]) == 1:
        one = Chosen(label, size, None if screened is None else (screened.of or [0])[0])
        return one, [one]
    return Chosen(label, size), [Chosen(f"{label} of {of:,}", size, of) for of in screened.of or ()]
