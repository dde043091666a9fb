#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs each package of ./dev dist in an empty Debian root, without a network, and runs a line
of Python there as root and as an ordinary user; and runs the image, whose own root it is.

Usage: test_install.py DIRECTORY      as root. The roots are unpacked from Debian's packages.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))
sys.dont_write_bytecode = True
import image  # noqa: E402  pylint: disable=wrong-import-position

DIST = pathlib.Path(sys.argv.pop() if len(sys.argv) > 1 else ROOT / "build/dist").resolve()
WITHIN = 10.0  # Seconds, with the installation.
USER = 1000
WANTED_BY_DPKG = ["diffutils", "libc-bin", "tar"]
ENTER = """
set -e
mount --make-rprivate /
mount --bind "$1" "$1"
cd "$1"
mkdir -p old
mount -t proc proc proc
mount --rbind /sys sys
mount --rbind /dev dev
mount -t tmpfs tmpfs run
pivot_root . old
/usr/bin/python3 -c "import ctypes; ctypes.CDLL(None).umount2(b'/old', 2)"  # Has no umount(8).
shift
exec "$@"
"""
AS_USER = ("import os, sys; os.setgroups([]); os.setgid({0}); os.setuid({0});"
           "os.environ['HOME'] = '/tmp'; os.execv(sys.argv[1], sys.argv[1:])").format(USER)


def inside(root, *command):
    """Runs a command with `root` as its whole file system, and without a network."""
    return subprocess.run(["unshare", "--mount", "--pid", "--net", "--fork", "sh", "-c", ENTER, "sh",
                           root, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"})


def only(pattern):
    found = list(DIST.glob(pattern))
    assert len(found) == 1, f"{pattern} in {DIST}: {found}"
    return found[0]


class Installing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = pathlib.Path(tempfile.mkdtemp(prefix="glovebox-install-"))
        cls.addClassCleanup(shutil.rmtree, cls.work)
        cls.work.chmod(0o711)
        debs = image.download(cls.work, [*image.PACKAGES, *WANTED_BY_DPKG])
        cls.empty = cls.work / "empty"
        image.unpack(debs, cls.empty)
        (cls.empty / "opt").mkdir(exist_ok=True)
        # dpkg there knows what is there.
        database = cls.empty / "var/lib/dpkg"
        for name in ("info", "updates", "triggers"):
            (database / name).mkdir(parents=True, exist_ok=True)
        (database / "status").write_text("\n".join(
            "Status: install ok installed\n" +
            subprocess.run(["dpkg-deb", "-f", deb], check=True, stdout=subprocess.PIPE,
                           text=True).stdout for deb in debs))

    def new_root(self):
        root = pathlib.Path(tempfile.mkdtemp(dir=self.work))
        root.chmod(0o755)
        subprocess.run(["cp", "-a", f"{self.empty}/.", root], check=True)
        return root

    def runs(self, root, program, started):
        for who in ((), ("/usr/bin/python3", "-c", AS_USER)):
            with self.subTest("root" if not who else "user"):
                done = inside(root, *who, program, "run", "-l", "python", "-e", "print(6*7)")
                self.assertEqual((done.stdout, done.returncode), ("42\n", 0))
        self.assertLess(time.monotonic() - started, WITHIN)

    def test_the_debian_package_installs_and_runs(self):
        root = self.new_root()
        shutil.copy(only("*.deb"), root / "glovebox.deb")
        started = time.monotonic()
        done = inside(root, "/usr/bin/dpkg", "--install", "/glovebox.deb")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.runs(root, "/usr/bin/glovebox", started)
        self.assertLess((root / "usr/bin/glovebox").stat().st_size, 25 << 20)
        for path in ("bash-completion/completions/glovebox", "fish/vendor_completions.d/glovebox.fish",
                     "zsh/vendor-completions/_glovebox", "man/man1/glovebox-run.1.gz"):
            self.assertGreater((root / "usr/share" / path).stat().st_size, 0, path)

    def test_the_wheel_installs_and_runs(self):
        root = self.new_root()
        started = time.monotonic()
        subprocess.run([sys.executable, "-m", "pip", "--no-cache-dir", "install", "-q", "--no-index",
                        "--ignore-installed", "--prefix", root / "opt/glovebox", only("*.whl")],
                       check=True)
        self.runs(root, "/opt/glovebox/bin/glovebox", started)
        # The SDK in it finds the program beside itself.
        place = next((root / "opt/glovebox/lib").glob("python3*/site-packages"))
        # So does the engine, which needs no daemon.
        for last in ("print(glovebox.run('print(6*7)').check().stdout, end='')",
                     "print(glovebox.Client('embedded:').run('print(6*7)').check().stdout, end='')"):
            code = f"import sys; sys.path.insert(0, sys.argv[1]); import glovebox; {last}"
            done = inside(root, "/usr/bin/python3", "-c", AS_USER, "/usr/bin/python3", "-c", code,
                          "/" + str(place.relative_to(root)))
            self.assertEqual((done.stdout, done.returncode), ("42\n", 0))

    def test_the_npm_package_installs_and_runs(self):
        root = self.new_root()
        (root / "opt/npm").mkdir()
        started = time.monotonic()
        subprocess.run(["npm", "install", "--offline", "--silent", "--no-audit", "--no-fund",
                        "--prefix", root / "opt/npm", only("*.tgz")], check=True)
        self.runs(root, "/opt/npm/node_modules/.bin/glovebox", started)
        package = json.loads((root / "opt/npm/node_modules/glovebox/package.json").read_text())
        for place in package["exports"]["."].values():
            self.assertTrue((root / "opt/npm/node_modules/glovebox" / place).is_file(), place)

    def test_the_archive_runs_where_it_is_unpacked(self):
        root = self.new_root()
        started = time.monotonic()
        subprocess.run(["tar", "-xzf", only("*.tar.gz"), "-C", root / "opt"], check=True)
        top = next((root / "opt").iterdir()).name
        self.runs(root, f"/opt/{top}/bin/glovebox", started)

    def test_the_image_runs(self):
        layout = pathlib.Path(tempfile.mkdtemp(dir=self.work))
        root = layout / "root"
        root.mkdir()
        started = time.monotonic()
        with tarfile.open(only("*-image.tar")) as archive:
            archive.extractall(layout)

        def blob(described):
            return layout / "blobs/sha256" / described["digest"].removeprefix("sha256:")

        index = json.loads((layout / "index.json").read_text())
        manifest = json.loads(blob(index["manifests"][0]).read_text())
        entry = json.loads(blob(manifest["config"]).read_text())["config"]["Entrypoint"]
        for layer in manifest["layers"]:
            subprocess.run(["tar", "-xzf", blob(layer), "-C", root], check=True)
        layout.chmod(0o755)
        self.runs(root, entry[0], started)


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("test_install.py: must be root")
    unittest.main(verbosity=2)
