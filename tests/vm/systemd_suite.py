#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The units of packaging/ under a real systemd.

Starts systemd as the first process of a container of its own, with the host's files, the units and
an installed tree; then looks at what they do. It writes to /etc and /usr, so it is for the machine
of run_in_vm.py, whose files are a layer that is thrown away, and wants to be told so by
--change-files.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PACKAGING = REPOSITORY / "packaging"
DATA = pathlib.Path("/var/lib/glovebox")
# Emulated processors are some 20 times slower.
PATIENCE_S = 180

INIT = """
set -e
mount --make-rprivate /
mount -t proc proc /proc
umount -l /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs -o mode=755 run /run
exec env -i container=other PATH=$PATH LANG=C.UTF-8 /lib/systemd/systemd --system \\
  --unit=glovebox-test.target --log-target=console --show-status=no
"""


def must(condition, what):
    if not condition:
        raise AssertionError(what)


def wait_until(condition, what):
    end = time.monotonic() + PATIENCE_S
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"not within {PATIENCE_S} s: {what}")
        time.sleep(0.2)


def install(tree):
    for name in ("glovebox.service", "glovebox-keeper.service", "glovebox.socket"):
        shutil.copy(PACKAGING / name, "/etc/systemd/system")
    pathlib.Path("/etc/systemd/system/glovebox-test.target").write_text(
        "[Unit]\nDescription=nothing but what the test starts\n")
    shutil.copy(tree / "bin/glovebox", "/usr/bin/glovebox")
    os.makedirs("/usr/libexec/glovebox", exist_ok=True)
    subprocess.run(["mount", "--bind", tree / "libexec/glovebox", "/usr/libexec/glovebox"],
                   check=True)
    subprocess.run(["systemd-sysusers", PACKAGING / "glovebox.sysusers"], check=True)
    # A directory of the previous version, of root alone, is in use already.
    shutil.rmtree(DATA, ignore_errors=True)


class Machine:
    """A systemd, and what is asked of it."""

    def __init__(self):
        group = pathlib.Path("/sys/fs/cgroup/machine")
        group.mkdir()
        self.process = subprocess.Popen(
            ["unshare", "--pid", "--fork", "--kill-child", "--mount", "--cgroup", "--ipc", "--uts",
             "sh", "-c", INIT],
            preexec_fn=lambda: (group / "cgroup.procs").write_text(str(os.getpid())),
            stdin=subprocess.DEVNULL)
        self.init = wait_until(self.find_init, "the first process")
        wait_until(lambda: self.systemctl("is-system-running", check=False).stdout.strip()
                   in ("running", "degraded"), "systemd")

    def find_init(self):
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        found = children.read_text().split()
        if found and b"systemd" in pathlib.Path(f"/proc/{found[0]}/cmdline").read_bytes()[:30]:
            return int(found[0])
        return None

    def run(self, *command, check=True):
        inside = ["nsenter", "-t", str(self.init), "-m", "-p", "-C", "-i", "-u", "--"]
        done = subprocess.run([*inside, *map(str, command)], capture_output=True, text=True,
                              timeout=PATIENCE_S)
        if check and done.returncode != 0:
            raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
        return done

    def systemctl(self, *words, check=True):
        return self.run("systemctl", "--no-pager", *words, check=check)

    def main_pid(self, unit):
        shown = self.systemctl("show", "-p", "MainPID", "--value", unit).stdout
        return int(shown)

    def status(self, unit):
        text = self.run("cat", f"/proc/{self.main_pid(unit)}/status").stdout
        return {name: value.split() for name, value in
                (line.split(":", 1) for line in text.splitlines())}

    def ask(self, method, path, body=None):
        key = self.run("cat", DATA / "api-key").stdout.strip()
        # With the host's network, as the container has it.
        words = ["curl", "-sS", "--max-time", PATIENCE_S, "-w", "\n%{http_code}", "-X", method,
                 "-H", f"X-API-KEY: {key}", f"http://127.0.0.1:8440{path}"]
        if body is not None:
            words += ["-H", "Content-Type: application/json", "-d", json.dumps(body)]
        answer, _, status = self.run(*words).stdout.rpartition("\n")
        must(status.startswith("2"), f"{method} {path}: {status} {answer}")
        return answer


