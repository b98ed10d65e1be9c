"""Mixing of all orders by dictionaries and loops, as the docstring of models/mixing.py has it."""

from collections import Counter, defaultdict

import numpy as np

from thesiskit.models.mixing import ENOUGH, PACE, SETTLED, START, STEPS


class SlowMixing:
    """Contexts are tuples of states, the most recent one first; weights are found by what they are.

    members : for each step the weights by the longest reliable context, and by the last state.
    """

    def __init__(self, order, n_states, n_classes):
        self.order, self.n_states, self.n_classes = order, n_states, n_classes
        self.counts = {(): Counter()}
        start = max(1 / (order + 1), START / np.sqrt(order + 1))
        self.members = [(defaultdict(lambda: start), defaultdict(float)) for _ in STEPS]

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
        last = backwards[0] if backwards and 0 <= backwards[0] < self.n_states else None
        kinds = []
        for depth, (context, total) in enumerate(zip(contexts, totals, strict=True)):
            size = min(11, int(np.log2(total))) if total else 0
            different = min(3, len(self.counts[context])) or 1
            kinds.append((depth, size, different))
        return contexts, [((longest, *kind), (last, *kind)) for kind in kinds]

    def probabilities(self, contexts, keys, member):
        inputs = np.array(
            [
                [np.log1p(self.n_classes * self.counts[context][k]) for k in range(self.n_classes)]
                for context in contexts
            ]
        )
        by_length, by_state = member
        weight = np.array([by_length[a] + by_state[b] for a, b in keys])
        score = weight @ inputs
        p = np.exp(score - score.max())
        return p / p.sum(), inputs

    def predict(self, history):
        contexts, keys = self.path(history)
        return np.mean([self.probabilities(contexts, keys, m)[0] for m in self.members], axis=0)

    def learn(self, histories, response):
        """Learn, and return the losses of the responses before they are learnt."""
        n, losses = len(response), []
        for t, (history, y) in enumerate(zip(histories, response, strict=True)):
            contexts, keys = self.path(history)
            mean = 0
            for step, member in zip(STEPS, self.members, strict=True):
                p, inputs = self.probabilities(contexts, keys, member)
                mean += p[y] / len(STEPS)
                gradient = inputs[:, y] - inputs @ p
                size = step * (SETTLED / n) ** (1 / 3) / (1 + t / (PACE * n))
                for (a, b), g in zip(keys, gradient, strict=True):
                    member[0][a] += size * g
                    member[1][b] += size * g
            losses.append(-np.log(mean))
            if len(contexts) <= self.order:
                state = int(history[len(history) - len(contexts)])
                contexts.append((*contexts[-1], state))
                self.counts[contexts[-1]] = Counter()
            for context in contexts:
                self.counts[context][int(y)] += 1
        return np.array(losses)
