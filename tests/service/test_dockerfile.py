# SPDX-License-Identifier: Apache-2.0
"""Templates from Dockerfiles, over REST and by `glovebox template build -t`."""

import json
import os
import subprocess
import tempfile
import unittest
import urllib.parse

import images
from daemon import GLOVEBOX, Case

PROGRAMS = ["/usr/bin/mkdir", "/usr/bin/rm", "/usr/bin/date"]


class DockerfileTest(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        root = images.small_root(PROGRAMS) + [("usr/bin/sh", ("->", "bash")), ("usr/old", b"old")]
        answer = cls.daemon.ask("PUT", "/v1/templates/small/archive?format=rootfs", images.tar_of(root),
                                {"Content-Type": "application/x-tar"})
        assert b'"built"' in answer.body, answer

    def build(self, name, dockerfile, files=(), args=None, **parameters):
        query = {"format": "dockerfile", **parameters}
        if args is not None:
            query["build_args"] = json.dumps(args)
        context = images.tar_of([*files, ("Dockerfile", dockerfile.encode())])
        answer = self.daemon.ask("PUT", f"/v1/templates/{name}/archive?{urllib.parse.urlencode(query)}",
                                 context, {"Content-Type": "application/x-tar"})
        # What is wrong before the first step is the answer itself, and what fails later an event.
        if answer.status != 200:
            return [{**answer.json, "type": "failed"}]
        return [json.loads(line) for line in answer.body.splitlines() if line]

    def built(self, *build, **parameters):
        events = self.build(*build, **parameters)
        self.assertEqual(events[-1]["type"], "built", events)
        return events

    def failed(self, *build, **parameters):
        events = self.build(*build, **parameters)
        self.assertEqual(events[-1]["type"], "failed", events)
        self.assertEqual(self.daemon.ask("GET", f"/v1/templates/{build[0]}").status, 404)
        return events[-1]["message"], events[-1].get("hint", "")

    def steps(self, events):
        return [event["message"] for event in events if event["type"] == "progress"]

    def log(self, events):
        return "".join(event["text"] for event in events if event["type"] == "log")

    def said(self, template, script, **wishes):
        sandbox = self.create(template=template, tier="native", **wishes)
        done = sandbox.must(200, "POST", "/commands", {"argv": ["bash", "-c", script]})
        return done["stdout"] + done["stderr"]

    def test_on_the_hosts_usr_the_workspace_is_what_is_kept(self):
        events = self.built("plain", """
            ARG BASE=default
            FROM $BASE
            ARG GREETING=hello
            ENV NAME="a b" GREETED=$GREETING
            WORKDIR made
            COPY *.txt sub/ ./
            RUN cat one.txt && echo "$NAME $GREETED" > said
            COPY <<END note
            for $NAME
END
            """.replace("            ", ""),
                            [("one.txt", b"1\n"), ("sub", None), ("sub/two", b"2\n")],
                            {"GREETING": "good day"})
        self.assertEqual(self.steps(events)[0], "FROM $BASE")
        self.assertIn("1\n", self.log(events))
        self.assertEqual(self.said("plain", "cat said note one.txt two; echo $GREETED"),
                         "a b good day\nfor a b\n1\n2\ngood day\n")
        self.assertEqual(self.daemon.must(200, "GET", "/v1/templates/plain")["source"], "dockerfile")

    def test_on_a_root_of_its_own_run_is_root_and_changes_all_of_it(self):
        events = self.built("owned", """
FROM small
RUN id -u; echo new > /usr/new; rm /usr/old; mkdir -p /opt/tool /data/deep; echo x > /data/deep/x
COPY --from=small usr/old /etc/kept
COPY a /opt/tool/
ADD b.tar /srv/b
CMD ["sh", "-c", "echo started > /tmp/started; exec sleep 100"]
""", [("a", b"#!/bin/sh\necho a\n"), ("b.tar", images.tar_of([("in", b"unpacked")]))])
        self.assertIn("0\n", self.log(events))
        self.assertEqual(
            self.said("owned", "cat /usr/new /data/deep/x /etc/kept /srv/b/in; /opt/tool/a; ls /usr/old;"
                               "echo no > /usr/new; until cat /tmp/started 2>/dev/null; do sleep 0.1; done >&2"),
            "new\nx\noldunpackeda\nls: cannot access '/usr/old': No such file or directory\n"
            "bash: line 1: /usr/new: Read-only file system\nstarted\n")
        self.assertEqual(self.said("small", "cat /usr/old"), "old")
        # It is a base like any other.
        self.built("upon", "FROM owned\nRUN cat /usr/new > /etc/copied\n")
        self.assertEqual(self.said("upon", "cat /etc/copied /data/deep/x"), "new\nx\n")

    def test_what_a_dockerfile_says_of_running_is_kept_shown_inherited_and_used(self):
        events = self.built("says", """
FROM small
WORKDIR /srv/app
LABEL maintainer="a b" stage=test
EXPOSE 8080 53/udp
VOLUME ["/data"]
STOPSIGNAL SIGINT
ENTRYPOINT ["cat"]
CMD ["/usr/old"]
""")
        self.assertIn("VOLUME makes no volume", self.log(events))
        says = {"user": "", "workdir": "/srv/app", "entrypoint": ["cat"], "cmd": ["/usr/old"],
                "exposed_ports": ["53/udp", "8080/tcp"], "volumes": ["/data"],
                "labels": {"maintainer": "a b", "stage": "test"}, "stop_signal": "SIGINT"}
        self.assertEqual(self.daemon.must(200, "GET", "/v1/templates/says")["image"], says)
        self.assertEqual(self.said("says", "pwd"), "/srv/app\n")
        self.built("heir", "FROM says\nRUN pwd > at\nCMD [\"at\"]\n")
        self.assertEqual(self.daemon.must(200, "GET", "/v1/templates/heir")["image"], {**says, "cmd": ["at"]})
        self.assertEqual(self.said("heir", "cat at"), "/srv/app\n")

    @unittest.skipUnless(os.geteuid() == 0, "needs root, which has ids for other users")
    def test_run_is_who_user_names_in_this_stage_and_in_those_upon_it(self):
        events = self.built("users", """
FROM small
RUN echo 'app:x:1234:1235::/srv:/bin/sh' >> /etc/passwd; mkdir -m 777 /data
USER app
RUN echo "$(id -u) $HOME $USER" > /data/app; echo no > /etc/no; true
USER 77:78
RUN echo "$(id -u) $(id -g)" > /data/number
USER root
RUN id -u > /data/root
USER app
""")
        self.assertIn("/etc/no: Permission denied", self.log(events))
        self.assertIn("1234\n", self.log(self.built("upon-users", "FROM users\nRUN id -u\n")))
        script = "cat /data/app /data/number /data/root; id -u; echo $HOME"
        self.assertEqual(self.said("upon-users", script), "1234 /srv app\n77 78\n0\n1234\n/srv\n")
        self.assertEqual(self.daemon.must(200, "GET", "/v1/templates/upon-users")["image"]["user"], "app")

    def test_the_configuration_of_an_image_counts_and_what_it_cannot_have_is_said(self):
        def imported(name, **says):
            answer = self.daemon.ask(
                "PUT", f"/v1/templates/{name}/archive?format=docker",
                images.docker_save([images.tar_of([*images.small_root(), ("srv/x", b"x")])], ["A=b"], says=says),
                {"Content-Type": "application/x-tar"})
            return [json.loads(line) for line in answer.body.splitlines()]

        events = imported("told", WorkingDir="/srv", Cmd=["cat", "x"], Healthcheck={"Test": ["NONE"]})
        self.assertIn("HEALTHCHECK has no effect", self.log(events))
        self.assertEqual(self.daemon.must(200, "GET", "/v1/templates/told")["image"]["cmd"], ["cat", "x"])
        self.assertEqual(self.said("told", "cat x; echo $A"), "xb\n")
        events = imported("nowhere", WorkingDir="/run/gone")
        self.assertIn("'/run/gone' is a directory that each sandbox has of its own", self.log(events))
        self.assertEqual(self.said("nowhere", "pwd"), "/workspace\n")
        self.assertEqual(imported("wrong", Cmd="ls")[-1]["message"],
                         "invalid image configuration: 'Cmd' is not a list")

    def test_a_step_runs_again_only_where_something_before_it_has_changed(self):
        text = "FROM small\nRUN date +%N > /etc/first\nCOPY a /etc/a\nRUN date +%N > /etc/second\n"
        times = "cat /etc/first /etc/second"
        self.assertFalse(self.built("cached", text, [("a", b"1")])[-1]["cached"])
        first = self.said("cached", times).split()
        again = self.built("again", text, [("a", b"1"), ("unused", b"x")])
        self.assertTrue(again[-1]["cached"])
        self.assertEqual(self.said("again", times).split(), first)
        self.assertEqual(self.steps(again)[1], "RUN date +%N > /etc/first (cached)")
        changed = self.built("cached", text, [("a", b"2")])
        self.assertEqual([step.endswith("(cached)") for step in self.steps(changed)],
                         [False, True, False, False])
        second = self.said("cached", times).split()
        self.assertEqual(second[0], first[0])
        self.assertNotEqual(second[1], first[1])
        fresh = self.built("cached", text, [("a", b"2")], cache="false")
        self.assertNotIn("(cached)", str(self.steps(fresh)))
        self.assertNotEqual(self.said("cached", times).split()[0], first[0])

    def test_a_stage_leaves_only_what_is_copied_from_it(self):
        self.built("staged", """
FROM default AS build
WORKDIR out
RUN seq 3 > numbers; echo left > behind
FROM small
COPY --from=build /workspace/out/numbers /srv/numbers
""")
        self.assertEqual(self.said("staged", "cat /srv/numbers; ls /srv /workspace"),
                         "1\n2\n3\n/srv:\nnumbers\n\n/workspace:\n")

    def test_a_stage_begins_with_an_image_among_its_files(self):
        root = images.tar_of([*images.small_root(PROGRAMS), ("usr/bin/sh", ("->", "bash")), ("srv/of", b"image\n")])
        files = [("docker.tar", images.docker_save([root], ["SAID=by the image"])),
                 ("images/oci.tar", images.oci_layout([root], ["SAID=by the layout"])),
                 ("two.tar", images.docker_save([root], tags=("one:latest", "example/two:1.2"))),
                 ("named.tar", images.oci_layout([root], names=("first", "second")))]
        text = """
ARG FILE=docker.tar
FROM docker-archive:$FILE
RUN echo "$SAID" > /srv/said
"""
        events = self.built("imaged", text, files)
        self.assertEqual(self.said("imaged", "cat /srv/of /srv/said; echo $SAID"),
                         "image\nby the image\nby the image\n")
        self.assertFalse(events[-1]["cached"])
        again = self.built("imaged", text, files)
        self.assertTrue(again[-1]["cached"], again)
        self.built("laid", "FROM oci-archive:images/oci.tar\nRUN echo \"$SAID\" > /srv/said", files)
        self.assertEqual(self.said("laid", "cat /srv/said"), "by the layout\n")
        self.built("copied", "FROM default\nCOPY --from=docker-archive:docker.tar srv/of of", files)
        self.assertEqual(self.said("copied", "cat of"), "image\n")
        for image, variable, value in (
                ("docker-archive:two.tar:one", "TAG", "one:latest"),
                ("docker-archive:two.tar:example/two:1.2", "TAG", "example/two:1.2"),
                ("docker-archive:two.tar:1.2", "TAG", "example/two:1.2"),
                ("oci-archive:named.tar:second", "NAME", "second")):
            with self.subTest(image):
                self.built("chosen", f"FROM {image}", files)
                self.assertEqual(self.said("chosen", f"echo ${variable}"), value + "\n")

        for image, message in (
                ("docker-archive:missing.tar", "line 1: 'missing.tar' does not exist"),
                ("docker-archive:", "line 1: '' is not a file of the build context"),
                ("oci-archive:images", "line 1: 'images' is not a file of the build context"),
                ("oci-archive:../images/oci.tar", "line 1: '../images/oci.tar' is outside the build context"),
                ("oci-archive:/etc/passwd", "line 1: '/etc/passwd' does not exist"),
                ("oci-archive:docker.tar", "line 1: invalid image: missing file 'index.json'"),
                ("docker-archive:two.tar", "line 1: the archive must contain exactly one image"),
                ("docker-archive:two.tar:two", "line 1: no image of the archive is called 'two'"),
                ("oci-archive:named.tar:third", "line 1: no image of the archive is called 'third'")):
            with self.subTest(image):
                self.assertIn(message, self.failed("bad", f"FROM {image}", files)[0])

    def test_what_cannot_be_built_is_said_with_its_line_and_a_way_out(self):
        for text, message, hint in (
                ("FROM scratch", "line 1: 'scratch'", "FROM default"),
                ("FROM debian", "line 1: no template is called 'debian'", "docker-archive:image.tar"),
                ("FROM debian:12", "line 1: a build has no network to pull", "registry-1.docker.io"),
                ("FROM default\nHEALTHCHECK NONE", "line 2: HEALTHCHECK is not supported", "remove it"),
                ("FROM default\nUSER root", "line 2: the user of this base is 'guest'", "root of its own"),
                ("FROM default\nCOPY a /etc/a", "line 2: '/etc/a' is outside the workspace", "root of its own"),
                ("FROM small\nWORKDIR /tmp/x", "line 2: '/tmp/x' is a directory that each sandbox", "/workspace"),
                ("FROM small\nUSER app\nRUN id", "no user 'app' in /etc/passwd", ""),
                ("FROM default\nCOPY ../a b", "line 2: '../a' is outside the build context", ""),
                ("FROM default\nCOPY missing b", "line 2: 'missing' does not exist", ".dockerignore"),
                ("FROM default\nADD https://a/b c", "line 2: ADD cannot download", "build context"),
                ("FROM default\nRUN true\n\nRUN echo why >&2; exit 7",
                 "line 4: the command 'echo why >&2; exit 7' ended with exit status 7: why", "no network")):
            with self.subTest(text):
                got = self.failed("bad", text)
                self.assertIn(message, got[0])
                self.assertIn(hint, got[1])

    def test_the_parameters_are_checked_before_anything_is_built(self):
        for query in ("build_args=[]", "build_args=%7B%22A%22%3A1%7D", "build_args=%7B%22A-B%22%3A%22%22%7D",
                      "cache=no", "dockerfile=/etc/passwd", "dockerfile=../x", "network=all"):
            answer = self.daemon.ask("PUT", f"/v1/templates/bad/archive?format=dockerfile&{query}", b"",
                                     {"Content-Type": "application/x-tar"})
            self.assertEqual(answer.status, 400, (query, answer))

    def test_the_command_packs_the_directory_and_shows_each_step(self):
        with tempfile.TemporaryDirectory() as directory:
            for name, text in (("Dockerfile", "FROM default\nARG A\nCOPY . .\nRUN echo $A > a; ls -A\n"),
                               (".dockerignore", "*.log\n!kept.log\n"), ("x.log", ""), ("kept.log", "")):
                with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
                    file.write(text)

            def build(*words, text=None):
                return subprocess.run(
                    [GLOVEBOX, "template", "build", *words, "--url", f"unix:{self.daemon.unix}"],
                    input=text, capture_output=True, text=True, check=False)

            done = build(directory, "-t", "packed", "--build-arg", "A=b")
            self.assertEqual((done.returncode, done.stdout), (0, "packed\n"), done.stderr)
            self.assertIn("[4/4] RUN echo $A > a; ls -A\n.dockerignore\nDockerfile\na\nkept.log\n", done.stderr)
            self.assertEqual(self.said("packed", "cat a"), "b\n")
            done = build("-f", "-", directory, "-t", "read", text="FROM default\nRUN exit 3\n")
            self.assertNotEqual(done.returncode, 0, done.stderr)
            self.assertIn("line 2: the command 'exit 3' ended with exit status 3", done.stderr)


if __name__ == "__main__":
    unittest.main()