def check(machine):
    machine.systemctl("start", "glovebox.socket")
    must(machine.systemctl("is-active", "glovebox", check=False).stdout.strip() == "inactive",
         "the daemon runs before anybody asks")
    with socket.create_connection(("127.0.0.1", 8440), PATIENCE_S) as first:
        first.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        must(first.recv(4096).startswith(b"HTTP/1.1 "), "no answer over the socket")
    machine.systemctl("start", "glovebox.service")
    for unit in ("glovebox.service", "glovebox-keeper.service"):
        must(machine.systemctl("is-active", unit).stdout.strip() == "active", unit)
    print("ok the first connection starts both units", flush=True)

    status = machine.status("glovebox.service")
    must(all(uid != "0" for uid in status["Uid"]), "the daemon is root")
    for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        must(int(status[kind][0], 16) == 0, f"the daemon has {kind} {status[kind]}")
    must(status["NoNewPrivs"] == ["1"] and status["Seccomp"] == ["2"], "no filter")
    must(machine.status("glovebox-keeper.service")["Uid"][1] == "0", "the keeper is not root")
    print("ok the daemon has a user of its own, no capability and a filter", flush=True)

    made = json.loads(machine.ask("POST", "/v1/sandboxes", {"timeout": "20m"}))["id"]
    context = json.loads(machine.ask("POST", f"/v1/sandboxes/{made}/contexts",
                                     {"language": "python"}))["id"]
    where = f"/v1/sandboxes/{made}/contexts/{context}/execute"
    said = json.loads(machine.ask("POST", where, {"code": "kept = 41; print(6*7)"}))
    must(said["stdout"].strip() == "42", said)
    print("ok a sandbox runs code", flush=True)

    built = machine.ask("POST", "/v1/templates", {"name": "built", "commands": ["echo it > f"]})
    must(json.loads(built.splitlines()[-1])["type"] == "built", built)
    from_it = json.loads(machine.ask("POST", "/v1/sandboxes", {"template": "built"}))["id"]
    must(machine.ask("GET", f"/v1/sandboxes/{from_it}/files/f").strip() == "it", "no file")
    print("ok a template is built, and a sandbox made from it", flush=True)

    before = machine.main_pid("glovebox.service")
    keeper = machine.main_pid("glovebox-keeper.service")
    machine.systemctl("restart", "glovebox.service")
    must(machine.main_pid("glovebox.service") != before, "the daemon was not restarted")
    must(machine.main_pid("glovebox-keeper.service") == keeper, "the keeper was restarted")
    said = json.loads(machine.ask("POST", where, {"code": "print(kept + 1)"}))
    must(said["stdout"].strip() == "42", said)
    print("ok a restart of the daemon leaves sandboxes as they are", flush=True)

    machine.systemctl("stop", "glovebox.socket", "glovebox.service", "glovebox-keeper.service")
    for unit in ("glovebox.service", "glovebox-keeper.service"):
        result = machine.systemctl("show", "-p", "Result", "--value", unit).stdout.strip()
        must(result == "success", f"{unit} ended with {result}")
    left = [line for line in machine.run("ps", "-eo", "args").stdout.splitlines()
            if re.search(r"glovebox (serve|keeper|builder)|glovebox-(warden|files)", line)]
    must(not left, left)
    groups = machine.run("find", "/sys/fs/cgroup", "-name", "*glovebox*", "-type", "d").stdout
    must(not groups, groups)
    print("ok a stop of both leaves nothing behind", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", required=True, type=pathlib.Path,
                        help="an installed tree, with bin and libexec")
    parser.add_argument("--change-files", action="store_true", required=True)
    options = parser.parse_args()
    install(options.tree)
    machine = Machine()
    try:
        check(machine)
    except BaseException:
        for unit in ("glovebox.service", "glovebox-keeper.service"):
            print(machine.systemctl("status", unit, check=False).stdout, file=sys.stderr)
        raise
    finally:
        machine.process.kill()


if __name__ == "__main__":
    main()
