"""Data sets: drawn from a model, published, or the user's own.

Each is a `Source` (datasets/source.py), known by the name that a config gives as `data.source`.
Its module is imported when a config asks for it.  To add one, write its class in a module here,
and name it below; a package of its own names it in its metadata, under the entry points of
`thesiskit.datasets`.  Sources of candidates (thesiskit/registry.py) come last.  What is wrong with
data or settings is a DataError everywhere: where it is, what is wrong, and what to do.
"""

from thesiskit.registry import Registry, all_candidates

SOURCES = Registry(
    "thesiskit.datasets",
    {
        "naive-bayes": "synthetic:NaiveBayesData",
        "mixture": "synthetic:MixtureData",
        "colon": "published:ColonData",
        "microarray": "published:MicroarrayData",
        "breast-cancer": "published:BreastCancerData",
        "file": "tables:FileData",
        "hidden-markov": "sequences:HiddenMarkovData",
        "permuted-hidden-markov": "sequences:PermutedMarkovData",
        "text": "sequences:TextData",
        "sequences": "sequences:SequenceFileData",
        "interactions": "features:InteractionData",
        "tic-tac-toe": "features:TicTacToeData",
        "splice": "published:SpliceData",
        "votes": "published:VotesData",
        "table": "features:TableData",
    },
    {name: place for kind in all_candidates() for name, place in kind.sources.items()},
)
