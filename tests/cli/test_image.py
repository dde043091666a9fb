# SPDX-License-Identifier: Apache-2.0
"""glovebox run --image: images as files, made by the tests themselves."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

from program import GLOVEBOX

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "service"))

import images  # noqa: E402

PASSWD = b"root:x:0:0::/root:/bin/bash\napp:x:1234:1235::/srv:/bin/bash\n"
GROUP = b"root:x:0:\napp:x:1235:\naudio:x:29:app\n"


class RunImage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="glovebox-image-"))
        cls.addClassCleanup(shutil.rmtree, cls.place)
        cls.place.chmod(0o755)  # A guest of root's is another user.
        cls.layer = images.tar_of([
            *images.small_root(["/usr/bin/env", "/usr/bin/true"]), ("usr/bin/sh", ("->", "bash")), ("etc/passwd", PASSWD),
            ("etc/group", GROUP), ("srv/note", b"of the image\n"), ("home/app/kept", b"at home\n")])
        cls.works = cls.run_image(cls.write("plain", {}), "--user", "user", "--", "true").returncode == 0
        if not cls.works and os.geteuid() != 0:
            raise unittest.SkipTest("the native tier does not work here")

    @classmethod
    def write(cls, name, says, pack=images.docker_save):
        path = cls.place / (name + ".tar")
        path.write_bytes(pack([cls.layer], ["MARK=env", "PATH=/usr/bin"], says=says))
        return path

    @classmethod
    def run_image(cls, image, *words, stdin=""):
        return subprocess.run([GLOVEBOX, "run", "--image", str(image), *words], input=stdin, text=True,
                              capture_output=True, check=False,
                              env={**os.environ, "XDG_CACHE_HOME": str(cls.place / "cache")})

    def said(self, image, *words, **more):
        done = self.run_image(image, *words, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_entrypoint_takes_cmd_or_the_arguments_in_its_place(self):
        image = self.write("entry", {"Entrypoint": ["bash", "-c", 'echo "$0 $MARK $PWD"; cat'],
                                     "Cmd": ["usual"], "WorkingDir": "/srv"})
        self.assertEqual(self.said(image, "--user", "user", stdin="in"), "usual env /srv\nin")
        self.assertEqual(self.said(image, "--user", "user", "--env", "MARK=mine", "--", "other", stdin=""),
                         "other mine /srv\n")

    def test_without_an_entrypoint_the_words_are_the_command(self):
        image = self.write("plain", {"Cmd": ["cat", "/srv/note"]})
        self.assertEqual(self.said(image, "--user", "user"), "of the image\n")
        self.assertEqual(self.said(image, "--user", "user", "bash", "--", "-c", "echo $0 x"), "bash x\n")
        none = self.run_image(self.write("none", {}))
        self.assertEqual(none.returncode, 2)
        self.assertIn("the image names no command to run", none.stderr)
        self.assertEqual(self.run_image(image, "--user", "user", "nowhere").returncode, 127)

    def test_code_and_files_go_into_the_workspace_of_the_image(self):
        image = self.write("plain", {"Cmd": ["cat", "/srv/note"]})
        note = self.place / "mine"
        note.write_text("mine\n", encoding="utf-8")
        self.assertEqual(self.said(image, "--user", "user", "--file", str(note), "-l", "bash", "-e",
                                   "cat mine /srv/note; id -un"), "mine\nof the image\nguest\n")

    def test_a_workdir_below_home_is_the_workspace_with_its_files(self):
        image = self.write("home", {"WorkingDir": "/home/app", "Cmd": ["bash", "-c", "cat kept; echo > made; pwd"]})
        done = self.run_image(image, "--user", "user", "--json")
        verdict = json.loads(done.stdout)
        self.assertEqual(verdict["stdout"], "at home\n/home/app\n")
        self.assertEqual([file["path"] for file in verdict["files"]], ["made"])

    @unittest.skipUnless(os.geteuid() == 0, "needs root, which has ids for other users")
    def test_the_program_runs_as_the_user_of_the_image_or_the_one_asked_for(self):
        image = self.write("user", {"User": "app", "Cmd": ["bash", "-c", "id; echo $HOME $USER"]})
        app = "uid=1234(app) gid=1235(app) groups=1235(app),29(audio)\n/srv app\n"
        self.assertEqual(self.said(image), app)
        self.assertIn("uid=0(root)", self.said(image, "--user", "root"))
        self.assertIn("uid=77 gid=29(audio)", self.said(image, "--user", "77:audio"))
        self.assertIn("uid=1000(guest)", self.said(image, "--user", "user"))
        self.assertIn("uid=0(root)", self.said(self.write("bare", {"Cmd": ["id"]})))
        refused = self.run_image(image, "--user", "nobody-here")
        self.assertEqual(refused.returncode, 126)
        self.assertIn("no user 'nobody-here' in /etc/passwd", refused.stderr)
        self.assertEqual(refused.stdout, "")
        # It has none of root's powers, and cannot get them back.
        self.assertEqual(self.run_image(image, "--", "bash", "-c", "echo x > /etc/passwd").returncode, 1)

    def test_an_oci_layout_is_taken_as_an_archive_and_as_a_directory(self):
        archive = self.place / "oci.tar"
        archive.write_bytes(images.oci_layout([self.layer], ["MARK=oci", "PATH=/usr/bin"], names=("one", "two")))
        directory = self.place / "layout"
        with tarfile.open(archive) as tar:
            tar.extractall(directory)
        for reference in (f"oci-archive:{archive}:two", f"oci:{directory}:two"):
            self.assertEqual(self.said(reference, "--user", "user", "bash", "--", "-c", "echo $MARK $NAME"),
                             "oci two\n", reference)

    def test_the_second_run_unpacks_nothing(self):
        image = self.write("again", {"Cmd": ["true"], "Labels": {"only": "here"}})
        first, second = (self.run_image(image, "--user", "user", "--", "env").stderr for _ in range(2))
        self.assertIn("layer 1 of 1", first)
        self.assertNotIn("layer", second)

    def test_what_is_no_image_is_said(self):
        broken = self.place / "broken.tar"
        broken.write_bytes(b"no archive")
        for image, message in ((broken, "Unrecognized archive format"), ("./nowhere", "no image './nowhere'"),
                               ("tool:1", "a build has no network to pull"),
                               ("UPPER", "is not the name of an image"),
                               (self.place, "the directory contains no image")):
            with self.subTest(image=str(image)):
                done = self.run_image(image)
                self.assertEqual(done.returncode, 2, done)
                self.assertIn(message, done.stderr)
        done = subprocess.run([GLOVEBOX, "run", "--user", "app", "-l", "bash", "-e", "true"], text=True,
                              capture_output=True, check=False)
        self.assertEqual((done.returncode, "--user: invalid value 'app'" in done.stderr), (2, True))


if __name__ == "__main__":
    unittest.main()
