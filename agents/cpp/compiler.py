# SPDX-License-Identifier: Apache-2.0
"""A translation unit to a loaded shared object, with g++ and the dynamic linker."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable

_FLAGS = ["-std=c++20", "-O1", "-fPIC", "-w", "-fgnu-unique"]
_SAY = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
_OUTPUT_LIMIT = 64 << 10


class CompilationError(Exception):
    """The compiler's messages."""


class Compiler:
    def __init__(self, built: str | None) -> None:
        """`built`: a folder with glovebox.h and its precompiled form, as build.sh writes it."""
        self._folder = tempfile.mkdtemp(prefix="glovebox-cpp-")
        own = os.path.dirname(os.path.abspath(__file__))
        if built is not None and os.path.exists(f"{built}/glovebox.h.gch"):
            self._header = f"{built}/glovebox.h"
        else:
            self._header = f"{self._folder}/glovebox.h"
            shutil.copyfile(f"{own}/glovebox.h", self._header)
            threading.Thread(target=self._precompile, daemon=True).start()
        # gold links a shared object in half the time of the usual linker.
        self._linker = ["-fuse-ld=gold"] if shutil.which("ld.gold") else []
        self._callback = None

    def version(self) -> str:
        command = ["g++", "-dumpfullversion"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def load(self, text: str, number: int) -> ctypes.CDLL:
        """Compiles, links and loads. Raises CompilationError."""
        base = f"{self._folder}/cell{number}"
        with open(f"{base}.cc", "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        try:
            self._run([*_FLAGS, "-include", self._header, "-S", "-o", f"{base}.s", f"{base}.cc"])
            self._take_initialisers(f"{base}.s")
            self._run(["-shared", *self._linker, "-o", f"{base}.so", f"{base}.s"])
            # Bound now, so that a function without a body is an error here and not in the run.
            return ctypes.CDLL(f"{base}.so", os.RTLD_NOW | os.RTLD_GLOBAL)
        except OSError as failure:
            raise CompilationError(re.sub(r"^\S*?: ", "", str(failure))) from failure
        finally:
            for ending in (".cc", ".s", ".so"):
                if os.path.exists(base + ending):
                    os.unlink(base + ending)

    def run(self, library: ctypes.CDLL, say: Callable[[int, bytes], None]) -> int:
        """Runs a cell's initialisers. Answers the item that failed, or -1."""

        def on_say(kind: int, data: int, size: int) -> None:
            try:
                say(kind, ctypes.string_at(data, size))
            except Exception:
                pass  # An exception can't pass through C++.

        self._callback = _SAY(on_say)
        return library.glovebox_run(self._callback)

    def _take_initialisers(self, path: str) -> None:
        """Renames the section of initialisers, which the dynamic linker would run by itself.

        Run by us they may throw, and be interrupted; an exception can't leave dlopen.
        """
        with open(path, encoding="utf-8") as file:
            text = file.read()
        text = re.sub(r'(?m)^\t\.section\t\.init_array\b[^,\n]*,"aw(G?)"(?:,@\w+)?', _renamed, text)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def _run(self, arguments: list[str]) -> None:
        # Not in our process group's foreground: an interrupt is for us, and we end the compiler.
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "TMPDIR": self._folder}
        with subprocess.Popen(
            ["g++", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        ) as process:
            try:
                _, errors = process.communicate()
            except BaseException:
                process.kill()
                raise
        if process.returncode != 0:
            raise CompilationError(errors[:_OUTPUT_LIMIT].decode("utf-8", "replace"))

    def _precompile(self) -> None:
        """Without a build beforehand the first cells are slow; the others need not be."""
        ready, target = f"{self._folder}/header.tmp", f"{self._header}.gch"
        try:
            self._run([*_FLAGS, "-x", "c++-header", self._header, "-o", ready])
            os.rename(ready, target)
        except (CompilationError, OSError):
            pass  # Cells compile without it, only slower.


def _renamed(match: re.Match[str]) -> str:
    return f'\t.section\tglovebox_init,"aw{match.group(1)}",@progbits'
