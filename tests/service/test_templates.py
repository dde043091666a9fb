#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Templates over the REST door of a real daemon: recipes, images, hostile images."""

import fcntl
import json
import os
import pathlib
import signal
import unittest

import images
from daemon import Daemon, wait_until


class TemplateTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.discard)
        cls.root = images.tar_of(images.small_root())

    def build(self, **recipe):
        return list(self.daemon.stream("POST", "/v1/templates", recipe))

    def built(self, **recipe):
        events = self.build(**recipe)
        self.assertEqual(events[-1]["type"], "built", events)
        return events[-1]

    def upload(self, name, kind, archive):
        answer = self.daemon.ask("PUT", f"/v1/templates/{name}/archive?format={kind}", archive,
                                 {"Content-Type": "application/x-tar"})
        self.assertEqual(answer.status, 200, answer)
        return [json.loads(line) for line in answer.body.splitlines() if line]

    def imported(self, name, kind, archive):
        events = self.upload(name, kind, archive)
        self.assertEqual(events[-1]["type"], "built", events)
        return events[-1]

    def refused(self, name, kind, archive):
        events = self.upload(name, kind, archive)
        self.assertEqual(events[-1]["type"], "failed", events)
        self.assertEqual(self.daemon.ask("GET", f"/v1/templates/{name}").status, 404)
        return events[-1]["message"]

    def said(self, template, script, **wishes):
        """What a command says in a sandbox of the template."""
        sandbox = self.daemon.create(template=template, tier="native", **wishes)
        try:
            events = self.daemon.stream("POST", sandbox.path + "/processes",
                                        {"argv": ["/bin/bash", "-c", script]})
            return "".join(event.get("text", "") for event in events)
        finally:
            sandbox.kill()

    def output_of(self, sandbox, script):
        """What a command says on its standard output in that sandbox."""
        events = self.daemon.stream("POST", sandbox + "/processes",
                                    {"argv": ["/bin/bash", "-c", script]})
        return "".join(event["text"] for event in events if event["type"] == "stdout")

    def pieces(self):
        store = self.daemon.data / "templates"
        return {path.name for path in store.iterdir() if not path.name.startswith(".memory")}

    def whole_pieces(self):
        return {name for name in self.pieces() if not name.startswith(".build-")}

    def wait_until_nothing_is_new_since(self, before):
        # What an earlier test has deleted may still go meanwhile. A draft whose last process was
        # still ending goes with the next round of the keeper's sweep.
        wait_until(lambda: not self.pieces() - before, "the draft is gone", 120)

    # Recipes.

    def test_files_and_commands_leave_their_work_in_each_sandbox(self):
        events = self.build(name="worked", env={"GREETING": "hello"},
                            files=[{"path": "in/a.txt", "content": "from a file"},
                                   {"path": "b.bin", "base64": "AAEC", "mode": "0755"}],
                            commands=["cat in/a.txt; echo \"$GREETING\" > out.txt"])
        self.assertEqual([event["step"] for event in events if event["type"] == "progress"], [1, 2, 3])
        self.assertIn("from a file",
                      "".join(event["text"] for event in events if event["type"] == "log"))
        self.assertFalse(events[-1]["cached"])
        self.assertEqual(self.said("worked", "cat out.txt in/a.txt; stat -c %s-%a b.bin; echo $GREETING"),
                         "hello\nfrom a file3-755\nhello\n")

    def test_the_same_recipe_again_is_not_built_again(self):
        recipe = {"files": [{"path": "a", "content": "same"}], "commands": ["date +%N > once"]}
        first = self.built(name="once", **recipe)
        again = self.built(name="twice", **recipe)
        self.assertFalse(first["cached"])
        self.assertTrue(again["cached"])
        self.assertEqual(self.said("once", "cat once"), self.said("twice", "cat once"))

    def test_a_template_begins_where_its_base_ended(self):
        self.built(name="lower", commands=["echo low > low"], env={"A": "1", "B": "1"})
        self.built(name="upper", base="lower", commands=["cat low > high"], env={"B": "2"})
        self.assertEqual(self.said("upper", "cat low high; echo $A$B"), "low\nlow\n12\n")
        self.assertEqual(self.daemon.must(200, "GET", "/v1/templates/upper")["base"], "lower")

    def test_what_a_template_starts_runs_in_each_sandbox_once_it_is_ready(self):
        self.built(name="serving", start="sleep 0.3; echo up > /tmp/up; exec sleep 60",
                   ready="test -e /tmp/up")
        self.assertEqual(self.said("serving", "cat /tmp/up; pgrep -c -f 'sleep 60'"), "up\n1\n")

    def test_a_program_runs_once_in_a_template(self):
        self.built(name="for-runs", env={"GREETING": "hello"}, commands=["echo low > low; mkdir -p $HOME/d"],
                   files=[{"path": "helper.py", "content": "NAME = 'helper'"}], home="/home/user", user="user")
        code = "import os, helper; print(helper.NAME, open('low').read(), os.environ['GREETING'], os.getcwd())"
        done = self.daemon.must(200, "POST", "/v1/run",
                                {"language": "python", "code": code, "template": "for-runs"})
        self.assertEqual(done["stdout"], "helper low\n hello /home/user\n", done)
        compiled = {"language": "c", "code": "#include <stdio.h>\nint main(){puts(\"compiled\");}"}
        done = self.daemon.must(200, "POST", "/v1/run", {**compiled, "template": "for-runs"})
        self.assertEqual(done["stdout"], "compiled\n", done)
        self.imported("run-root", "rootfs", self.root)
        done = self.daemon.must(200, "POST", "/v1/run",
                                {"language": "bash", "code": "ls /usr/bin; id -un", "template": "run-root"})
        self.assertEqual(done["stdout"], "bash\ncat\nid\nls\nsleep\nguest\n", done)
        answer = self.daemon.ask("POST", "/v1/run", {"language": "bash", "code": "1", "template": "none-such"})
        self.assertEqual(answer.status, 404, answer)

    def test_its_limits_are_those_of_sandboxes_that_ask_for_none(self):
        self.built(name="small", limits={"memory": "128M"})
        sandbox = self.daemon.create(template="small")
        self.addCleanup(sandbox.kill)
        self.assertEqual(sandbox.info()["limits"]["memory"], 128 << 20)
        other = self.daemon.create(template="small", limits={"memory": "192M"})
        self.addCleanup(other.kill)
        self.assertEqual(other.info()["limits"]["memory"], 192 << 20)

    def test_a_context_has_the_modules_that_are_preloaded(self):
        self.built(name="warm", preload=["colorsys"])
        sandbox = self.daemon.create(template="warm", tier="native")
        self.addCleanup(sandbox.kill)
        answer = sandbox.context().execute("import sys; print('colorsys' in sys.modules)")
        self.assertEqual(answer["stdout"], "True\n")

    def test_a_module_that_cannot_be_preloaded_is_named_and_contexts_start_without_it(self):
        events = self.build(name="hopeful", preload=["colorsys", "no_such_module"])
        self.assertEqual(events[-1]["type"], "built", events)
        log = "".join(event["text"] for event in events if event["type"] == "log")
        self.assertEqual(log, "warning: cannot preload 'no_such_module': ModuleNotFoundError: "
                              "No module named 'no_such_module'\n")
        sandbox = self.daemon.create(template="hopeful", tier="native")
        self.addCleanup(sandbox.kill)
        answer = sandbox.context().execute("import sys; print('colorsys' in sys.modules)")
        self.assertEqual(answer["stdout"], "True\n")

    def test_a_builder_that_dies_fails_its_own_build_and_harms_no_sandbox(self):
        before = self.pieces()
        sandbox = self.daemon.create()
        self.addCleanup(sandbox.kill)
        context = sandbox.context()
        context.execute("kept = 41")
        events = self.daemon.stream("POST", "/v1/templates",
                                    {"name": "killed", "commands": ["sleep 600"]})
        self.assertEqual(next(iter(events))["type"], "progress")
        builder = wait_until(self.daemon.builders, "a builder")[0]
        self.assertNotEqual(builder, self.daemon.keeper())
        os.kill(builder, signal.SIGKILL)
        self.assertIn("builder", events.until("failed")["message"])
        self.assertEqual(context.value("kept + 1"), "42")
        self.wait_until_nothing_is_new_since(before)
        self.built(name="killed", commands=["true"])

    def test_a_draft_that_outlived_its_build_goes_without_another_build(self):
        draft = self.daemon.data / "templates/.build-abandoned"
        (draft / "root").mkdir(parents=True)
        kept = self.daemon.data / "templates/.build-filled"
        kept.mkdir()
        holder = os.open(kept, os.O_RDONLY)
        try:
            fcntl.flock(holder, fcntl.LOCK_EX)
            wait_until(lambda: not draft.exists(), "the sweep of the keeper", 120)
            self.assertTrue(kept.exists())
        finally:
            os.close(holder)
        wait_until(lambda: not kept.exists(), "the next sweep", 120)

    def test_a_template_cannot_be_built_on_a_snapshot_and_the_hint_says_on_what(self):
        sandbox = self.daemon.create()
        self.addCleanup(sandbox.kill)
        sandbox.must(201, "POST", "/snapshot", {"name": "base-snapshot"})
        self.addCleanup(self.daemon.ask, "DELETE", "/v1/templates/base-snapshot")
        told = self.daemon.must(400, "POST", "/v1/templates",
                                {"name": "upon", "base": "base-snapshot", "commands": ["true"]})
        self.assertEqual(told["error"], "invalid")
        self.assertIn("base-snapshot", told["message"])
        self.assertIn("template that its sandbox was created from", told["hint"])

    def test_a_command_that_fails_leaves_nothing(self):
        before = self.pieces()
        events = self.build(name="broken", commands=["echo well; echo worse >&2; echo bad >&2; exit 3"])
        self.assertEqual(events[-1]["type"], "failed")
        self.assertIn("exit status 3", events[-1]["message"])
        said = "".join(event["text"] for event in events if event["type"] == "log")
        self.assertIn("worse\nbad\n", said)
        self.assertIn(": bad", events[-1]["message"])
        self.assertNotIn("worse\\n", events[-1]["message"])
        self.assertEqual(self.daemon.ask("GET", "/v1/templates/broken").status, 404)
        self.wait_until_nothing_is_new_since(before)

    def test_a_client_that_leaves_cancels_and_leaves_nothing(self):
        before = self.pieces()
        events = self.daemon.stream("POST", "/v1/templates",
                                    {"name": "left", "commands": ["echo begun; sleep 60"]})
        events.until("log")
        events.close()
        self.wait_until_nothing_is_new_since(before)
        self.assertEqual(self.daemon.ask("GET", "/v1/templates/left").status, 404)

    def test_a_recipe_that_makes_no_sense_is_refused_by_name(self):
        for wrong, field in (({"name": "../x"}, "name"), ({"name": ""}, "name"),
                             ({"name": "a", "preload": ["os; x"]}, "preload"),
                             ({"name": "a", "home": "/etc"}, "home"),
                             ({"name": "a", "files": [{"path": "../x", "content": ""}]}, "files"),
                             ({"name": "a", "base": {"oci": "x", "docker": "y"}}, "base"),
                             ({"name": "a", "base": {"debootstrap": {"suite": "--x"}}}, "suite"),
                             ({"name": "a", "colour": 1}, "colour")):
            answer = self.daemon.ask("POST", "/v1/templates", wrong)
            self.assertEqual(answer.status, 400, wrong)
            self.assertIn(field, answer.json["message"], wrong)
        self.assertEqual(self.daemon.ask("POST", "/v1/templates",
                                         {"name": "a", "base": "no-such"}).status, 404)

    def test_ours_are_listed_and_can_not_be_replaced_or_removed(self):
        names = {each["name"]: each for each in
                 self.daemon.must(200, "GET", "/v1/templates")["templates"]}
        self.assertTrue(names["default"]["builtin"])
        self.assertEqual(self.daemon.ask("DELETE", "/v1/templates/default").status, 409)
        self.assertEqual(self.daemon.ask("POST", "/v1/templates", {"name": "base"}).status, 409)

    # Images.

    def test_an_image_of_docker_is_what_its_sandboxes_see(self):
        layers = [self.root, images.tar_of([("srv/a", b"one"), ("srv/b", b"two")]),
                  images.tar_of([("srv/.wh.a", b""), ("srv/c", b"three")])]
        built = self.imported("dock", "docker", images.docker_save(layers, ["FROM_IMAGE=yes"]))
        self.assertTrue(built["template"]["own_root"])
        self.assertEqual(self.said("dock", "ls /srv; ls /usr/bin; echo $FROM_IMAGE; id -un"),
                         "b\nc\nbash\ncat\nid\nls\nsleep\nyes\nguest\n")
        again = self.imported("dock2", "docker", images.docker_save(layers, ["FROM_IMAGE=yes"]))
        self.assertTrue(again["cached"])

    def test_an_oci_layout_is_what_its_sandboxes_see(self):
        for kind in ["plain", "gzip"] + (["zstd"] if images.has_zstd() else []):
            with self.subTest(kind):
                layers = [self.root, images.tar_of([("srv/kind", kind.encode())])]
                self.imported("oci-" + kind, "oci", images.oci_layout(layers, kind=kind))
                self.assertEqual(self.said("oci-" + kind, "cat /srv/kind"), kind)

    def test_a_recipe_goes_on_from_an_image(self):
        self.imported("plain-root", "rootfs", self.root)
        self.built(name="on-root", base="plain-root", commands=["id -un > who; echo $HOME > where"],
                   home="/home/user", user="user")
        self.assertEqual(self.said("on-root", "cat who where; pwd"), "user\n/home/user\n/home/user\n")

    def test_a_missing_interpreter_is_named(self):
        self.imported("no-python", "rootfs", self.root)
        sandbox = self.daemon.create(template="no-python", tier="native")
        self.addCleanup(sandbox.kill)
        answer = self.daemon.ask("POST", sandbox.path + "/contexts", {"language": "python"})
        if answer.status == 201:
            answer = self.daemon.ask("POST", f"{sandbox.path}/contexts/{answer.json['id']}/execute",
                                     {"code": "1"})
        self.assertGreaterEqual(answer.status, 400)
        self.assertIn("template", answer.json["hint"])

    def test_a_missing_module_of_an_interpreter_is_named(self):
        self.imported("python-minimal", "rootfs", images.tar_of(images.minimal_python_root()))
        sandbox = self.daemon.create(template="python-minimal", tier="native")
        self.addCleanup(sandbox.kill)
        self.assertEqual(self.output_of(sandbox.path, "python3 -c 'print(6*7)'"), "42\n")
        answer = self.daemon.ask("POST", sandbox.path + "/contexts", {"language": "python"})
        self.assertGreaterEqual(answer.status, 400)
        self.assertRegex(answer.json["message"], r"Python's module '[\w.]+' is missing$")
        self.assertIn("IPython", answer.json["hint"])

    def test_the_landlock_tier_says_that_it_can_not(self):
        self.imported("no-landlock", "rootfs", self.root)
        answer = self.daemon.ask("POST", "/v1/sandboxes",
                                 {"template": "no-landlock", "tier": "landlock"})
        self.assertEqual(answer.status, 501, answer)

    def test_a_snapshot_of_its_sandbox_shows_the_same_root(self):
        self.imported("to-snap", "rootfs", self.root)
        sandbox = self.daemon.create(template="to-snap", tier="native")
        self.addCleanup(sandbox.kill)
        sandbox.write("kept.txt", b"kept")
        sandbox.must(201, "POST", "/snapshot", {"name": "snapped"})
        self.assertEqual(self.said("snapped", "cat kept.txt; ls /usr/bin"),
                         "keptbash\ncat\nid\nls\nsleep\n")

    def test_removal_frees_what_nobody_uses_and_nothing_else(self):
        self.imported("used", "rootfs", self.root + b"\0" * 1024)
        before = self.whole_pieces()
        sandbox = self.daemon.create(template="used", tier="native")
        self.daemon.must(204, "DELETE", "/v1/templates/used")
        self.assertEqual(self.whole_pieces(), before)
        events = self.daemon.stream("POST", sandbox.path + "/processes",
                                    {"argv": ["/bin/bash", "-c", "ls /usr/bin/bash"]})
        self.assertIn("/usr/bin/bash", "".join(event.get("text", "") for event in events))
        sandbox.kill()

        def freed():
            # A sweep comes with each build and each removal.
            self.built(name="sweep")
            self.daemon.must(204, "DELETE", "/v1/templates/sweep")
            return len(self.whole_pieces()) < len(before)

        wait_until(freed, "the content is gone")
        self.assertEqual(self.daemon.ask("POST", "/v1/sandboxes", {"template": "used"}).status, 404)

    def test_sandboxes_of_a_removed_template_go_on_and_can_be_copied(self):
        self.imported("going", "rootfs", self.root + b"\0" * 2048)
        sandbox = self.daemon.create(template="going", tier="native")
        sandbox.write("kept.txt", b"kept")
        [first] = sandbox.must(201, "POST", "/fork", {"count": 1})["sandboxes"]
        self.daemon.must(204, "DELETE", "/v1/templates/going")
        [second] = sandbox.must(201, "POST", "/fork", {"count": 1})["sandboxes"]
        third = sandbox.must(201, "POST", "/snapshot", {"name": "gone-on"})["template"]
        copies = [first["id"], second["id"], self.daemon.create(template=third, tier="native").id]
        for id in (sandbox.id, *copies):
            self.assertEqual(self.output_of(f"/v1/sandboxes/{id}", "cat kept.txt; ls /usr/bin"),
                             "keptbash\ncat\nid\nls\nsleep\n")
        for id in (sandbox.id, *copies):
            self.daemon.must(204, "DELETE", f"/v1/sandboxes/{id}")
        self.daemon.must(204, "DELETE", f"/v1/templates/{third}")

    def test_a_copy_is_made_of_what_its_sandbox_was_made_of(self):
        self.imported("changing", "rootfs", self.root + b"\0" * 4096)
        sandbox = self.daemon.create(template="changing", tier="native")
        self.addCleanup(sandbox.kill)
        self.imported("changing", "rootfs", images.tar_of(
            [*images.small_root(), ("usr/second", b"second\n")]))
        [copy] = sandbox.must(201, "POST", "/fork", {"count": 1})["sandboxes"]
        self.addCleanup(self.daemon.ask, "DELETE", f"/v1/sandboxes/{copy['id']}")
        self.assertEqual(self.output_of(f"/v1/sandboxes/{copy['id']}", "cat /usr/second || echo first"),
                         "first\n")
        self.assertEqual(self.said("changing", "cat /usr/second"), "second\n")

    # Hostile images.

    def test_nothing_of_a_hostile_layer_is_written_outside(self):
        mark = pathlib.Path("/tmp") / f"gb-escape-{os.getpid()}"
        name = str(mark).lstrip("/")
        for label, entries in {
            "climbing": [("../../../../../../" + name, b"x")],
            "climbing inside": [("a/../../../../../../" + name, b"x")],
        }.items():
            with self.subTest(label):
                self.assertIn("..", self.refused("evil", "rootfs", images.tar_of(entries)))
        for label, entries in {
            "absolute": [("/" + name, b"x")],
            "absolute link": [("out", ("->", "/tmp")), ("out/" + mark.name, b"x")],
            "relative link": [("out", ("->", "../../../../../../tmp")), ("out/" + mark.name, b"x")],
            "link as file": [("f", ("->", str(mark))), ("f", b"x")],
            "link over etc": [("etc", ("->", "/tmp")), ("etc/" + mark.name, b"x")],
        }.items():
            with self.subTest(label):
                self.imported("odd", "rootfs", images.tar_of(images.small_root() + entries))
                self.assertFalse(mark.exists())
                self.assertIn("guest:x:1000", self.said("odd", "cat /etc/passwd"))

    def test_hard_links_lead_to_files_of_the_image_alone(self):
        for target in ("/etc/passwd", "../../../../../../etc/passwd", "no/such/file"):
            with self.subTest(target):
                self.refused("hard", "rootfs", images.tar_of([("f", ("=", target))]))

    def test_what_a_digest_does_not_fit_is_refused(self):
        layer = images.tar_of([("mark", b"as it was built")])
        for kind, pack in (("docker", images.docker_save),
                           ("oci", lambda layers: images.oci_layout(layers, kind="plain"))):
            forged = pack([self.root, layer]).replace(b"as it was built", b"as I would like")
            self.assertIn("digest", self.refused("forged", kind, forged))

    def test_what_is_no_image_is_refused(self):
        for kind, archive in (("docker", b"no tar at all" * 100), ("oci", images.tar_of([("a", b"")])),
                              ("docker", images.tar_of([("manifest.json", b"[" * 100000)])),
                              ("oci", images.tar_of([("index.json", b'{"manifests":[{"digest":"sha256:../../x"}]}')])),
                              ("docker", images.tar_of([("manifest.json", ("->", "/etc/passwd"))]))):
            with self.subTest(kind=kind):
                self.refused("none", kind, archive)
        self.assertEqual(self.daemon.ask("PUT", "/v1/templates/x/archive?format=zip", b"").status, 400)


if __name__ == "__main__":
    unittest.main()
