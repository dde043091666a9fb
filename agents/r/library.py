# SPDX-License-Identifier: Apache-2.0
"""libR inside this process, by ctypes: start, callbacks, and values from R to Python.

R is embedded and not started as a child because only so do its two output streams stay in order,
readline() reach the outside as a question, and no compiled glue is needed.
"""

from __future__ import annotations

import ctypes
import math
import os
import subprocess
from collections.abc import Callable
from typing import Any

SEXP = ctypes.c_void_p
_WRITE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_int)
_READ = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int
)
_EMIT = ctypes.CFUNCTYPE(SEXP, SEXP, SEXP)

_LOGICAL, _INTEGER, _REAL, _STRING, _LIST = 10, 13, 14, 16, 19
_NA_INTEGER = -(2**31)
_HOMES = ("/usr/lib/R", "/usr/lib64/R", "/usr/local/lib/R", "/usr/local/lib64/R", "/opt/R")


class RMissing(Exception):
    """There is no R here that can be embedded."""


def find_home() -> str:
    for home in (os.environ.get("R_HOME", ""), *_HOMES):
        if home and os.path.exists(f"{home}/lib/libR.so"):
            return home
    try:
        home = subprocess.run(["R", "RHOME"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as failure:
        raise RMissing("R is not installed") from failure
    home = home.strip()
    if not os.path.exists(f"{home}/lib/libR.so"):
        raise RMissing(f"{home} has no lib/libR.so: R was built without its shared library")
    return home


def _prepare_environment(home: str) -> None:
    """What the shell script `R` sets before it starts the program."""
    os.environ["R_HOME"] = home
    for name, folder in (("SHARE", "share"), ("INCLUDE", "include"), ("DOC", "doc")):
        inside, debian = f"{home}/{folder}", f"/usr/share/R/{folder}"
        os.environ.setdefault(f"R_{name}_DIR", inside if os.path.isdir(inside) else debian)
    # Without a UTF-8 locale R prints <U+00E9> for an accented letter.
    if "UTF-8" not in os.environ.get("LC_ALL", "UTF-8").upper().replace("UTF8", "UTF-8"):
        del os.environ["LC_ALL"]
    os.environ.setdefault("LANG", "C.UTF-8")
    if "UTF" not in os.environ["LANG"].upper():
        os.environ["LC_CTYPE"] = "C.UTF-8"
    # The parser's message tells an unfinished expression from a wrong one; it must not be translated.
    os.environ.setdefault("LANGUAGE", "en")


class R:
    """The one R of this process. All calls come from the main thread, which R requires."""

    def __init__(
        self,
        write: Callable[[bytes, bool], None],
        ask: Callable[[str], bytes | None],
        emit: Callable[[str, Any], None],
    ) -> None:
        home = find_home()
        _prepare_environment(home)
        for name in ("libRblas.so", "libRlapack.so"):
            if os.path.exists(f"{home}/lib/{name}"):
                ctypes.CDLL(f"{home}/lib/{name}", ctypes.RTLD_GLOBAL)
        self._lib = ctypes.CDLL(f"{home}/lib/libR.so", ctypes.RTLD_GLOBAL)
        self._declare()
        self._write, self._ask, self._emit = write, ask, emit
        self._line = b""
        arguments = [b"R", b"--no-save", b"--no-restore", b"--no-echo", b"--no-readline"]
        self._argv = (ctypes.c_char_p * len(arguments))(*arguments)
        self._lib.Rf_initEmbeddedR(len(arguments), self._argv)
        self._nil = ctypes.c_void_p.in_dll(self._lib, "R_NilValue").value
        self._pending = ctypes.c_int.in_dll(self._lib, "R_interrupts_pending")
        self._na_string = ctypes.c_void_p.in_dll(self._lib, "R_NaString").value
        # The callbacks are members so that they live as long as R, which holds their addresses.
        self._write_callback = _WRITE(self._on_write)
        self._read_callback = _READ(self._on_read)
        self._emit_callback = _EMIT(self._on_emit)
        for name in ("R_Outputfile", "R_Consolefile", "ptr_R_WriteConsole"):
            ctypes.c_void_p.in_dll(self._lib, name).value = None
        self._point("ptr_R_WriteConsoleEx", self._write_callback)
        self._point("ptr_R_ReadConsole", self._read_callback)
        self._home = self._make_home()
        # readline() asks only in an interactive session.
        ctypes.c_int.in_dll(self._lib, "R_Interactive").value = 1

    def interrupt_is_pending(self) -> bool:
        return self._pending.value != 0

    def forget_interrupt(self) -> None:
        self._pending.value = 0

    def _make_home(self) -> int:
        """An environment that is reached from this object alone: rm(list = ls()) can't hurt it."""
        base = ctypes.c_void_p.in_dll(self._lib, "R_BaseEnv").value
        home = self._checked(self._parse("new.env(parent = baseenv())"), base)
        self._lib.R_PreserveObject(home)
        address = ctypes.cast(self._emit_callback, ctypes.c_void_p)
        tag = self._lib.Rf_install(b"native symbol")
        pointer = self._lib.R_MakeExternalPtrFn(address, tag, self._nil)
        self._lib.Rf_defineVar(self._lib.Rf_install(b"emit_address"), pointer, home)
        return home

    def load(self, path: str) -> None:
        """Evaluates the file where `call` looks functions up."""
        with open(path, encoding="utf-8") as file:
            self._checked(self._parse("{" + file.read() + "\n}"), self._home)

    def call(self, function: str, *arguments: str | int) -> Any:
        """Calls a function of the loaded file; None also when it failed."""
        values = [
            self._lib.Rf_protect(self._lib.Rf_ScalarInteger(value))
            if isinstance(value, int)
            else self._string(value)
            for value in arguments
        ]
        failed = ctypes.c_int(0)
        result = self._lib.R_tryEvalSilent(
            self._call_of(function, values), self._home, ctypes.byref(failed)
        )
        self._lib.Rf_unprotect(len(values))
        return None if failed.value or not result else self._to_python(result)

    def _declare(self) -> None:
        lib, integer, text = self._lib, ctypes.c_int, ctypes.c_char_p
        size = ctypes.c_ssize_t
        for name, result, arguments in (
            ("Rf_install", SEXP, [text]),
            ("Rf_protect", SEXP, [SEXP]),
            ("Rf_unprotect", None, [integer]),
            ("Rf_lang1", SEXP, [SEXP]),
            ("Rf_lcons", SEXP, [SEXP, SEXP]),
            ("Rf_cons", SEXP, [SEXP, SEXP]),
            ("Rf_mkCharLenCE", SEXP, [text, integer, integer]),
            ("Rf_ScalarString", SEXP, [SEXP]),
            ("Rf_ScalarInteger", SEXP, [integer]),
            ("Rf_defineVar", None, [SEXP, SEXP, SEXP]),
            ("R_MakeExternalPtrFn", SEXP, [ctypes.c_void_p, SEXP, SEXP]),
            ("R_PreserveObject", None, [SEXP]),
            ("R_tryEvalSilent", SEXP, [SEXP, SEXP, ctypes.POINTER(integer)]),
            ("R_ParseVector", SEXP, [SEXP, integer, ctypes.POINTER(integer), SEXP]),
            ("Rf_xlength", size, [SEXP]),
            ("TYPEOF", integer, [SEXP]),
            ("INTEGER", ctypes.POINTER(integer), [SEXP]),
            ("LOGICAL", ctypes.POINTER(integer), [SEXP]),
            ("REAL", ctypes.POINTER(ctypes.c_double), [SEXP]),
            ("STRING_ELT", SEXP, [SEXP, size]),
            ("VECTOR_ELT", SEXP, [SEXP, size]),
            ("R_CHAR", text, [SEXP]),
            ("Rf_getAttrib", SEXP, [SEXP, SEXP]),
        ):
            function = getattr(lib, name)
            function.restype, function.argtypes = result, arguments

    def _point(self, name: str, callback: Any) -> None:
        address = ctypes.cast(callback, ctypes.c_void_p).value
        ctypes.c_void_p.in_dll(self._lib, name).value = address

    def _string(self, text: str) -> int:
        """A protected character vector. R strings hold no NUL, so it becomes a visible mark."""
        data = text.replace("\0", "\N{SYMBOL FOR NULL}").encode("utf-8", "replace")
        utf8 = 1
        char = self._lib.Rf_protect(self._lib.Rf_mkCharLenCE(data, len(data), utf8))
        vector = self._lib.Rf_ScalarString(char)
        self._lib.Rf_unprotect(1)
        return self._lib.Rf_protect(vector)

    def _call_of(self, function: str, values: list[int]) -> int:
        arguments = self._nil
        for value in reversed(values):
            arguments = self._lib.Rf_protect(self._lib.Rf_cons(value, arguments))
        call = self._lib.Rf_lcons(self._lib.Rf_install(function.encode()), arguments)
        self._lib.Rf_unprotect(len(values))
        return call

    def _parse(self, source: str) -> int:
        status = ctypes.c_int(0)
        text = self._string(source)
        parsed = self._lib.R_ParseVector(text, 1, ctypes.byref(status), self._nil)
        self._lib.Rf_unprotect(1)
        if status.value != 1:
            raise RMissing("the agent's own R code does not parse")
        return self._lib.VECTOR_ELT(parsed, 0)

    def _checked(self, expression: int, environment: int) -> int:
        failed = ctypes.c_int(0)
        self._lib.Rf_protect(expression)
        value = self._lib.R_tryEvalSilent(expression, environment, ctypes.byref(failed))
        self._lib.Rf_unprotect(1)
        if failed.value:
            raise RMissing("the agent's own R code fails")
        return value

    def _to_python(self, value: int) -> Any:
        """Vectors become lists, named lists become dicts, NA and what JSON lacks become None."""
        lib, kind = self._lib, self._lib.TYPEOF(value)
        if kind not in (_LOGICAL, _INTEGER, _REAL, _STRING, _LIST):
            return None
        size = lib.Rf_xlength(value)
        if kind == _STRING:
            return [self._text(lib.STRING_ELT(value, at)) for at in range(size)]
        if kind == _REAL:
            return [x if math.isfinite(x) else None for x in lib.REAL(value)[:size]]
        if kind == _INTEGER:
            return [None if x == _NA_INTEGER else x for x in lib.INTEGER(value)[:size]]
        if kind == _LOGICAL:
            return [None if x == _NA_INTEGER else bool(x) for x in lib.LOGICAL(value)[:size]]
        items = [self._to_python(lib.VECTOR_ELT(value, at)) for at in range(size)]
        names = lib.Rf_getAttrib(value, lib.Rf_install(b"names"))
        if lib.TYPEOF(names) != _STRING:
            return items
        return dict(zip((self._text(lib.STRING_ELT(names, at)) for at in range(size)), items))

    def _text(self, char: int) -> str | None:
        if char == self._na_string:
            return None
        return self._lib.R_CHAR(char).decode("utf-8", "replace")

    # An exception must not leave a callback: ctypes would print it and hand R a null pointer.

    def _on_write(self, data: int, size: int, is_error: int) -> None:
        try:
            self._write(ctypes.string_at(data, size), bool(is_error))
        except Exception:
            pass

    def _on_read(self, prompt: bytes, buffer: int, size: int, _history: int) -> int:
        # R asks again for the rest of a line that is longer than its buffer.
        if not self._line:
            try:
                line = self._ask(prompt.decode("utf-8", "replace"))
            except Exception:
                line = None
            if line is None:
                return 0
            self._line = line + b"\n"
        piece, self._line = self._line[: size - 1], self._line[size - 1 :]
        ctypes.memmove(buffer, piece + b"\0", len(piece) + 1)
        return 1

    def _on_emit(self, kind: int, payload: int) -> int:
        try:
            self._emit(self._to_python(kind)[0], self._to_python(payload))
        except Exception:
            pass
        return self._nil
