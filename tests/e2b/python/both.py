# SPDX-License-Identifier: Apache-2.0
"""One test for both clients of E2B's SDK for Python: the one that blocks, and the one that waits."""
import asyncio
import functools
import inspect

import e2b
import e2b_code_interpreter


class Kind:
    def __init__(self, prefix):
        self.name = prefix.lower() or "blocking"
        self.Sandbox = getattr(e2b_code_interpreter, prefix + "Sandbox")
        self.Template = getattr(e2b, prefix + "Template")
        self.Volume = getattr(e2b, prefix + "Volume")
        self.Secret = getattr(e2b, prefix + "Secret")


KINDS = [Kind(""), Kind("Async")]


async def now(value):
    """The value, or what it is once it has been waited for."""
    return await value if inspect.isawaitable(value) else value


async def pieces(stream):
    if hasattr(stream, "__aiter__"):
        return [each async for each in stream]
    return list(stream)


async def every(paginator):
    found = []
    while paginator.has_next:
        found += await now(paginator.next_items())
    assert paginator.next_token is None
    return found


def of_both(test):
    """Runs an asynchronous test with each kind."""
    @functools.wraps(test)
    def run(self):
        for kind in KINDS:
            with self.subTest(kind.name):
                asyncio.run(test(self, kind))
    return run


def with_sandbox(test):
    """Likewise, with a sandbox of the kind."""
    @functools.wraps(test)
    async def use(self, kind):
        sandbox = await now(kind.Sandbox.create(timeout=120))
        try:
            await test(self, kind, sandbox)
        finally:
            await now(sandbox.kill())
    return of_both(use)
