"""python -m thesiskit.cli."""

from thesiskit.cli import main

main()
