"""Mixing of all orders by dictionaries and loops, as the docstring of models/mixing.py has it."""

from collections import Counter, defaultdict
from itertools import takewhile

import numpy as np

from thesiskit.models.mixing import BLOCK, ENOUGH, MOST_BLOCK, PACE, SETTLED, START, STEPS


class SlowMixing:
    """Contexts are tuples of states, the most recent one first; weights are found by what they are.

    members : for each step the weights, by set, what chooses in it, and the kind of a context.
    """

    def __init__(self, order, n_states, n_classes):
        self.order, self.n_states, self.n_classes = order, n_states, n_classes
        self.counts = {(): Counter()}
        start = max(1 / (order + 1), START / np.sqrt(order + 1))
        self.members = [defaultdict(float) for _ in STEPS]
        self.start = start

    def path(self, history):
        """Return the contexts of a history that are known, and those of the weights of each."""
        backwards = tuple(int(state) for state in history[::-1][: self.order])
        contexts = []
        for depth in range(self.order + 1):
            if backwards[:depth] not in self.counts:
                break
            contexts.append(backwards[:depth])
        totals = [self.counts[context].total() for context in contexts]
        longest = max([d for d, total in enumerate(totals) if total >= ENOUGH], default=0)
        known = [*takewhile(lambda state: 0 <= state < self.n_states, backwards[:3])]
        last = [*known, None, None, None][:3]
        kinds = []
        for depth, (context, total) in enumerate(zip(contexts, totals, strict=True)):
            size = min(11, int(np.log2(total))) if total else 0
            different = min(3, len(self.counts[context])) or 1
            kinds.append((depth, size, different))
        sets = [*enumerate([longest, *last, len(contexts)])]
        return contexts, [[(*choice, *kind) for choice in sets] for kind in kinds]

    def probabilities(self, contexts, keys, member):
        inputs = np.array(
            [
                [np.log1p(self.n_classes * self.counts[context][k]) for k in range(self.n_classes)]
                for context in contexts
            ]
        )
        weight = np.array([self.start + sum(member[key] for key in of_node) for of_node in keys])
        score = weight @ inputs
        p = np.exp(score - score.max())
        return p / p.sum(), inputs

    def predict(self, history):
        contexts, keys = self.path(history)
        return np.mean([self.probabilities(contexts, keys, m)[0] for m in self.members], axis=0)

    def learn(self, histories, response):
        """Learn, and return the losses of the responses before they are learnt."""
        n, losses = len(response), []
        block = max(1, min(MOST_BLOCK, int(BLOCK * n)))
        for t, (history, y) in enumerate(zip(histories, response, strict=True)):
            contexts, keys = self.path(history)
            mean = 0
            for step, member in zip(STEPS, self.members, strict=True):
                p, inputs = self.probabilities(contexts, keys, member)
                mean += p[y] / len(STEPS)
                gradient = inputs[:, y] - inputs @ p
                size = step * (SETTLED / n) ** (1 / 3) / (1 + t / (PACE * n))
                for of_node, g in zip(keys, gradient, strict=True):
                    for key in of_node:
                        member[key] += size * g
            losses.append(-np.log(mean))
            if (t + 1) % block == 0 or t + 1 == n:
                for earlier in range(t - t % block, t + 1):
                    self.count(histories[earlier], int(response[earlier]))
        return np.array(losses)

    def count(self, history, y):
        """Count a response in the known contexts of a history, and in one more."""
        contexts, _ = self.path(history)
        if len(contexts) <= self.order:
            contexts.append((*contexts[-1], int(history[len(history) - len(contexts)])))
            self.counts[contexts[-1]] = Counter()
        for context in contexts:
            self.counts[context][y] += 1
