# SPDX-License-Identifier: Apache-2.0
"""The IPython shell of a context, with the habits of a Jupyter kernel and without its cost."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import os
import re
import shlex
import sys
import zlib

from IPython.core import interactiveshell, page, payloadpage
from IPython.core.autocall import ExitAutocall
from IPython.core.compilerop import CachingCompiler
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell, InteractiveShellABC
from IPython.core.magic import Magics, line_magic, magics_class
from IPython.core.profiledir import ProfileDir
from traitlets import Any, CBool, Instance, Type, default

try:
    from pickleshare import PickleShareDB
except ImportError:  # IPython has done without it since 8.24.
    PickleShareDB = None

from .awaiting import AwaitRunner
from .cells import MemoryHistory
from .display import AgentDisplayFormatter, AgentDisplayHook, AgentDisplayPublisher
from .process import run_shell_command
from .running import PlainRunner
from .widgets import Kernel

__builtins__ = dict(vars(builtins))

PROFILE = "/tmp/.ipython"
_OUR_DIRECTORY = os.path.dirname(__file__) + "/"
_PIP_INSTALL = re.compile(r"\bpip3?(\.\d+)?['\"]?\s+install\b")
_NO_PACKAGE_SOURCE = (
    "glovebox: pip found nothing, because this sandbox has no source of packages\n"
    "  hint: start it with --package-source DIR, --package-index pip:SOCKET or --allow-net pypi.org "
    "--allow-net files.pythonhosted.org; in a sandbox of a daemon, POST /v1/sandboxes/ID/packages"
)
_REFUSED_PACKAGE_SOURCE = (
    "glovebox: pip installed nothing; it reaches only what the network rules allow\n"
    "  hint: PyPI needs --allow-net pypi.org --allow-net files.pythonhosted.org"
)


def _pip_advice() -> str | None:
    """What helps where pip could not install; None where a source of packages was given."""
    environ = os.environ
    if environ.get("PIP_FIND_LINKS") or environ.get("PIP_INDEX_URL"):
        return None
    return _REFUSED_PACKAGE_SOURCE if environ.get("HTTPS_PROXY") else _NO_PACKAGE_SOURCE


def _is_ours(entry) -> bool:
    return entry.tb_frame.f_code.co_filename.startswith(_OUR_DIRECTORY)


class Profile(ProfileDir):
    """A profile that makes no directories: a zygote has nowhere to write."""

    def _location_changed(self, change) -> None:
        pass


class LazyDatabase:
    """What %store and its like write to; made on disk when first asked for, not at start."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._database = None

    def _open(self):
        if self._database is None:
            self._database = PickleShareDB(self._root)
        return self._database

    def __getattr__(self, name):
        return getattr(self._open(), name)

    def __getitem__(self, key):
        return self._open()[key]

    def __setitem__(self, key, value) -> None:
        self._open()[key] = value

    def __delitem__(self, key) -> None:
        del self._open()[key]

    def __contains__(self, key) -> bool:
        return key in self._open()


if PickleShareDB is not None:
    interactiveshell.PickleShareDB = LazyDatabase


class CellCompiler(CachingCompiler):
    """Names a cell by its text, as a file that could exist: some libraries take <...> apart."""

    directory = f"/tmp/glovebox_{os.getpid()}"

    def get_code_name(self, raw_code, transformed_code, number):
        return f"{self.directory}/{zlib.crc32(raw_code.encode('utf-8', 'surrogatepass'))}.py"


class ContextExit(ExitAutocall):
    """`exit` and `quit`: end this context."""

    def __call__(self, keep_kernel=False):
        self._ip.ask_exit()


@magics_class
class AgentMagics(Magics):
    @line_magic
    def edit(self, line):
        """There is no terminal for an editor to run in."""
        raise UsageError("%edit needs a terminal; use %%writefile or %load instead")

    @line_magic
    def pip(self, line):
        """Runs pip with this interpreter, which sees at once what pip has installed."""
        self.shell.system(f"{shlex.quote(sys.executable)} -m pip {line}")


