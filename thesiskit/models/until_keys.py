"""The block `until` of a model: how well chains have to agree before they stop."""

from typing import Annotated, Any, Literal

from pydantic import Field

from thesiskit import defaults
from thesiskit.blocks import Block


class UntilBlock(Block):
    """How well chains have to agree before they stop."""

    rhat: Annotated[float, Field(strict=True, gt=1, le=defaults.RELIABLE_RHAT)] = (
        defaults.UNTIL_RHAT
    )
    """The largest R-hat of all that is compared. It is 1 for chains that agree; above 1.1 (of a
    mixture 1.05) chains do not support predictions."""
    ess: Annotated[
        float, Field(strict=True, ge=defaults.RELIABLE_ESS, le=defaults.MOST_UNTIL_ESS)
    ] = defaults.UNTIL_ESS
    """The least number of effective draws, of all chains together, of all that is compared; at
    least 40, of a mixture 100, and at most 1,000, which is what is kept."""

    least: Annotated[int, Field(strict=True, ge=defaults.UNTIL_FIRST)] = defaults.UNTIL_FIRST
    """Iterations before which chains are not compared: for reports that show the chains
    themselves."""

    @property
    def targets(self) -> tuple[Any, ...]:
        """R-hat, effective draws and the rest, as models take them."""
        return tuple(getattr(self, name) for name in type(self).model_fields)


class LogisticUntilBlock(UntilBlock):
    """How well chains of logistic models have to agree before they stop."""

    of: Literal["all", "predictions"] = "all"
    """What has to reach the targets: `all` that is compared, or only the `predictions` for test
    cases. Where patterns tell all training cases apart, only the prior bounds the log likelihood
    from above: it may take very long to agree, though the predictions do."""


def with_until(block: Any, **usual: int) -> Any:
    """Return a block of the length of runs with what stands for the keys it leaves out.

    With `until`, iterations is a limit; burn_in 0 and, where there is one, thin 1 stand for
    themselves, which are the only values that they may have.
    """
    if not isinstance(block, dict):
        return block
    return {"iterations": defaults.UNTIL_ITERATIONS, **usual, **block}


def check_length(
    until: UntilBlock, chains: int, name: str, iterations: int, burn_in: int, thin: int = 1
) -> None:
    """Raise ValueError for a single chain, a short limit, and keys without place beside `until`.

    name : the block that has them.
    """
    if chains < 2:
        raise ValueError(
            "until: R-hat compares chains, and here is one; set "
            f"{name}.chains to 2 or more, or leave out until"
        )
    if iterations < until.least:
        raise ValueError(
            f"until: chains are first compared after {until.least} iterations; set "
            f"{name}.iterations to {until.least} or more, or leave out until"
        )
    for key, given in (("burn_in", burn_in != 0), ("thin", thin != 1)):
        if given:
            why = (
                "the first half of the iterations does not count"
                if key == "burn_in"
                else "the draws that are kept are spread over the second half"
            )
            raise ValueError(f"until: leave out {name}.{key}: {why}")
