# SPDX-License-Identifier: Apache-2.0
"""Runs what first cells run, in the zygote, so that a context finds it done.

Afterwards no trace of these cells is left that a guest could see by itself.
"""

from __future__ import annotations

import builtins
import importlib
import linecache
import sys

from IPython.core import async_helpers

from . import fresh

__builtins__ = dict(vars(builtins))

GENERAL = (
    "x = 1",
    "x + 1",
    "print('x')",
    "'a' 'b'",
    "[x for x in range(3)]",
    "def f(a):\n    return a * 2\nf(3)",
    "for i in range(3):\n    print(i)",
    "import os, sys, json, re, math\nos.getcwd()",
    "display({'a': 1.5})",
    "%who",
    "len?",
    "1 / 0",
    "import asyncio\nawait asyncio.sleep(0)",
)
BY_MODULE = {
    "numpy": ("import numpy as np\nnp.arange(6).reshape(2, 3).mean(axis=0)",),
    "pandas": (
        "import pandas as pd\nt = pd.DataFrame({'a': [1, 2, 3], 'b': ['x', 'y', None]})\nt",
        "t.a.sum(), t.describe(), t.groupby('b').a.mean()",
        "import io\npd.read_csv(io.StringIO('a,b\\n1,2\\n3,4'))",
        "t.a",
        "t.a.sum()",
    ),
    "matplotlib": (
        "import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4])\nplt.title('x')\nplt.show()",
        "plt.bar(['a', 'b'], [1, 2])",
    ),
    "sympy": ("import sympy\nsympy.Symbol('x') ** 2 / 3",),
    "plotly": ("import plotly.graph_objects as go\ngo.Figure(go.Bar(x=['a'], y=[1]))",),
    "PIL": ("import PIL.Image\nPIL.Image.new('RGB', (2, 2))",),
}
ROUNDS = 2
# Drawing a chart takes longer than all else together, and runs each of its loops often enough.
DRAWING = {"matplotlib", "plotly"}


def warm(context, modules) -> set[str]:
    """Answers the packages that were imported."""
    shell = context.shell
    before = dict(shell.user_ns)
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = context.streams.stdout, context.streams.stderr
    try:
        roots = _import(modules)
        shell.display_formatter.learn_numbers()
        for number in range(ROUNDS):
            for cell in GENERAL:
                _run(context, cell)
            for cells in cells_of(roots, number):
                for cell in cells:
                    _run(context, cell)
        context.query_all("x = 1\nx.", 8)
        fresh.renew()
    finally:
        context.streams.dismiss_helper()
        context.streams.flush()
        sys.stdout, sys.stderr = streams
    forget(shell, before)
    return roots


def cells_of(roots, number) -> list[tuple[str, ...]]:
    """The cells of each of these packages that are worth running in round `number`, from 0."""
    return [
        cells
        for root, cells in BY_MODULE.items()
        if root in roots and (number == 0 or root not in DRAWING)
    ]


def _import(modules) -> set[str]:
    """Imports what there is; answers the packages whose cells are worth running."""
    roots = set()
    for name in modules:
        try:
            importlib.import_module(name)
        except (Exception, SystemExit):
            # The template's build has told its maker; the guest's import will say so again.
            continue
        roots.add(name.partition(".")[0])
    return roots


def _run(context, cell: str) -> None:
    context.shell.run_cell(cell, store_history=True)
    context.shell.payload_manager.clear_payload()


def forget(shell, before: dict) -> None:
    # Its descriptors do not come along into a fork; IPython makes another loop then.
    async_helpers.get_asyncio_loop().close()
    history = shell.history_manager
    history.reset(new_session=False)
    history.input_hist_parsed[:] = [""]
    history.input_hist_raw[:] = [""]
    history.output_hist_reprs.clear()
    history._i00 = history._i = history._ii = history._iii = ""
    shell.displayhook.flush()
    shell.execution_count = 1
    shell.last_execution_succeeded = True
    shell.last_execution_result = None
    for name in list(shell.user_ns):
        if name not in before:
            del shell.user_ns[name]
    shell.user_ns.update(before)
    shell.user_ns.pop("__warningregistry__", None)
    for name in shell.compile._filename_map:
        linecache.cache.pop(name, None)
        linecache._ipython_cache.pop(name, None)
    shell.compile._filename_map.clear()
    for name in ("last_type", "last_value", "last_traceback"):
        if hasattr(sys, name):
            delattr(sys, name)
    shell.InteractiveTB.tb = None
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
