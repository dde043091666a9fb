# SPDX-License-Identifier: Apache-2.0
"""A tenant of a test's own, and what it asks of the daemon."""

import json
import pathlib

from daemon import LINES


def files_below(directory):
    return [path for path in pathlib.Path(directory).rglob("*") if path.is_file()]


def disk_use(directory):
    return sum(path.stat().st_blocks * 512 for path in files_below(directory))


class Tenant:
    """A tenant of its own, and what it asks."""

    def __init__(self, daemon, name, **quotas):
        self.daemon = daemon
        self.name = name
        daemon.must(201, "POST", "/v1/tenants", {"name": name, "quotas": quotas})
        self.key = daemon.must(
            201, "POST", "/v1/keys", {"tenant": name, "scopes": ["run", "read"]}
        )["key"]

    def ask(self, *request, **how):
        return self.daemon.ask(*request, key=self.key, **how)

    def must(self, status, *request, **how):
        return self.daemon.must(status, *request, key=self.key, **how)

    def disk(self):
        return self.daemon.must(200, "GET", f"/v1/tenants/{self.name}")["used"]["disk"]

    def sandbox(self, **wishes):
        made = self.must(201, "POST", "/v1/sandboxes", {"tier": "native", **wishes})
        return "/v1/sandboxes/" + made["id"]

    def run(self, sandbox, command):
        answer = self.must(200, "POST", sandbox + "/processes", {"argv": ["sh", "-ec", command]},
                           headers={"Accept": LINES})
        events = [json.loads(line) for line in answer.body.splitlines() if line]
        if events[-1].get("exit_code") != 0:
            raise AssertionError(str(events))
