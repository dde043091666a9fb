# SPDX-License-Identifier: Apache-2.0
"""Runs a cell of plain Python without IPython's general way of running cells, which costs more than
most cells do. What a cell can see of it is the same; whatever is special goes the general way."""

from __future__ import annotations

import builtins
import linecache
import re
import time

from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult

from .cells import PlainCells

__builtins__ = dict(vars(builtins))

# Words that begin a statement of which the interactive mode shows more than its value.
_COMPOUND = re.compile(r"(?:for|while|if|with|try|def|class|match)\b|@")
_time = time.time


class PlainRunner:
    def __init__(self, shell) -> None:
        self._shell = shell
        self._cells = PlainCells(shell)
        # What IPython itself has registered for the time before a cell.
        self._before = [shell._clear_warning_registry]

    def run(self, cell: str, store_history: bool) -> ExecutionResult | None:
        """Runs the cell, or answers None with nothing done if it isn't plain."""
        shell = self._shell
        source = self._cells.transformed(cell)
        # Each way to wait at the top level is spelled with one of these two words.
        if source is None or "await" in source or "async" in source or not self._shell_is_plain():
            return None
        compiler = shell.compile
        number = shell.execution_count
        name = compiler.get_code_name(cell, source, number)
        code = nodes = None
        try:
            if source.count("\n") == 1 and ";" not in source and _COMPOUND.match(source) is None:
                # One statement: its value is shown if it has one.
                code = compiler(source, name, "single")
            else:
                nodes = compiler.ast_parse(source, filename=name).body
        except Exception:
            # IPython knows how to show what is wrong with it.
            return None
        result = ExecutionResult(ExecutionInfo(cell, store_history, False, True, None))
        try:
            shell._clear_warning_registry()
            if store_history:
                result.execution_count = number
                shell.history_manager.store_inputs(number, source, cell)
            remember(compiler, name, source, number)
            hook = shell.displayhook
            with shell.builtin_trap, shell.display_trap:
                hook.exec_result = result
                if nodes is None:
                    # Nothing comes between the value and the end of the cell.
                    hook.value_ends_cell = not self._is_awaited()
                    running = shell.run_code(code, result)
                else:
                    running = shell.run_ast_nodes(
                        nodes, name, shell.ast_node_interactivity, compiler, result
                    )
                failed = self._finish(running, result)
                shell.last_execution_succeeded = not failed
                shell.last_execution_result = result
                hook.exec_result = None
            if store_history:
                shell.execution_count += 1
        finally:
            if self._is_awaited():
                shell.events.trigger("post_execute")
                shell.events.trigger("post_run_cell", result)
        return result

    def _shell_is_plain(self) -> bool:
        """Whether the guest has left alone what would have a say in the running of a cell."""
        shell = self._shell
        return not (
            shell.ast_transformers
            or shell.trio_runner
            or shell.logger.log_active
            or shell.ast_node_interactivity != "last_expr"
            or shell.events.callbacks["pre_run_cell"]
            or shell.events.callbacks["pre_execute"] != self._before
        )

    def _is_awaited(self) -> bool:
        """Whether somebody registered for the end of a cell."""
        callbacks = self._shell.events.callbacks
        return bool(callbacks["post_execute"] or callbacks["post_run_cell"])

    def _finish(self, running, result) -> bool:
        """Drives a coroutine that has nothing to wait for; answers whether the cell failed."""
        try:
            running.send(None)
        except StopIteration as end:
            return bool(end.value)
        except BaseException as error:
            result.error_before_exec = error
            self._shell.showtraceback()
            return True
        finally:
            self._shell.displayhook.value_ends_cell = False
        raise RuntimeError("a cell without await waits")


def remember(compiler, name: str, source: str, number: int) -> None:
    """Keeps the source of a cell for tracebacks, as IPython's compiler does."""
    compiler._filename_map[name] = number
    lines = [line + "\n" for line in source.splitlines()]
    entry = (len(source), _time(), lines, name)
    linecache.cache[name] = entry
    linecache._ipython_cache[name] = entry
