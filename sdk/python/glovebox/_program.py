# SPDX-License-Identifier: Apache-2.0
"""The ``glovebox`` program: where it is, and what it is called with."""

from __future__ import annotations

import os
import shutil
import site
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Iterator, List, Mapping, Optional, Sequence

from ._generated.requests import Checker, JudgeCase, Limits, Network
from ._model import Duration, encode
from .errors import ProgramNotFound

# One argument of a program may have 128 KiB; longer code goes through a file.
MOST_ARGUMENT = 100_000
_ENDINGS = {"python": "py", "javascript": "js", "typescript": "ts", "bash": "sh", "c++": "cpp",
            "csharp": "cs", "rust": "rs", "ruby": "rb", "perl": "pl"}


def find_program() -> str:
    """The path of the program: ``GLOVEBOX_BIN`` (the program or its directory), else the one that
    came with this package, else the one on PATH. Raises ProgramNotFound.
    """
    named = os.environ.get("GLOVEBOX_BIN")
    if named:
        path = os.path.join(named, "glovebox") if os.path.isdir(named) else named
        if not os.access(path, os.X_OK):
            raise ProgramNotFound(f"GLOVEBOX_BIN names '{named}', which is not a program")
        return path
    for directory in _beside():
        path = os.path.join(directory, "glovebox")
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    found = shutil.which("glovebox")
    if found is None:
        raise ProgramNotFound(
            "there is no 'glovebox' program",
            "install the wheel of Glovebox, which contains it, put it on PATH, or set GLOVEBOX_BIN",
        )
    return found


def _beside() -> Iterator[str]:
    """Where pip may have put the program when it installed this package."""
    package = Path(__file__).resolve().parent.parent
    if (package / "glovebox").is_dir() and package.name in ("site-packages", "dist-packages"):
        # PREFIX/lib/python3.X/site-packages, whatever the prefix is.
        yield str(package.parents[2] / "bin")
    yield str(package / "bin")  # pip install --target
    yield sysconfig.get_path("scripts")
    if site.ENABLE_USER_SITE:
        yield os.path.join(site.getuserbase(), "bin")
    yield os.path.dirname(sys.executable)


class Arguments:
    """The command line of ``glovebox run`` or ``glovebox judge``, with the files that it names.

    A context manager: the files end with it.
    """

    def __init__(self, *start: str) -> None:
        self.words: List[str] = list(start)
        self._folder: Optional[str] = None

    def __enter__(self) -> "Arguments":
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def folder(self, name: str) -> Path:
        """A directory that ends with the arguments."""
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="glovebox-")
        path = Path(self._folder, name)
        path.mkdir(exist_ok=True)
        return path

    def option(self, name: str, value: Optional[object]) -> None:
        if value is not None:
            self.words.append(f"--{name}={value}")

    def code(self, code: str, name: Optional[str]) -> None:
        """The program itself."""
        if name is None and len(code.encode("utf-8", "surrogatepass")) < MOST_ARGUMENT \
                and "\0" not in code:
            self.words.append(f"--code={code}")
            return
        path = self.folder("code") / (os.path.basename(name) if name else "code")
        path.write_text(code, encoding="utf-8", errors="surrogatepass")
        self.words.append(str(path))

    def stdin(self, text: Optional[str]) -> None:
        if text is not None:
            path = self.folder("stdin") / "stdin"
            path.write_text(text, encoding="utf-8", errors="surrogatepass")
            self.option("stdin", path)

    def files(self, files: Optional[Mapping[str, str]]) -> None:
        for number, (name, content) in enumerate((files or {}).items()):
            path = self.folder("files") / str(number)
            path.write_text(content, encoding="utf-8", errors="surrogatepass")
            self.option("file", f"{path}:{name}")

    def env(self, env: Optional[Mapping[str, str]]) -> None:
        for name, value in (env or {}).items():
            self.option("env", f"{name}={value}")

    def limits(self, limits: Optional[Limits]) -> None:
        for name, value in (limits.to_json() if limits is not None else {}).items():
            # Sizes and counts are whole numbers; the program reads times with their unit.
            is_time = name in ("time", "cpu_time") and not isinstance(value, str)
            self.option(name.replace("_", "-"), f"{value}s" if is_time else value)

    def network(self, network: Optional[Network]) -> None:
        if network is None:
            return
        if network.default == "allow" or network.precedence == "allow":
            raise ValueError("without a daemon, a network has only 'allow' and 'deny' rules")
        for rule in network.allow or []:
            self.option("allow-net", rule)
        for rule in network.deny or []:
            self.option("deny-net", rule)

    def cases(self, cases: Sequence[JudgeCase]) -> None:
        """The cases as ``glovebox judge`` reads them."""
        folder = self.folder("cases")
        settings = []
        for number, case in enumerate(cases, 1):
            name = case.name or str(number)
            if "/" in name or name.startswith(".") or not name:
                raise ValueError(f"invalid name of a case: '{name}'")
            (folder / f"{name}.in").write_text(case.input or "", encoding="utf-8")
            (folder / f"{name}.out").write_text(case.expected or "", encoding="utf-8")
            memory = None if case.memory is None else str(case.memory)
            own = {"points": case.points, "time": _seconds(case.time), "memory": memory}
            lines = [f"{key} = {_toml(value)}" for key, value in own.items() if value is not None]
            if lines:
                settings.append("\n".join([f"[{_toml(name)}]", *lines]))
        if settings:
            (folder / "cases.toml").write_text("\n".join(settings) + "\n", encoding="utf-8")
        self.option("cases", folder)

    def checker(self, checker: Optional[Checker]) -> None:
        if checker is not None:
            # The program detects the checker's language by the ending of its name.
            ending = _ENDINGS.get(checker.language, checker.language)
            name = os.path.basename(checker.name or f"checker.{ending}")
            path = self.folder("checker") / name
            path.write_text(checker.code, encoding="utf-8")
            self.option("checker", path)


def _seconds(time: Optional[Duration]) -> Optional[str]:
    value = encode(time)
    return value if value is None or isinstance(value, str) else f"{value}s"


def _toml(value: object) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(value)

