# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import subprocess
import tempfile
import unittest
import uuid
import zipfile

import e2b
from both import now, of_both


def make_wheel(place):
    """A package for pip that needs no index and no build."""
    with zipfile.ZipFile(place / "tiny-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny.py", "SAYS = 'from the wheel'\n")
        wheel.writestr("tiny-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1\n")
        wheel.writestr("tiny-1.dist-info/WHEEL",
                       "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("tiny-1.dist-info/RECORD", "")


def make_files(place):
    (place / "folder").mkdir()
    (place / "folder/inner.txt").write_text("inner", encoding="ascii")
    (place / "one.txt").write_text("one", encoding="ascii")
    (place / "package").mkdir()
    (place / "package/package.json").write_text(json.dumps({"name": "tiny", "version": "1.0.0"}),
                                                encoding="ascii")
    make_wheel(place)
    for words in (["init", "-q", "-b", "main", "repository"],
                  ["-C", "repository", "-c", "user.name=a", "-c", "user.email=a@example.com",
                   "commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *words], cwd=place, check=True)


class Templates(unittest.TestCase):
    @of_both
    async def test_each_step_does_what_its_name_says(self, kind):
        with tempfile.TemporaryDirectory(prefix="gb-e2b-") as place:
            make_files(pathlib.Path(place))
            template = (
                kind.Template(file_context_path=place).skip_cache().from_base_image()
                .set_envs({"PIP_BREAK_SYSTEM_PACKAGES": "1", "STAGE": "python"})
                .copy("folder", "folder").copy("package", "package").copy("repository", "repository")
                .copy_items([{"src": "one.txt", "dest": "one.txt"},
                             {"src": "tiny-1-py3-none-any.whl", "dest": "tiny-1-py3-none-any.whl"}])
                .make_dir("made").make_symlink("one.txt", "link").rename("folder/inner.txt", "renamed")
                .remove("folder", recursive=True).run_cmd("echo $STAGE > made/stage")
                .pip_install("./tiny-1-py3-none-any.whl", g=False).npm_install("./package")
                .git_clone("file:///home/user/repository", "clone").skip_cache()
                .set_user("user").set_workdir("/home/user/made")
                .set_start_cmd("touch /tmp/up; sleep 1000", e2b.wait_for_file("/tmp/up")))
            name = f"steps-{kind.name}"
            info = await now(kind.Template.build_in_background(template, alias=name))
            status = await now(kind.Template.get_build_status(info))
            while status.status in (e2b.TemplateBuildStatus.BUILDING, e2b.TemplateBuildStatus.WAITING):
                status = await now(kind.Template.get_build_status(info))
        self.assertEqual(status.status, e2b.TemplateBuildStatus.READY, status.reason)
        self.assertTrue(await now(kind.Template.alias_exists(name)))
        sandbox = await now(kind.Sandbox.create(name))
        try:
            done = await now(sandbox.commands.run(
                "cat link renamed made/stage; ls -d folder /tmp/up; "
                "python3 -c 'import tiny; print(tiny.SAYS)'; ls node_modules; git -C clone log --format=%s",
                cwd="/home/user"))
        except e2b.CommandExitException as failed:
            done = failed
        finally:
            await now(sandbox.kill())
        self.assertEqual(done.stdout, "oneinnerpython\n/tmp/up\nfrom the wheel\ntiny\nfirst\n", done.stderr)

    @of_both
    async def test_a_build_tells_what_it_does(self, kind):
        said = []
        template = kind.Template().from_template("base").run_cmd("echo told").set_ready_cmd(e2b.wait_for_timeout(10))
        shows = e2b.default_build_logger()
        await now(kind.Template.build(template, f"told-{kind.name}",
                                      on_build_logs=lambda entry: (said.append(entry.message), shows(entry))))
        self.assertTrue(any("told" in each for each in said), said)
        self.assertTrue(await now(kind.Template.exists(f"told-{kind.name}")))

    @of_both
    async def test_tags_name_builds_of_a_template(self, kind):
        name = f"tagged-{kind.name}"
        template = kind.Template().from_template("base").run_cmd("echo one > which")
        built = await now(kind.Template.build(template, f"{name}:v1", tags=["first"]))
        self.assertEqual(sorted(built.tags), ["first", "v1"])
        assigned = await now(kind.Template.assign_tags(f"{name}:first", ["stable", "V2"]))
        build = uuid.UUID(built.build_id)  # The SDK writes it with dashes or without.
        self.assertEqual((uuid.UUID(assigned.build_id), sorted(assigned.tags)), (build, ["stable", "v2"]))
        await now(kind.Template.remove_tags(name, "first"))
        tags = await now(kind.Template.get_tags(name))
        self.assertEqual({each.tag: uuid.UUID(each.build_id) for each in tags},
                         {tag: build for tag in ("v1", "v2", "stable")})
        sandbox = await now(kind.Sandbox.create(f"{name}:stable"))
        try:
            self.assertEqual(await now(sandbox.files.read("which")), "one\n")
        finally:
            await now(sandbox.kill())
        with self.assertRaises(e2b.SandboxException):
            await now(kind.Sandbox.create(f"{name}:first"))

    @of_both
    async def test_an_image_becomes_a_dockerfile(self, kind):
        for name, first in (("alpine", "alpine:"), ("arch", "archlinux:"), ("bun", "oven/bun:"),
                            ("debian", "debian:"), ("fedora", "fedora:"), ("node", "node:"),
                            ("python", "python:"), ("ubuntu", "ubuntu:")):
            template = getattr(kind.Template(), f"from_{name}_image")().run_cmd("true")
            self.assertTrue(kind.Template.to_dockerfile(template).startswith(f"FROM {first}"), name)
        template = kind.Template().from_dockerfile("FROM debian:12\nRUN echo one\n")
        self.assertIn("debian:12", kind.Template.to_json(template))
        account = {"project_id": "p", "private_key": "k"}
        self.assertIn("gcp", kind.Template.to_json(kind.Template().from_gcp_registry("gcr.io/p/i", account)))
        self.assertIn("registry.example.com",
                      kind.Template.to_json(kind.Template().from_image("registry.example.com/image")))

    def test_ready_commands_are_commands(self):
        for ready, part in ((e2b.wait_for_port(80), "80"), (e2b.wait_for_url("http://localhost"), "http://localhost"),
                            (e2b.wait_for_process("server"), "server"), (e2b.wait_for_file("/f"), "/f"),
                            (e2b.wait_for_timeout(1_000), "sleep")):
            self.assertIn(part, ready.get_cmd())


if __name__ == "__main__":
    unittest.main()
