#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A daemon that runs as a user of its own beside root's keeper: what it cannot do, even taken over.

What it can do is tested by the suite "service.user": the tests of this directory that need a
keeper's power, with such a daemon."""

import array
import os
import pathlib
import pwd
import signal
import socket
import struct
import traceback
import unittest

from daemon import Daemon, wait_until

USER = "nobody"

REQUEST, EVENT, ANSWER, ERROR, PART = 1, 2, 3, 4, 127


def cbor(value):
    """As much of RFC 8949 as the keeper's calls need."""
    def head(major, count):
        for size, code in ((1, 24), (2, 25), (4, 26), (8, 27)):
            if count < 24:
                return bytes([major << 5 | count])
            if count < 1 << 8 * size:
                return bytes([major << 5 | code]) + count.to_bytes(size, "big")
        raise ValueError(count)

    if isinstance(value, bool):
        return b"\xf5" if value else b"\xf4"
    if isinstance(value, int):
        return head(0, value)
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(cbor(each) for each in value)
    return head(5, len(value)) + b"".join(cbor(k) + cbor(v) for k, v in value.items())


def call(path, name, arguments, passed=()):
    """The end of a call to the keeper: its type and text, or None for a connection that was cut."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(30)
        peer.connect(str(path))
        body = cbor({"call": name, **arguments})
        frame = struct.pack("<IBI", len(body), REQUEST, 0) + body
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", passed))]
        peer.sendmsg([frame], rights if passed else [])
        received = b""
        while True:
            while len(received) >= 9:
                size, kind, _ = struct.unpack("<IBI", received[:9])
                if len(received) < 9 + size:
                    break
                text, received = received[9:9 + size], received[9 + size:]
                if kind in (ANSWER, ERROR):
                    return kind, text
            try:
                more = peer.recv(65536)
            except ConnectionResetError:
                return None
            if not more:
                return None
            received += more


def as_user(uid, what):
    """Runs `what` in a process of this user; what it says is wrong, or nothing."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        wrong = ""
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            what()
        except BaseException:
            wrong = traceback.format_exc()
        os.write(writing, wrong.encode()[-60000:])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as said:
        wrong = said.read().decode()
    os.waitpid(pid, 0)
    return wrong


