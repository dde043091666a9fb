# SPDX-License-Identifier: Apache-2.0
"""Templates as container images, over REST and by `glovebox template export`."""

import http.client
import io
import json
import os
import pathlib
import subprocess
import tarfile
import tempfile
import unittest

import images
from daemon import GLOVEBOX, Case, wait_until

PROGRAMS = ["/usr/bin/mkdir", "/usr/bin/chmod", "/usr/bin/ln", "/usr/bin/dd"]
LISTING = "ls -lAR --time-style=+ /usr /etc /srv /var /opt /workspace | cat; readlink /bin; cat /srv/* /workspace/* 2>/dev/null"


class TemplateExportTest(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        root = [*images.small_root([*PROGRAMS, "/usr/bin/readlink"]), ("usr/bin/sh", ("->", "bash")),
                ("srv/a", b"a\n"), ("srv/b", ("=", "srv/a")), ("home/hidden", b"of no sandbox")]
        assert b'"built"' in cls.send("/v1/templates/small/archive?format=docker",
                                      images.docker_save([images.tar_of(root)], ["MODE=test"])).body
        text = (b'FROM small\nENV STAGE="a b"\nRUN mkdir -p /opt/tool /srv/\xc3\xa9/' + b"d" * 120 + b" && "
                b"echo made > /srv/made && chmod 0755 /srv/made && ln -s /etc/passwd /srv/link\n"
                b"COPY app.py sub/ ./\nCMD [\"cat\", \"app.py\"]\n")
        context = images.tar_of([("Dockerfile", text), ("app.py", b"app\n"), ("sub", None), ("sub/z", b"z\n")])
        assert b'"built"' in cls.send("/v1/templates/app/archive?format=dockerfile", context).body

    @classmethod
    def send(cls, path, body):
        return cls.daemon.ask("PUT", path, body, {"Content-Type": "application/x-tar"})

    def exported(self, name):
        answer = self.daemon.must(200, "GET", f"/v1/templates/{name}/archive?format=oci")
        self.assertEqual(answer.headers["Content-Length"], str(len(answer.body)))
        return answer.body

    def files(self, archive):
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            return {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}

    def said(self, template, script):
        sandbox = self.create(template=template, tier="native")
        done = sandbox.must(200, "POST", "/commands", {"argv": ["bash", "-c", script]})
        self.assertEqual(done["stderr"], "")
        return done["stdout"]

    def test_what_is_exported_and_imported_again_is_the_same_tree(self):
        archive = self.exported("app")
        answer = self.send("/v1/templates/back/archive?format=oci", archive)
        self.assertIn(b'"built"', answer.body)
        there = self.said("app", LISTING)
        self.assertIn("made", there)
        self.assertIn("app.py", there)
        self.assertEqual(self.said("back", LISTING), there)
        back = self.daemon.must(200, "GET", "/v1/templates/back")
        self.assertEqual(back["env"], {"MODE": "test", "STAGE": "a b"})
        # And once more: nothing is added or lost on the way.
        layers = [json.loads(self.files(each)["manifest.json"])[0]["Layers"]
                  for each in (archive, self.exported("back"))]
        self.assertEqual(*layers)

    def test_the_archive_is_a_layout_whose_digests_fit_and_a_save_of_docker(self):
        files = self.files(self.exported("app"))

        def blob(descriptor):
            data = files["blobs/sha256/" + descriptor["digest"].removeprefix("sha256:")]
            self.assertEqual(images.digest(data), descriptor["digest"])
            self.assertEqual(len(data), descriptor["size"])
            return data

        self.assertEqual(json.loads(files["oci-layout"]), {"imageLayoutVersion": "1.0.0"})
        described, = json.loads(files["index.json"])["manifests"]
        self.assertEqual(described["platform"], {"architecture": images.ARCHITECTURE, "os": "linux"})
        manifest = json.loads(blob(described))
        config = json.loads(blob(manifest["config"]))
        layer, = manifest["layers"]
        self.assertEqual(config["rootfs"]["diff_ids"], [images.digest(blob(layer))])
        self.assertEqual((config["architecture"], config["os"]), (images.ARCHITECTURE, "linux"))
        self.assertEqual(config["config"]["WorkingDir"], "/workspace")
        self.assertEqual(config["config"]["Env"], ["MODE=test", "STAGE=a b"])
        self.assertEqual(config["config"]["Cmd"], ["cat", "app.py"])
        saved, = json.loads(files["manifest.json"])
        self.assertEqual(saved["RepoTags"], ["app:latest"])
        self.assertEqual([f"blobs/{layer['digest'].replace(':', '/')}"], saved["Layers"])
        with tarfile.open(fileobj=io.BytesIO(blob(layer))) as tar:
            members = tar.getmembers()
        self.assertEqual({(member.mtime, member.uid, member.gid) for member in members}, {(0, 0, 0)})
        names = [member.name for member in members]
        self.assertEqual(len(names), len(set(names)))
        self.assertIn("workspace/app.py", names)
        self.assertNotIn("home/hidden", names)
        kinds = {member.name: member for member in members}
        self.assertEqual(kinds["tmp"].mode, 0o1777)
        self.assertEqual(kinds["bin"].linkname, "usr/bin")

    def test_the_same_files_give_the_same_bytes(self):
        first = self.exported("app")
        self.assertEqual(self.exported("app"), first)
        # Built again, at another time.
        answer = self.send("/v1/templates/small/archive?format=oci", self.exported("small"))
        self.assertIn(b'"built"', answer.body)
        self.assertEqual(*(json.loads(self.files(each)["manifest.json"])[0]["Layers"]
                           for each in (self.exported("small"), self.exported("small"))))

    def test_what_has_no_root_of_its_own_is_refused_with_a_way_out(self):
        self.daemon.must(200, "POST", "/v1/templates", {"name": "plain", "commands": ["true"]})
        for name in ("default", "plain"):
            answer = self.daemon.ask("GET", f"/v1/templates/{name}/archive?format=oci")
            self.assertEqual(answer.status, 501, answer)
            self.assertIn("no root of its own", answer.json["message"])
            self.assertIn("debootstrap", answer.json["hint"])
        for query, status in (("", 400), ("?format=rootfs", 400), ("?format=oci&x=1", 400)):
            self.assertEqual(self.daemon.ask("GET", "/v1/templates/app/archive" + query).status, status)
        self.assertEqual(self.daemon.ask("GET", "/v1/templates/none/archive?format=oci").status, 404)

    def test_a_client_that_leaves_ends_it_and_leaves_nothing(self):
        store = self.daemon.data / "templates"

        def drafts():
            return [path for path in store.iterdir() if path.name.startswith(".build-")]

        for _ in range(4):  # More than a tenant may have at once.
            connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=60)
            connection.request("GET", "/v1/templates/app/archive?format=oci",
                               headers={"X-API-KEY": self.daemon.key})
            response = connection.getresponse()
            self.assertEqual(response.status, 200, response.status)
            response.read(1)
            connection.close()
            wait_until(lambda: not drafts(), "the draft is gone")
        self.exported("app")

    def test_the_command_writes_a_whole_file_or_none(self):
        def export(*words):
            return subprocess.run(
                [GLOVEBOX, "template", "export", *words, "--url", f"unix:{self.daemon.unix}"],
                capture_output=True, check=False)

        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "app.tar")
            done = export("app", "-o", str(path))
            self.assertEqual((done.returncode, done.stdout), (0, b""), done.stderr)
            self.assertEqual(path.read_bytes(), self.exported("app"))
            self.assertEqual(export("app", "-o", "-").stdout, path.read_bytes())
            done = export("default", "-o", os.path.join(directory, "none.tar"))
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(b"no root of its own", done.stderr)
            self.assertEqual(os.listdir(directory), ["app.tar"])


if __name__ == "__main__":
    unittest.main()
