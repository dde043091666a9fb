#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sets the machine's clock forward and back under a daemon: nothing ends before its time, what has
a time ends all the same, and keys go on to be good.

Changes the clock of the machine that it runs on, so it is for the one of run_in_vm.py, and wants to
be told so by --set-clock.
"""

import argparse
import os
import pathlib
import re
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests" / "service"))

# Emulated processors are some 20 times slower.
PATIENCE_S = 180
DAY_S = 86_400


def jump(seconds):
    """Of the wall clock; the one that only runs forward goes on as it does."""
    time.clock_settime(time.CLOCK_REALTIME, time.time() + seconds)


def must(condition, what):
    if not condition:
        raise AssertionError(what)


def check(daemon, wait_until):
    stays = daemon.create(timeout="20m")
    context = stays.context()
    context.execute("kept = 41")
    sleeps = daemon.create(timeout="20m", on_timeout="pause")
    sleeps.must(204, "POST", "/pause")
    key = {"Idempotency-Key": "across"}
    made = daemon.must(201, "POST", "/v1/sandboxes", {"timeout": "20m"}, key)["id"]

    jump(DAY_S / 2)
    # Whoever looks for what is over has looked several times when this one has ended.
    short = daemon.create(timeout="2s")
    wait_until(short.is_gone, "the end of one whose time is over", PATIENCE_S)
    must(stays.info()["state"] == "running", "a jump forward ended a sandbox")
    must(context.value("kept + 1") == "42", "variables are lost")
    must(daemon.must(201, "POST", "/v1/sandboxes", {"timeout": "20m"}, key)["id"] == made, "twice")
    print("ok a jump forward ends nothing before its time", flush=True)

    must(sleeps.must(200, "POST", "/resume")["state"] == "running", "no resume")
    short = daemon.create(timeout="2s")
    wait_until(short.is_gone, "the end of another one", PATIENCE_S)
    must(sleeps.info()["state"] == "running", "paused again at once")
    print("ok what was paused over a jump goes on", flush=True)

    short = daemon.create(timeout="2s")
    jump(-2 * DAY_S)
    wait_until(short.is_gone, "the end of one, after a jump back", PATIENCE_S)
    # In a context of its own: one that is slow to stop loses its interpreter, and all is slow here.
    verdict = stays.context().execute("while True: pass", limits={"time": "1s"})
    must(verdict["status"] == "timeout", f"an execution without end: {verdict}")
    must(context.value("kept + 1") == "42", "variables are lost")
    print("ok a jump back keeps nothing beyond its time", flush=True)

    events = context.start("import time; print('up', flush=True); time.sleep(2); print('end')")
    events.until("stdout")
    jump(DAY_S)
    must(events.until("verdict")["status"] == "ok", "an execution ended at a jump")
    print("ok an execution outlives a jump", flush=True)

    daemon.kill()
    jump(-DAY_S)
    daemon.start()
    must(context.value("kept + 1") == "42", "lost over a restart and a jump")
    jump(2 * DAY_S)
    must(stays.info()["state"] == "running", "a jump after a restart ended a sandbox")
    must(daemon.create().context().value("1") == "1", "no new one")
    print("ok a daemon that starts at another time finds all of them", flush=True)


def without_preload(directory):
    """Python as a language file of a user's: to import pandas takes minutes here."""
    text = (REPOSITORY / "languages" / "python.toml").read_text()
    text, changes = re.subn(r"(?m)^preload = .*$", "preload = []", text)
    must(changes == 1, "the language file says nothing of what is preloaded")
    pathlib.Path(directory, "python.toml").write_text(text)
    return directory


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--glovebox", required=True)
    parser.add_argument("--set-clock", action="store_true", required=True)
    os.environ["GLOVEBOX"] = parser.parse_args().glovebox
    import daemon as harness  # Reads GLOVEBOX.

    harness.PATIENCE_S = PATIENCE_S
    with tempfile.TemporaryDirectory() as languages:
        os.environ["GLOVEBOX_LANGUAGES"] = without_preload(languages)
        daemon = harness.Daemon().start()
        try:
            check(daemon, harness.wait_until)
        finally:
            daemon.discard()


if __name__ == "__main__":
    main()
