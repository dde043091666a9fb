# SPDX-License-Identifier: Apache-2.0
"""Kills one part of a daemon, and says beforehand what may be lost with it."""

import contextlib
import os
import signal

from daemon import wait_until
from load import NAMES_PROCESSES
from traces import has_ended, name_of, named, parents, start_time


class Killer:
    def __init__(self, daemon, oracle, footprint, restarting, chance):
        self.daemon = daemon
        self.oracle = oracle
        self.footprint = footprint
        self.restarting = restarting
        self.chance = chance
        self.killed = {}

    def kill_something(self):
        kinds = [
            (self.of_the_daemon, 40),
            (self.of_the_keeper, 4),
            (self.of_both, 3),
            (self.of_a_file_server, 8),
        ]
        # The others are found by names that processes inside have on the host.
        kinds += [
            (self.of_a_warden, 15),
            (self.of_a_realm, 4),
            (self.of_a_zygote, 8),
            (self.of_an_interpreter, 15),
        ] if NAMES_PROCESSES else [(self.of_a_sandbox, 15)]
        functions, weights = zip(*kinds)
        self.footprint.gather()
        function = self.chance.choices(functions, weights)[0]
        # Where there is none of a kind now, there is a daemon.
        if not function():
            function = self.of_the_daemon
            function()
        name = function.__name__.removeprefix("of_")
        self.killed[name] = self.killed.get(name, 0) + 1

    def of_the_daemon(self):
        with self.restarting:
            self.daemon.kill()
            self.daemon.start()
        return True

    def of_the_keeper(self):
        old = self.daemon.keeper()
        with self.oracle.end_of_all("gone"):
            os.kill(old, signal.SIGKILL)
        wait_until(lambda: self.daemon.keeper() not in (None, old), "another keeper")
        return True

    def of_both(self):
        with self.restarting:
            with self.oracle.end_of_all("gone"):
                os.kill(self.daemon.keeper(), signal.SIGKILL)
                self.daemon.kill()
            self.daemon.start()
        return True

    def of_a_warden(self):
        known, pid = self.some("marker")
        if pid is None:
            return False
        warden = self.outermost(pid)
        if warden is None or name_of(warden) != "glovebox-warden":
            return False
        known.doomed = "gone"
        return self.kill(warden)

    def of_a_realm(self):
        """The warden of a zygote's sandbox: it takes what the zygote forked, and whatever else was
        made there."""
        known, pid = self.some("interpreter")
        realm = None if pid is None else self.outermost(pid)
        if realm is None or name_of(realm) != "glovebox-warden":
            return False
        with self.oracle.end_of_all("maybe"):
            self.kill(realm)
        return True

    def of_a_sandbox(self):
        """Any child of the keeper that is no file server: what holds a sandbox up, or several."""
        keeper = self.daemon.keeper()
        found = [pid for pid, parent in parents().items()
                 if parent == keeper and name_of(pid) not in ("", "glovebox-files")]
        if not found:
            return False
        with self.oracle.end_of_all("maybe"):
            self.kill(self.chance.choice(sorted(found)))
        return True

    def of_a_zygote(self):
        known, pid = self.some("interpreter")
        zygote = None if pid is None else parents().get(pid)
        if zygote is None or not name_of(zygote).startswith("python"):
            return False
        return self.kill(zygote)

    def of_an_interpreter(self):
        known, pid = self.some("interpreter")
        if pid is None:
            return False
        known.doomed = "interpreter"
        return self.kill(pid)

    def of_a_file_server(self):
        servers = named(self.daemon.keeper(), "glovebox-files")
        return bool(servers) and self.kill(self.chance.choice(servers))

    def some(self, attribute):
        """A sandbox, and the pid on the host of what bears that name in it."""
        living = self.oracle.living()
        self.chance.shuffle(living)
        for known in living:
            if pids := named(self.daemon.keeper(), getattr(known, attribute)):
                return known, pids[0]
        return None, None

    def outermost(self, pid):
        """The child of the keeper that it descends from."""
        keeper, above = self.daemon.keeper(), parents()
        while pid in above and above[pid] != keeper:
            pid = above[pid]
        return pid if pid in above else None

    def kill(self, pid):
        started = start_time(pid)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: start_time(pid) != started or has_ended(pid), f"the end of {pid}")
        return True
