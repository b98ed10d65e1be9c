"""Converts a page to a Jupyter notebook, with a cell for each block of code."""

import json
import re

BLOCK = re.compile(r"^```([^\n`]*)\n(.*?)^```$\n?", re.MULTILINE | re.DOTALL)


def cell(kind: str, text: str) -> dict:
    """Return a cell of code or of Markdown."""
    lines = text.strip().splitlines(keepends=True)
    code = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": lines} | code


def code(language: str, text: str) -> str:
    """Return a block as a cell has it: commands of a shell begin with !, and print anew."""
    if language == "console":
        return "!" + text.removeprefix("$ ").partition("\n")[0]
    if language == "sh":
        return "\n".join(f"!{line}" for line in text.splitlines())
    return text.strip()


def notebook(page: str) -> dict:
    """Return the notebook of a page of Markdown."""
    cells = []
    # text, language, block, text, language, block, ..., text
    for i, part in enumerate(BLOCK.split(page)):
        if i % 3 == 0 and part.strip():
            cells.append(cell("markdown", part))
        elif i % 3 == 1:
            language = part
        elif i % 3 == 2:
            cells.append(cell("code", code(language, part)))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 4}


def as_text(page: str) -> str:
    """Return the file of the notebook of a page."""
    return json.dumps(notebook(page), indent=1) + "\n"