class AgentShell(InteractiveShell):
    displayhook_class = Type(AgentDisplayHook)
    display_pub_class = Type(AgentDisplayPublisher)
    exiter = Instance(ContextExit)
    autoindent = CBool(False)
    context = Any()

    # Plain attributes instead of traits: each cell sets them, and nothing observes them.
    execution_count = 1
    last_execution_succeeded = True
    last_execution_result = None
    history_manager = None

    # Libraries tell a notebook from a terminal by this name: pandas cuts wide frames in the former.
    kernel = Kernel()

    exit_asked = False
    # Ctrl-C has cancelled the coroutine of the cell that runs.
    cell_interrupted = False
    last_traceback = None
    _plain_runner = None

    @default("loop_runner")
    def _default_loop_runner(self):
        return AwaitRunner(self)

    @default("exiter")
    def _default_exiter(self):
        return ContextExit(self)

    def init_ipython_dir(self, ipython_dir) -> None:
        pass

    def init_profile_dir(self, profile_dir) -> None:
        self.profile_dir = Profile(location=PROFILE)

    def init_history(self) -> None:
        # In memory: %history works, and no cell waits for a database.
        self.history_manager = MemoryHistory(shell=self, parent=self)
        self.configurables.append(self.history_manager)

    def init_environment(self) -> None:
        """Programs that the guest starts find no terminal, so they get no pager."""
        os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
        os.environ["TERM"] = "xterm-color"
        os.environ["CLICOLOR"] = "1"
        os.environ["PAGER"] = "cat"
        os.environ["GIT_PAGER"] = "cat"

    def init_virtualenv(self) -> None:
        pass

    def init_hooks(self) -> None:
        super().init_hooks()
        self.set_hook("show_in_pager", page.as_hook(payloadpage.page), 99)

    def init_display_formatter(self) -> None:
        self.display_formatter = AgentDisplayFormatter(parent=self)
        self.display_formatter.learn_printers()
        self.configurables.append(self.display_formatter)

    def init_display_pub(self) -> None:
        super().init_display_pub()
        self.display_pub.context = self.context

    def init_displayhook(self) -> None:
        super().init_displayhook()
        self.displayhook.context = self.context

    def init_magics(self) -> None:
        super().init_magics()
        self.register_magics(AgentMagics)
        self.magics_manager.register_alias("ed", "edit")

    def init_completer(self) -> None:
        super().init_completer()
        # Jedi would parse whole libraries in the guest's process, and runs for seconds.
        self.Completer.use_jedi = False

    def enable_gui(self, gui=None) -> None:
        if gui not in (None, "inline", "agg", "asyncio"):
            raise UsageError(f"Invalid GUI request {gui!r}: no display is available")
        self.active_eventloop = gui

    def ask_exit(self) -> None:
        self.exit_asked = True

    def set_next_input(self, text, replace=False) -> None:
        self.payload_manager.write_payload(
            {"source": "set_next_input", "text": text, "replace": replace}
        )

    def run_cell(
        self, raw_cell, store_history=False, silent=False, shell_futures=True, cell_id=None
    ):
        self.cell_interrupted = False
        if self._plain_runner is None:
            self._plain_runner = PlainRunner(self)
        if shell_futures and not silent and cell_id is None:
            result = self._plain_runner.run(raw_cell, store_history)
            if result is not None:
                self._show_changes()
                return result
        result = super().run_cell(raw_cell, store_history, silent, shell_futures, cell_id)
        self._show_changes()
        return result

    def _show_changes(self) -> None:
        # A cell of %%capture has a publisher of its own.
        if isinstance(self.display_pub, AgentDisplayPublisher):
            self.display_pub.show_changes()

    def _tee(self, channel):
        """IPython 9 would keep all that cells print."""
        return contextlib.nullcontext()

    def should_run_async(self, raw_cell, *, transformed_cell=None, preprocessing_exc_tuple=None):
        # Each way to wait at the top level is spelled with one of these two words.
        if transformed_cell is not None and not (
            "await" in transformed_cell or "async" in transformed_cell
        ):
            return False
        return super().should_run_async(
            raw_cell,
            transformed_cell=transformed_cell,
            preprocessing_exc_tuple=preprocessing_exc_tuple,
        )

    def _get_exc_info(self, exc_tuple=None):
        etype, value, tb = super()._get_exc_info(exc_tuple)
        if self._is_interrupt(etype) and etype is not KeyboardInterrupt:
            etype, value = KeyboardInterrupt, KeyboardInterrupt()
        # What our code raises on top of the guest's line, such as the end of its input, is told as
        # raised there. An interrupt may also be raised below what our streams call.
        guests = None
        entry = tb
        while entry is not None:
            if not _is_ours(entry):
                guests = entry
            elif guests is not None and etype is KeyboardInterrupt:
                break
            entry = entry.tb_next
        if guests is not None:
            guests.tb_next = None
        return etype, value, tb

    def showtraceback(self, *args, **kwargs) -> None:
        if not self._is_interrupt(sys.exc_info()[0]):
            super().showtraceback(*args, **kwargs)
            return
        # The outside interrupts again until the cell has ended, and the first traceback of a process
        # takes longer than it waits.
        wire = self.context.wire
        allowed, wire.interruptible = wire.interruptible, False
        try:
            super().showtraceback(*args, **kwargs)
        finally:
            wire.interruptible = allowed

    def _is_interrupt(self, etype) -> bool:
        """Whether an error of this type, raised in the cell, is what Ctrl-C looks like there."""
        return etype is KeyboardInterrupt or (
            self.cell_interrupted and etype is asyncio.CancelledError
        )

    def _showtraceback(self, etype, evalue, stb) -> None:
        self.last_traceback = stb
        self.context.emit_error(etype, evalue, stb)

    def system_piped(self, cmd: str) -> None:
        if cmd.rstrip().endswith("&"):
            raise OSError("Background processes not supported.")
        command = self.var_expand(cmd, depth=1)
        exit_code = self.user_ns["_exit_code"] = run_shell_command(command)
        if exit_code != 0 and _PIP_INSTALL.search(command):
            advice = _pip_advice()
            if advice is not None:
                print(advice, file=sys.stderr)
        # The rest of the cell may import what the command installed.
        self.context.sites.follow()

    system = system_piped


InteractiveShellABC.register(AgentShell)
