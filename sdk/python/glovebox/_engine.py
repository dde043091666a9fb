# SPDX-License-Identifier: Apache-2.0
"""Glovebox without a daemon: ``libglovebox.so.0``, which starts an engine for this program alone."""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from ctypes import POINTER, c_char, c_char_p, c_int, c_size_t, c_void_p
from typing import Any, List, Optional

from ._program import find_program
from .errors import ConnectionFailed, GloveboxError, ProgramError, ProgramNotFound

LIBRARY = "libglovebox.so.0"
# Of glovebox.h.
OK, NOT_FOUND = 0, 2


class _Options(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t), ("words", POINTER(c_char_p)), ("word_count", c_size_t),
        ("programs", c_char_p), ("log", c_int),
    ]


class _Error(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t), ("code", c_int), ("message", c_char * 1024), ("hint", c_char * 1024),
    ]

    def __init__(self) -> None:
        super().__init__(size=ctypes.sizeof(_Error))

    def texts(self) -> "tuple[str, str]":
        return (self.message.decode("utf-8", "replace"), self.hint.decode("utf-8", "replace"))


def find_library() -> Optional[str]:
    """The library that came with the program ``glovebox``; None without one."""
    try:
        program = os.path.realpath(find_program())
    except ProgramNotFound:
        return None
    path = os.path.join(os.path.dirname(os.path.dirname(program)), "lib", LIBRARY)
    return path if os.path.isfile(path) else None


def _load() -> Any:
    path = find_library()
    if path is None:
        raise ProgramNotFound(
            f"there is no {LIBRARY}",
            "install the wheel of Glovebox, which contains it, or set GLOVEBOX_BIN",
        )
    try:
        library = ctypes.CDLL(path, use_errno=False)
    except OSError as error:
        raise ProgramError(
            f"{path} cannot be loaded: {error}", "use glovebox.Server(), which needs no library"
        ) from None
    library.glovebox_open.argtypes = [POINTER(_Options), POINTER(c_void_p), POINTER(_Error)]
    library.glovebox_connect.argtypes = [c_void_p, POINTER(c_int), POINTER(_Error)]
    library.glovebox_close.argtypes = [c_void_p]
    library.glovebox_close.restype = None
    return library


class Engine:
    """Sandboxes without a daemon: processes of Glovebox for this program alone, which end with it.

        with glovebox.Engine() as engine, glovebox.Client(engine) as client:
            print(client.sandboxes.create().execute("6 * 7").text)

    It starts when it is first used. Several threads and event loops may use it at once; a process
    made by ``os.fork`` gets one of its own.
    """

    def __init__(self, *options: str, log: Optional[int] = None) -> None:
        """`options`: those of ``glovebox serve``. `log`: a descriptor for what the engine logs."""
        self._options = options
        self._log = log
        self._lock = threading.Lock()
        self._library: Any = None
        self._handle: Optional[c_void_p] = None
        self._owner = 0

    def open(self) -> None:
        """Starts it if it does not run. Raises ProgramNotFound or ProgramError."""
        with self._lock:
            self._open()

    def connect(self) -> int:
        """A new connection to it, as a descriptor of a stream socket, for HTTP/1.1. Starts it if it
        does not run. Raises ConnectionFailed if it has ended; the next call starts another one.
        """
        with self._lock:
            self._open()
            connection, error = c_int(-1), _Error()
            code = self._library.glovebox_connect(
                self._handle, ctypes.byref(connection), ctypes.byref(error)
            )
            if code != OK:
                self._close()
                raise ConnectionFailed(*error.texts())
            return connection.value

    def close(self) -> None:
        """Ends it, with all of its sandboxes, and waits for that."""
        with self._lock:
            self._close()

    def __enter__(self) -> "Engine":
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> None:
        if self._handle is not None and self._owner == os.getpid():
            return
        self._library = self._library or _load()
        words: List[bytes] = [os.fsencode(each) for each in self._options]
        options = _Options(
            size=ctypes.sizeof(_Options), words=(c_char_p * len(words))(*words),
            word_count=len(words), log=self._log or 0,
        )
        handle, error = c_void_p(), _Error()
        code = self._library.glovebox_open(
            ctypes.byref(options), ctypes.byref(handle), ctypes.byref(error)
        )
        if code != OK:
            raise _failure(code, error)
        self._handle, self._owner = handle, os.getpid()

    def _close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None and self._owner == os.getpid():
            self._library.glovebox_close(handle)


def _failure(code: int, error: _Error) -> GloveboxError:
    message, hint = error.texts()
    return ProgramNotFound(message, hint) if code == NOT_FOUND else ProgramError(message, hint)


#: The engine of all clients that name none.
shared = Engine()
atexit.register(shared.close)
