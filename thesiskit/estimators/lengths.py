"""How long the chains of an estimator run: until they agree, or so many iterations."""

from collections.abc import Mapping
from typing import Any

from thesiskit.defaults import UNTIL_CHAINS, UNTIL_FEWER_ITERATIONS
from thesiskit.errors import UserError, quoted
from thesiskit.models.chains import Until

AUTO = "auto"


def run_length(
    until: Any, given: Mapping[str, Any], usual: Mapping[str, Any], *, judged: bool = True
) -> dict[str, Any]:
    """Return until, and the values of `given` with what stands for None.

    given : chains, iterations and so on, as the user gave them; usual : of chains that are not
    judged.  With until "auto" chains are judged unless the user gave a length, or one chain.

    judged : whether the chains can be judged at all.
    Raises UserError for another word than "auto".
    """
    if isinstance(until, str):
        if until != AUTO:
            raise UserError(
                f"until must be 'auto', None or a pair of an R-hat and effective draws, "
                f"got {quoted(until)}"
            )
        lengths = [value for name, value in given.items() if name != "chains"]
        fixed = not judged or given["chains"] == 1 or any(one is not None for one in lengths)
        until = None if fixed else Until()
    if until is not None:
        usual = {
            "chains": UNTIL_CHAINS,
            "iterations": UNTIL_FEWER_ITERATIONS,
            "burn_in": 0,
            "thin": 1,
        }
    found = {name: usual[name] if value is None else value for name, value in given.items()}
    return found | {"until": until}
