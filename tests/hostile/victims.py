# SPDX-License-Identifier: Apache-2.0
"""What the daemon under attack holds, and that it bears it."""

import http.client
import pathlib
import urllib.parse

from daemon import Daemon

# More than any single request may cost for ever, and less than what a few that leak would.
MOST_GROWTH_KB = 48 << 10


def memory_kb(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


class Victim:
    """A daemon, and a sandbox with one of everything in it."""

    def __init__(self):
        self.daemon = Daemon().start()
        self.keeper = self.daemon.keeper()
        self.sandbox = None
        self.renew()

    def renew(self):
        """Makes anew what a request has ended, and ends what requests have made."""
        for stop in self.daemon.must(200, "GET", "/v1/emergency-stop")["stops"]:
            scope = {stop["scope"]: stop["name"]} if "name" in stop else {}
            self.daemon.must(204, "DELETE", "/v1/emergency-stop?" + urllib.parse.urlencode(scope))
        page = self.daemon.must(200, "GET", "/v1/sandboxes?limit=1000")
        own = self.sandbox.id if self.sandbox else None
        for one in page["sandboxes"]:
            if one["id"] != own:
                self.daemon.ask("DELETE", "/v1/sandboxes/" + one["id"])
        if own is None or self.daemon.ask("GET", self.sandbox.path).status != 200:
            self.sandbox = self.daemon.create(timeout="1h", auto_resume=True)
        else:
            self.daemon.must(200, "PATCH", self.sandbox.path, {"timeout": "1h"})
            self.daemon.ask("POST", self.sandbox.path + "/resume")
            for one in self.sandbox.must(200, "GET", "/dry-runs")["dry_runs"]:
                self.daemon.ask("POST", f"{self.sandbox.path}/dry-runs/{one['id']}/discard")
        self.sandbox.write("secret", b"content")
        contexts = self.sandbox.must(200, "GET", "/contexts")["contexts"]
        for one in contexts:
            self.daemon.ask("DELETE", f"{self.sandbox.path}/contexts/{one['id']}")
        self.context = self.sandbox.context()
        for one in self.sandbox.must(200, "GET", "/processes")["processes"]:
            self.daemon.ask("DELETE", f"{self.sandbox.path}/processes/{one['pid']}")
        argv = {"argv": ["cat"], "stdin": True}
        self.pid = self.sandbox.must(201, "POST", "/processes", argv)["pid"]

    @property
    def known(self):
        return {
            "id": self.sandbox.id,
            "cid": self.context.id,
            "pid": str(self.pid),
            "port": "8000",
            "path": "secret",
            "name": "default",
        }

    def is_alive(self):
        if self.daemon.process.poll() is not None or self.daemon.keeper() != self.keeper:
            return False
        try:
            return self.daemon.ask("GET", "/healthz", key=None).status == 200
        except (OSError, http.client.HTTPException):
            return False

    def memory_kb(self):
        return memory_kb(self.daemon.process.pid)