@unittest.skipUnless(os.geteuid() == 0, "only root can start a daemon as another user")
class OwnUser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.uid = pwd.getpwnam(USER).pw_uid
        cls.daemon = Daemon(user=USER).start()
        cls.addClassCleanup(cls.daemon.discard)
        cls.socket = cls.daemon.data / "keeper.sock"

    def status(self):
        lines = pathlib.Path(f"/proc/{self.daemon.process.pid}/status").read_text().splitlines()
        return {name: value.split() for name, value in (line.split(":", 1) for line in lines)}

    def refused(self, name, arguments, passed=()):
        """Called by the daemon's user: must be refused, and not for want of the file."""
        def attempt():
            kind, text = call(self.socket, name, arguments, passed)
            assert kind == ERROR, (name, arguments, text)
            assert b"unknown keeper call" not in text, (name, text)
        self.assertEqual(as_user(self.uid, attempt), "")

    def test_it_has_no_power(self):
        status = self.status()
        self.assertEqual(status["Uid"], [str(self.uid)] * 4)
        self.assertEqual(set(status["Gid"]), {str(pwd.getpwnam(USER).pw_gid)})
        self.assertEqual(status["Groups"], [])
        for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            self.assertEqual(int(status[kind][0], 16), 0, kind)
        self.assertEqual(status["NoNewPrivs"], ["1"])

    def test_what_is_the_keepers_is_out_of_its_reach(self):
        def attempt():
            data = self.daemon.data
            for name in ("templates", "volumes", "workspaces", "images", "snapshots",
                         "keeper.lock", "keeper.sock", "keeper.log"):
                try:
                    os.rename(data / name, data / "away")
                except PermissionError:
                    continue
                raise AssertionError(f"{name} was renamed")
            for name in ("templates", "volumes", "workspaces", "images"):
                try:
                    (data / name / "mine").write_text("x")
                except PermissionError:
                    continue
                raise AssertionError(f"a file was made in {name}")
        self.assertEqual(as_user(self.uid, attempt), "")

    def test_a_stranger_is_not_heard_by_the_keeper(self):
        # Who may open the socket all the same is not of its user.
        os.chmod(self.socket, 0o666)
        self.addCleanup(os.chmod, self.socket, 0o660)
        os.chmod(self.daemon.data, 0o1777)
        self.addCleanup(os.chmod, self.daemon.data, 0o1770)

        def attempt():
            try:
                assert call(self.socket, "states", {}) is None
            except (BrokenPipeError, ConnectionResetError):
                pass
        self.assertEqual(as_user(self.uid - 1, attempt), "")
        self.assertEqual(as_user(self.uid, lambda: call(self.socket, "states", {})[0] == ANSWER), "")

    def test_no_path_leads_out(self):
        data = str(self.daemon.data)
        for path in ("/etc/passwd", "/", data, data + "/templates", data + "/api-key",
                     data + "/snapshots/../api-key", data + "/volumes/../../../etc/passwd",
                     data + "/images/x"):
            with self.subTest(path):
                self.refused("copy_image", {"image": path, "to": data + "/snapshots/stolen"})
                self.refused("copy_image", {"image": path, "to": data + "/snapshots/stolen",
                                            "idle": True})
                self.refused("image_files", {"image": path})
                self.refused("remove_image", {"image": path})
        for to in ("/etc/glovebox-was-here", data + "/new", data + "/images/new",
                   data + "/snapshots/../new", data + "/templates/x/new"):
            with self.subTest(to):
                self.refused("make_image", {"image": to, "size": 16 << 20, "inodes": 100})
        self.assertFalse(pathlib.Path("/etc/glovebox-was-here").exists())

    def test_no_order_shows_what_is_not_the_keepers(self):
        order = {"home": "/workspace", "user": "guest", "limits": {"memory": 64 << 20}}
        for shows in ({"root": "/"}, {"root": "/etc"},
                      {"mounts": [{"source": "/root", "target": "/x", "closed": True}]},
                      {"contents": ["/root"]}):
            with self.subTest(shows):
                self.refused("create", {"order": {**order, "shows": shows}, "record": ""})
        self.refused("create", {"order": {**order, "images": [
            {"image": "/dev/vda", "target": "/x", "read_only": True}]}, "record": ""})

    def test_what_its_user_puts_among_snapshots_is_not_used(self):
        snapshots = self.daemon.data / "snapshots"
        victim = self.daemon.data / "volumes" / "victim.img"
        victim.write_bytes(b"secret")

        def plant():
            (snapshots / "file").write_bytes(b"\0" * (1 << 20))
            (snapshots / "link").symlink_to("/etc/passwd")
            (snapshots / "below").symlink_to("../volumes")
            os.mkfifo(snapshots / "pipe")
            os.mkdir(snapshots / "directory")
        self.assertEqual(as_user(self.uid, plant), "")
        self.addCleanup(victim.unlink)
        os.link(self.daemon.data / "volumes" / "victim.img", snapshots / "second")
        for name in ("file", "link", "below/victim.img", "pipe", "directory", "/file", "./file",
                     "second"):
            with self.subTest(name):
                path = f"{snapshots}/{name}"
                self.refused("copy_image", {"image": path, "to": f"{snapshots}/copy"})
                self.refused("image_files", {"image": path})
                self.refused("create", {"order": {
                    "home": "/workspace", "user": "guest",
                    "images": [{"image": path, "target": "/workspace"}]}, "record": ""})
        # Neither is what is there overwritten, nor a link followed.
        for name in ("file", "link"):
            self.refused("make_image", {"image": f"{snapshots}/{name}", "size": 16 << 20,
                                        "inodes": 100})
        os.unlink(snapshots / "second")

    def build(self, **recipe):
        return {"tenant": "default", "recipe": {"name": "x", "base": "default", **recipe},
                "base": {"home": "/workspace", "user": "guest"}}

    def test_a_builder_reads_only_what_the_daemon_could_read(self):
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        self.addCleanup(os.close, writing)
        # One needs no right to read a file for this; root would not need it to open it again.
        secret = os.open("/etc/shadow", os.O_PATH)
        self.addCleanup(os.close, secret)
        step = {"kind": 2, "text": "", "path": "stolen", "mode": 0o644, "cwd": "", "archive": 0}
        self.refused("build_template", self.build(steps=[step]), [reading, secret])
        self.refused("build_template", self.build(steps=[{**step, "archive": 7}]),
                     [reading, secret])
        self.refused("build_template", self.build(image={"format": 2, "file": 0}),
                     [reading, secret])
        directory = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
        self.addCleanup(os.close, directory)
        self.refused("build_template", self.build(image={"format": 0, "file": 0}),
                     [reading, directory])
        self.refused("build_template", self.build())  # Without the pipe.

    def test_a_base_that_is_a_path_is_refused(self):
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        self.addCleanup(os.close, writing)
        request = self.build()
        request["base"]["root"] = "../../../etc"
        self.refused("build_template", request, [reading])

    def test_a_keeper_that_dies_is_replaced_by_another_of_root(self):
        daemon = Daemon(user=USER).start()
        self.addCleanup(daemon.discard)
        before = daemon.keeper()
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: daemon.ask("POST", "/v1/sandboxes", {}).status == 201, "another keeper")
        self.assertNotEqual(daemon.keeper(), before)
        self.assertEqual(os.stat(f"/proc/{daemon.keeper()}").st_uid, 0)

    def test_sandboxes_outlive_it(self):
        daemon = Daemon(user=USER).start()
        self.addCleanup(daemon.discard)
        sandbox = daemon.create()
        daemon.kill()
        daemon.start()
        sandbox.info()
        self.assertEqual(daemon.stop(), 0)
        self.assertIsNone(daemon.keeper())

    def test_a_directory_of_roots_daemon_is_made_over_with_all_that_is_in_it(self):
        daemon = Daemon(user="")
        self.addCleanup(daemon.discard)
        daemon.start()
        events = list(daemon.stream("POST", "/v1/templates",
                                    {"name": "kept", "commands": ["echo built > f"]}))
        self.assertEqual(events[-1]["type"], "built", events)
        in_memory = daemon.create(template="kept")
        in_memory.must(200, "PUT", "/files/g", b"saved")
        in_memory.must(201, "POST", "/snapshot", {"name": "snap"})
        on_disk = True
        try:
            sandbox = daemon.create(storage="disk")
            sandbox.write("h", b"on disk")
            sandbox.must(201, "POST", "/snapshot", {"name": "disk-snap"})
        except AssertionError:
            on_disk = False  # No loop devices here.
        self.assertEqual(daemon.stop(), 0)
        daemon.user = USER
        daemon.dir.chmod(0o711)
        daemon.unix = daemon.data / "s"
        daemon.start()
        self.assertEqual(os.stat(daemon.data / "glovebox.db").st_uid, self.uid)
        self.assertEqual(daemon.create(template="kept").read("f"), b"built\n")
        again = daemon.create(template="snap")
        self.assertEqual((again.read("f"), again.read("g")), (b"built\n", b"saved"))
        if on_disk:
            self.assertEqual(daemon.create(template="disk-snap").read("h"), b"on disk")
        self.assertEqual(daemon.stop(), 0)
        # Root's own daemon does not take it back by mistake.
        daemon.user = ""
        with self.assertRaisesRegex(AssertionError, "a user of its own"):
            daemon.start()


if __name__ == "__main__":
    unittest.main()
