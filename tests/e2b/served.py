# SPDX-License-Identifier: Apache-2.0
"""A daemon for E2B's SDKs, and where they look for it."""

import contextlib
import pathlib
import re
import subprocess
import sys
import tempfile


@contextlib.contextmanager
def served(glovebox, *options):
    """Starts a daemon with a data directory of its own; the variables that lead an SDK to it."""
    with tempfile.TemporaryDirectory(prefix="glovebox-e2b-") as data:
        daemon = subprocess.Popen([glovebox, "serve", "--listen", "127.0.0.1:0", "--data", data, *options],
                                  stdout=subprocess.PIPE, text=True)
        try:
            line = daemon.stdout.readline()
            found = re.search(r"127\.0\.0\.1:\d+", line)
            if not found:
                sys.exit(f"the daemon did not say where it listens: {line!r}")
            key = (pathlib.Path(data) / "api-key").read_text(encoding="ascii").strip()
            yield variables(f"http://{found[0]}", key)
        finally:
            daemon.terminate()
            try:
                daemon.wait(timeout=30)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
            daemon.stdout.close()


def of_tier(tier):
    """The options of a daemon whose sandboxes are of that tier, as no SDK of E2B's can say it."""
    return ["--tier", tier] if tier else []


def variables(url, key):
    return {"E2B_API_KEY": key, "E2B_API_URL": url, "E2B_SANDBOX_URL": url,
            "E2B_VOLUME_API_URL": url}
