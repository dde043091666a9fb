# SPDX-License-Identifier: Apache-2.0
"""sdk/python/generate as a module: it has no ending that Python would find it by."""

import functools
import importlib.machinery
import importlib.util
import pathlib

PATH = pathlib.Path(__file__).resolve().parents[1] / "generate"


@functools.lru_cache(maxsize=None)
def generator():
    loader = importlib.machinery.SourceFileLoader("generate", str(PATH))
    spec = importlib.util.spec_from_loader("generate", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
