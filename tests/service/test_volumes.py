# SPDX-License-Identifier: Apache-2.0
"""What outlives a sandbox: volumes, and workspaces on disk."""

import contextlib
import os
import pathlib
import signal
import sqlite3
import subprocess
import unittest

from daemon import Daemon, Sandbox, wait_until
from test_tenants import add_key
from traces import Traces

MIB = 1 << 20
VOLUMES = "/v1/volumes"


def loop_devices(directory):
    """Names of loop devices over files below a directory."""
    for backing in pathlib.Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            if backing.read_text().startswith(str(directory)):
                yield backing.parent.parent.name


class OnDisk(unittest.TestCase):
    """One daemon for the class, which leaves nothing on the host at its end."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        cls.traces = Traces(cls.daemon)
        cls.daemon.start()
        probe = cls.daemon.ask("POST", VOLUMES, {"name": "probe", "size": "8M"})
        if probe.status == 501:
            raise unittest.SkipTest(probe.json["message"])
        cls.daemon.must(204, "DELETE", f"{VOLUMES}/probe")

    @classmethod
    def tearDownClass(cls):
        cls.traces.gather()
        assert cls.daemon.stop() == 0
        wait_until(lambda: not list(cls.traces.left()), "the end of all processes")
        wait_until(lambda: not list(loop_devices(cls.daemon.data)), "the end of all loop devices")
        with open("/proc/self/mountinfo") as mounts:
            assert "/dev/loop" not in mounts.read()

    def setUp(self):
        self.addCleanup(self.traces.gather)

    def volume(self, name, size="16M", **wishes):
        made = self.daemon.must(201, "POST", VOLUMES, {"name": name, "size": size, **wishes})
        self.addCleanup(self.daemon.ask, "DELETE", f"{VOLUMES}/{name}")
        return made

    def create(self, **wishes):
        sandbox = self.daemon.create(**wishes)
        self.addCleanup(self.daemon.ask, "DELETE", sandbox.path)
        return sandbox

    def with_volume(self, name, path="/volumes/data", **how):
        return self.create(volumes=[{"name": name, "path": path, **how}])

    def image(self, sandbox):
        return self.daemon.data / "workspaces" / f"{sandbox.id}.img"

    def run_in(self, sandbox, code):
        """What Python code prints in a sandbox."""
        verdict = sandbox.context().execute(code)
        self.assertEqual(verdict["status"], "ok", verdict)
        return verdict["stdout"].strip()


# Fills a directory until it is full, and tells why and how much went in.
FILL = """
import errno, os
path, size, count = {path!r}, 0, 0
try:
    while True:
        with open(f"{{path}}/fill{{count}}", "wb", buffering=0) as file:
            count += 1
            while {chunk} and size < {most}:
                size += file.write(bytes({chunk}))
        if count >= {files}:
            break
except OSError as error:
    print(errno.errorcode[error.errno], size, count)
"""


class OfVolumes(OnDisk):
    def test_a_volume_outlives_its_sandboxes_and_the_daemon(self):
        self.volume("lasting")
        first = self.with_volume("lasting")
        self.run_in(first, "open('/volumes/data/kept', 'w').write('from the first')")
        first.kill()
        self.daemon.kill()
        self.daemon.start()
        second = self.with_volume("lasting", path="/mnt/elsewhere")
        self.assertEqual(self.run_in(second, "print(open('/mnt/elsewhere/kept').read())"),
                         "from the first")
        # A sandbox that has it when the daemon dies goes on with it.
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(self.run_in(second, "print(open('/mnt/elsewhere/kept').read())"),
                         "from the first")

    def test_sandboxes_share_a_volume_and_one_may_only_read_it(self):
        self.volume("shared")
        writer = self.with_volume("shared")
        reader = self.with_volume("shared", read_only=True)
        self.run_in(writer, "open('/volumes/data/file', 'w').write('seen at once')")
        self.assertEqual(self.run_in(reader, "print(open('/volumes/data/file').read())"),
                         "seen at once")
        refused = self.run_in(reader, """
