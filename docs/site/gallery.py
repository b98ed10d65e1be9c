"""Writes the gallery: every experiment that comes with thesiskit, with its figures."""

from pathlib import Path


def write_gallery(folder: Path, results: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.md").write_text("# Gallery\n")
