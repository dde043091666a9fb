# SPDX-License-Identifier: Apache-2.0
"""What a row of the table gets: a daemon, clients of it, and the classes of one of the two kinds."""

import asyncio
import pathlib
import shutil
import tempfile
import threading

import glovebox
from glovebox import Retry


class Base:
    """What both kinds share. `daemon` is that of tests/service/daemon.py, or served.Embedded."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.url = getattr(daemon, "url", None) or f"http://127.0.0.1:{daemon.port}"
        self._folders = []
        self._names = 0

    def folder(self):
        path = pathlib.Path(tempfile.mkdtemp(prefix="gb-sdk."))
        self._folders.append(path)
        return path

    def name(self, prefix):
        """A name that no other row has."""
        self._names += 1
        return f"{prefix}-{type(self).__name__.lower()}-{id(self):x}-{self._names}"

    def discard(self):
        for path in self._folders:
            shutil.rmtree(path, ignore_errors=True)


class AsyncWorld(Base):
    Client, Sandbox, Server = glovebox.AsyncClient, glovebox.AsyncSandbox, glovebox.AsyncServer
    run, judge = staticmethod(glovebox.run_async), staticmethod(glovebox.judge_async)

    def client(self, **options):
        options.setdefault("api_key", self.daemon.key)
        return self.Client(options.pop("url", self.url), **options)

    async def sandbox(self, **options):
        """A sandbox for the row, with a client of its own."""
        return await self.Sandbox.create(url=self.url, api_key=self.daemon.key, **options)

    @staticmethod
    async def together(*calls):
        """Makes calls beside each other."""
        return await asyncio.gather(*(call() for call in calls))

    @staticmethod
    async def wait(seconds):
        await asyncio.sleep(seconds)


class World(Base):
    Client, Sandbox, Server = glovebox.Client, glovebox.Sandbox, glovebox.Server
    run, judge = staticmethod(glovebox.run), staticmethod(glovebox.judge)

    def client(self, **options):
        options.setdefault("api_key", self.daemon.key)
        return self.Client(options.pop("url", self.url), **options)

    def sandbox(self, **options):
        return self.Sandbox.create(url=self.url, api_key=self.daemon.key, **options)

    @staticmethod
    def together(*calls):
        results = [None] * len(calls)
        errors = []

        def make(number, call):
            try:
                results[number] = call()
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=make, args=each) for each in enumerate(calls)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        return results

    @staticmethod
    def wait(seconds):
        threading.Event().wait(seconds)


NO_RETRY = Retry(attempts=0)