import errno
try:
    open('/volumes/data/file', 'w')
except OSError as error:
    print(errno.errorcode[error.errno])
""")
        self.assertEqual(refused, "EROFS")

    def test_what_is_wrong_with_an_image_is_told_without_a_path_of_the_host(self):
        self.volume("broken")
        wish = {"volumes": [{"name": "broken", "path": "/volumes/data"}]}
        (image,) = (self.daemon.data / "volumes").glob("*.img")
        damages = {
            "readable by others": lambda: image.write_bytes(bytes(1 << 20)) and image.chmod(0o644),
            "no file system": lambda: image.write_bytes(bytes(1 << 20)) and image.chmod(0o600),
            "a directory": image.mkdir,
            "a link": lambda: image.symlink_to(self.daemon.data / "api-key"),
            "not there": lambda: None,
        }
        for what, damage in damages.items():
            with self.subTest(what):
                image.rmdir() if image.is_dir() else image.unlink(missing_ok=True)
                damage()
                answer = self.daemon.ask("POST", "/v1/sandboxes", wish)
                self.assertGreaterEqual(answer.status, 400, answer)
                told = str(answer.json["message"]) + str(answer.json.get("hint"))
                self.assertNotIn(str(self.daemon.dir), told)

    def test_the_size_and_the_inodes_of_a_volume_hold(self):
        self.volume("small", size="16M", inodes=100)
        sandbox = self.with_volume("small")
        why, size, _ = self.run_in(
            sandbox, FILL.format(path="/volumes/data", chunk=65536, most=64 * MIB, files=1)
        ).split()
        self.assertEqual(why, "ENOSPC")
        self.assertGreaterEqual(int(size), 16 * MIB)
        self.assertLess(int(size), 20 * MIB)
        self.run_in(sandbox, "import os; os.remove('/volumes/data/fill0')")
        why, _, count = self.run_in(
            sandbox, FILL.format(path="/volumes/data", chunk=0, most=0, files=5000)
        ).split()
        self.assertEqual(why, "ENOSPC")
        self.assertGreaterEqual(int(count), 100)
        self.assertLess(int(count), 700)

    def test_a_guest_gains_no_power_by_a_volume(self):
        self.volume("hostile")
        sandbox = self.with_volume("hostile")
        found = self.run_in(sandbox, """
import ctypes, os, stat
line = next(l for l in open('/proc/self/mountinfo') if ' /volumes/data ' in l)
print({'nosuid', 'nodev'} <= set(line.split()[5].split(',')))
owner = os.stat('/volumes/data')
print((owner.st_uid, owner.st_gid) == (os.getuid(), os.getgid()))
print([name for name in os.listdir('/dev') if name.startswith('loop')])
def refused(action):
    try:
        action()
        return False
    except OSError:
        return True
open('/volumes/data/own', 'w').close()
print(refused(lambda: os.chown('/volumes/data/own', 0, 0)))
print(refused(lambda: os.mknod('/volumes/data/device', stat.S_IFBLK | 0o600, os.makedev(7, 0))))
libc = ctypes.CDLL(None, use_errno=True)
def call(*arguments):
    pid = os.fork()
    if pid == 0:
        os._exit(0 if libc.syscall(*arguments) == 0 else 1)
    return os.waitpid(pid, 0)[1] != 0
