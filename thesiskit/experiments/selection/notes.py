"""What the user should know about the tables of an experiment of chapter 2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thesiskit.experiments.selection.arms import selecting_model
from thesiskit.experiments.selection.screened import screening_notes
from thesiskit.experiments.selection.temperature import temperature_notes
from thesiskit.models.peers import PEERS

if TYPE_CHECKING:
    from thesiskit.experiments.selection.design import Design


def notes_of(design: Design) -> list[str]:
    """Return notes about the tables of a design, a line each."""
    notes = [note for table in design.tables for note in table.notes]
    wanted = design.config.evaluation.folds
    if design.tables and design.config.scheme == "k-fold" and design.folds < wanted:
        notes.append(
            f"evaluation.folds: {design.folds:,} folds are made, not {wanted:,}, because no "
            "class has more cases"
        )
    notes += screening_notes(design) + temperature_notes(design)
    if any(table.missing for table in design.tables):
        methods = selecting_model(design.config).methods
        notes += [
            f"for {peer.name}, a missing value counts as the {peer.filled} of its feature in the "
            "training set"
            for peer in PEERS.values()
            if peer.name in methods
        ]
    return notes
