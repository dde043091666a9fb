# SPDX-License-Identifier: Apache-2.0
"""Output on its way to frames, gathered for a few milliseconds.

An interpreter that writes a line in three calls would otherwise cost three frames, and a loop that
prints would spend its time on headers. Order between the two streams is kept.
"""

from __future__ import annotations

import threading

from link import Link

_GATHER_SECONDS = 0.01
_GATHER_BYTES = 64 << 10


class Output:
    def __init__(self, link: Link) -> None:
        self._link = link
        self._lock = threading.RLock()
        self._waiting = threading.Event()
        self._pieces: list[tuple[int, bytes]] = []
        self._size = 0

    def start(self) -> None:
        threading.Thread(target=self._flush_forever, name="glovebox-output", daemon=True).start()

    def write(self, kind: int, data: bytes) -> None:
        with self._lock:
            self._pieces.append((kind, data))
            self._size += len(data)
            if self._size >= _GATHER_BYTES:
                self.flush()
                return
        self._waiting.set()

    def flush(self) -> None:
        with self._lock:
            pieces, self._pieces, self._size = self._pieces, [], 0
            at = 0
            while at < len(pieces):
                end = at
                while end < len(pieces) and pieces[end][0] == pieces[at][0]:
                    end += 1
                self._link.send(pieces[at][0], b"".join(data for _, data in pieces[at:end]))
                at = end

    def _flush_forever(self) -> None:
        # Only a second thread can send what was printed before a long computation.
        pause = threading.Event()
        while True:
            self._waiting.wait()
            pause.wait(_GATHER_SECONDS)
            self._waiting.clear()
            self.flush()