print(call(165, b'none', b'/volumes/data', None, 32 | 4096, None))  # mount: remount, bind
print(call(166, b'/volumes/data', 2))  # umount2
""")
        self.assertEqual(found.splitlines(), ["True", "True", "[]"] + ["True"] * 4)

    def test_a_volume_that_a_sandbox_has_is_not_removed(self):
        self.volume("busy")
        sandbox = self.with_volume("busy")
        self.daemon.must(409, "DELETE", f"{VOLUMES}/busy")
        sandbox.kill()
        self.daemon.must(204, "DELETE", f"{VOLUMES}/busy")
        self.daemon.must(404, "GET", f"{VOLUMES}/busy")

    def test_a_volume_of_a_sandbox_that_was_just_ended_is_removed(self):
        for _ in range(20):
            self.volume("ended")
            sandbox = self.with_volume("ended")
            # Others have the sandbox in their hands while it is ended.
            events = sandbox.context().start("print('there', flush=True)\nwhile True: pass")
            events.until("stdout")
            sandbox.kill()
            self.daemon.must(204, "DELETE", f"{VOLUMES}/ended")
            events.close()

    def test_files_of_a_volume_are_there_without_a_sandbox(self):
        self.volume("files")
        path = f"{VOLUMES}/files/files"
        self.daemon.must(200, "PUT", f"{path}/a/b?flush=true", b"content")
        self.assertEqual(self.daemon.must(200, "GET", f"{path}/a/b").body, b"content")
        entries = self.daemon.must(200, "GET", f"{path}?depth=2")["entries"]
        self.assertEqual([entry["path"] for entry in entries], ["./a", "./a/b"])
        sandbox = self.with_volume("files")
        self.assertEqual(self.run_in(sandbox, "print(open('/volumes/data/a/b').read())"), "content")
        self.daemon.must(204, "DELETE", f"{path}/a")
        self.daemon.must(404, "GET", f"{path}/a/b")
        sandbox.kill()
        # Its own server is no user.
        self.daemon.must(204, "DELETE", f"{VOLUMES}/files")

    def test_names_and_places_that_cannot_be_are_refused(self):
        made = self.volume("taken")
        self.daemon.must(409, "POST", VOLUMES, {"name": "taken"})
        for name in ("", "a/b", "..", "ü", "a" * 200):
            self.daemon.must(400, "POST", VOLUMES, {"name": name})
        for wrong in ({"size": "1K"}, {"size": "9999G"}, {"inodes": 0}, {"kind": "x"}):
            self.daemon.must(400, "POST", VOLUMES, {"name": "x", **wrong})
        for path in ("relative", "/usr/x", "/tmp", "/workspace", "/", "/mnt/../etc", "/proc/x"):
            wish = {"volumes": [{"name": "taken", "path": path}]}
            self.daemon.must(400, "POST", "/v1/sandboxes", wish)
        twice = [{"name": "taken", "path": "/mnt/a"}, {"name": made["id"], "path": "/mnt/a/b"}]
        self.daemon.must(400, "POST", "/v1/sandboxes", {"volumes": twice})
        missing = [{"name": "missing", "path": "/mnt/a"}]
        self.daemon.must(400, "POST", "/v1/sandboxes", {"volumes": missing})
        weak = {"volumes": [{"name": "taken", "path": "/mnt/a"}], "tier": "landlock"}
        self.daemon.must(501, "POST", "/v1/sandboxes", weak)
        self.daemon.must(204, "DELETE", f"{VOLUMES}/taken")

    def test_volumes_are_their_tenants_own_and_count_against_its_quota(self):
        self.volume("private")
        self.daemon.kill()
        other = add_key(self.daemon, "neighbour", ("run", "read"))
        with contextlib.closing(sqlite3.connect(self.daemon.data / "glovebox.db")) as database:
            with database:
                database.execute(f"UPDATE tenants SET disk = {40 * MIB} WHERE name = 'neighbour'")
        self.daemon.start()
        self.assertEqual(self.daemon.must(200, "GET", VOLUMES, key=other)["volumes"], [])
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/files"), ("PUT", "/files/x")):
            self.daemon.must(404, method, f"{VOLUMES}/private{path}", key=other)
        wish = {"volumes": [{"name": "private", "path": "/mnt/a"}], "limits": {"disk": "4M"}}
        self.daemon.must(400, "POST", "/v1/sandboxes", wish, key=other)
        self.daemon.must(201, "POST", VOLUMES, {"name": "own", "size": "30M"}, key=other)
        self.daemon.must(429, "POST", VOLUMES, {"name": "more", "size": "30M"}, key=other)
        self.daemon.must(204, "DELETE", f"{VOLUMES}/own", key=other)
        self.daemon.must(201, "POST", VOLUMES, {"name": "more", "size": "30M"}, key=other)
        self.daemon.must(204, "DELETE", f"{VOLUMES}/more", key=other)


class OfWorkspaces(OnDisk):
    def on_disk(self, **wishes):
        limits = {"disk": "16M", "inodes": 200}
        return self.create(**{"storage": "disk", "limits": limits, **wishes})

    def lose_keeper(self):
        self.traces.gather()
        os.kill(self.daemon.keeper(), signal.SIGKILL)

    def test_a_workspace_on_disk_is_one_and_its_limits_hold(self):
        sandbox = self.on_disk()
        self.assertEqual(sandbox.info()["storage"], "disk")
        self.assertEqual(self.run_in(sandbox, "import os; print(os.getcwd(), os.listdir())"),
                         "/workspace []")
        why, size, _ = self.run_in(
            sandbox, FILL.format(path="/workspace", chunk=65536, most=64 * MIB, files=1)
        ).split()
        self.assertEqual(why, "ENOSPC")
        self.assertGreaterEqual(int(size), 16 * MIB)
        self.assertLess(int(size), 20 * MIB)
        self.assertGreater(sandbox.must(200, "GET", "/usage")["disk"], 15 * MIB)
        image = self.image(sandbox)
        self.assertEqual(image.stat().st_mode & 0o777, 0o600)
        sandbox.kill()
        self.assertFalse(image.exists())

    def test_nobody_is_told_that_it_is_gone_while_the_keeper_is_replaced(self):
        sandbox = self.on_disk(timeout="10m")
        self.run_in(sandbox, "1")
        self.lose_keeper()
        told = set()

        def is_known():
            told.update(
                self.daemon.ask("GET", sandbox.path + path).status
                for path in ("/contexts", "/processes", "/usage")
            )
            return sandbox.info()["restarted"]

        wait_until(is_known, "news of the loss")
        self.assertNotIn(404, told)
        sandbox.must(200, "POST", "/resume")
        self.assertEqual(self.run_in(sandbox, "print(1 + 1)"), "2")

    def test_it_survives_the_keeper_and_goes_on_when_it_is_resumed(self):
        sandbox = self.on_disk(metadata={"m": "1"}, env={"OWN": "value"}, timeout="10m")
        in_memory = self.create()
        sandbox.write("file", b"acknowledged", flush="true")
        sandbox.must(200, "PATCH", "", {"metadata": {"m": "2"}})
        self.lose_keeper()
        wait_until(in_memory.is_gone, "the end of the sandbox in memory")
        info = wait_until(
            lambda: sandbox.info()["restarted"] and sandbox.info(), "news of the loss"
        )
        self.assertEqual((info["state"], info["metadata"]), ("paused", {"m": "2"}))
        resumed = sandbox.must(200, "POST", "/resume")
        self.assertEqual((resumed["id"], resumed["state"]), (sandbox.id, "running"))
        self.assertTrue(resumed["restarted"])
        self.assertEqual(sandbox.read("file"), b"acknowledged")
        self.assertEqual(self.run_in(sandbox, "import os; print(os.environ['OWN'])"), "value")

    def test_it_survives_the_regular_end_of_the_daemon(self):
        sandbox = self.on_disk()
        sandbox.write("file", b"kept")
        ended = self.create()
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon.start()
        self.assertTrue(ended.is_gone())
        self.assertEqual(sandbox.info()["state"], "paused")
        sandbox.must(200, "POST", "/resume")
        self.assertEqual(sandbox.read("file"), b"kept")
        sandbox.kill()
        self.assertEqual(list((self.daemon.data / "workspaces").iterdir()), [])

    def test_flushed_files_are_there_after_a_loss_of_power(self):
        sandbox = self.on_disk()
        context = sandbox.context()
        busy = context.start(
            "n = 0\nwhile True:\n    open('busy', 'w').write('x' * 10000 + str(n)); n += 1"
        )
        self.addCleanup(busy.close)
        busy.until("started")
        for number in range(20):
            sandbox.write(f"file{number}", f"content {number}".encode(), flush="true")
        after = Daemon()
        self.addCleanup(after.discard)
        # What the disk holds now: nothing of it asks the file system in the image.
        context.must(204, "POST", "/interrupt")
        subprocess.run(["cp", "-a", self.daemon.data, after.data], check=True)
        after.start()
        found = Sandbox(after, sandbox.id)
        self.assertEqual(found.info()["state"], "paused")
        found.must(200, "POST", "/resume")
        for number in range(20):
            self.assertEqual(found.read(f"file{number}"), f"content {number}".encode())
        found.kill()

    def test_forks_and_snapshots_of_it_have_its_files_and_go_their_own_way(self):
        sandbox = self.on_disk()
        self.run_in(sandbox, "open('file', 'w').write('before')")
        fork = sandbox.must(201, "POST", "/fork", {"count": 2})["sandboxes"]
        template = sandbox.must(201, "POST", "/snapshot", {"name": "of-disk"})["template"]
        self.run_in(sandbox, "open('file', 'w').write('after')")
        made = self.create(template=template)
        self.assertEqual(made.info()["limits"]["disk"], 16 * MIB)
        for info in [*fork, made.info()]:
            copy = Sandbox(self.daemon, info["id"])
            self.assertEqual(info["storage"], "disk")
            self.assertEqual(copy.read("file"), b"before")
            copy.kill()
        self.daemon.must(400, "POST", "/v1/sandboxes", {"template": template, "storage": "memory"})
        self.assertEqual(sandbox.read("file"), b"after")

    def test_its_image_goes_when_its_time_is_over(self):
        sandbox = self.on_disk(timeout="1s")
        image = self.image(sandbox)
        wait_until(sandbox.is_gone, "the end of the sandbox")
        self.assertFalse(image.exists())

    def test_a_volume_and_a_workspace_on_disk_come_back_together(self):
        self.volume("beside")
        sandbox = self.on_disk(volumes=[{"name": "beside", "path": "/volumes/data"}])
        self.run_in(sandbox, "open('/volumes/data/f', 'w').write('v'); open('f', 'w').write('w')")
        self.daemon.must(
            200, "PUT", f"{VOLUMES}/beside/files/flushed?flush=true", b"by another way"
        )
        self.lose_keeper()
        wait_until(lambda: sandbox.info()["restarted"], "news of the loss")
        sandbox.must(200, "POST", "/resume")
        self.assertEqual(self.run_in(sandbox, "print(open('/volumes/data/flushed').read())"),
                         "by another way")


class OfMemory(OnDisk):
    def test_a_paused_sandbox_gives_back_what_the_kernel_can_drop(self):
        self.volume("cache", size="128M")
        sandbox = self.with_volume("cache")
        self.run_in(sandbox, """
with open('/volumes/data/large', 'wb') as file:
    for _ in range(64):
        file.write(bytes(1 << 20))
    file.flush()
    import os
    os.fsync(file.fileno())
content = open('/volumes/data/large', 'rb').read()
del content
""")
        before = sandbox.must(200, "GET", "/usage")["memory"]
        sandbox.must(204, "POST", "/pause")
        after = sandbox.must(200, "GET", "/usage")["memory"]
        self.assertLess(after, before - 48 * MIB)
        sandbox.must(200, "POST", "/resume")
        self.assertEqual(self.run_in(sandbox, "print(len(open('/volumes/data/large', 'rb').read()))"),
                         str(64 * MIB))


if __name__ == "__main__":
    unittest.main()
