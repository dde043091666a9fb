# SPDX-License-Identifier: Apache-2.0
"""Templates from images of a registry: Debian's docker-registry on 127.0.0.1 of the host, under a name
that the test's own name server resolves."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse
from unittest import mock

import images
import small_server
from daemon import GLOVEBOX, Daemon, wait_until
from test_network import NO_PROXY, sandbox_with_native_tier

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "attacks"))

from network import NameServer, Upstream, WebServer  # noqa: E402

CONFIG = """version: 0.1
storage: {{filesystem: {{rootdirectory: {place}}}}}
http: {{addr: "127.0.0.1:0"{tls}}}
"""
TLS = ", tls: {{certificate: {path}, key: {path}}}"
MCP = "2026-07-28"
CLOSED = "auth: {{htpasswd: {{realm: registry, path: {path}}}}}\n"


class Registry:
    """Holds what push() gives it. With `logins`, in the words of htpasswd, it is open to those alone; with
    `certificate`, a file with one and its key, it speaks TLS."""

    def __init__(self, logins="", certificate=None):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="glovebox-registry-"))
        config = self.place / "config.yml"
        tls = TLS.format(path=certificate) if certificate else ""
        text = CONFIG.format(place=self.place / "data", tls=tls)
        if logins:
            self.set_logins(logins)
            text += CLOSED.format(path=self.place / "htpasswd")
        config.write_text(text, encoding="utf-8")
        self.process = subprocess.Popen(["docker-registry", "serve", config], stderr=subprocess.PIPE,
                                        stdout=subprocess.DEVNULL, text=True)
        for line in self.process.stderr:
            if found := re.search(r"listening on 127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                break
        # It writes a line for each request.
        self.drain = threading.Thread(target=self.process.stderr.read)
        self.drain.start()

    def set_logins(self, logins):
        (self.place / "htpasswd").write_text(logins, encoding="utf-8")

    def push(self, archive, name, login=""):
        path = self.place / "image.tar"
        path.write_bytes(archive)
        subprocess.run(["skopeo", "--insecure-policy", "copy", "-q", "--dest-tls-verify=false",
                        *(["--dest-creds", login] if login else []), f"oci-archive:{path}", f"docker://127.0.0.1:{self.port}/{name}"], check=True)

    def blobs(self):
        return set(self.place.glob("data/docker/registry/v2/blobs/sha256/*/*/data"))

    def close(self):
        self.process.terminate()
        self.process.wait(60)
        self.drain.join()
        self.process.stderr.close()
        shutil.rmtree(self.place)


@unittest.skipUnless(shutil.which("docker-registry") and shutil.which("skopeo"),
                     "needs Debian's docker-registry and skopeo")
class FromARegistry(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.registry = Registry()
        cls.addClassCleanup(cls.registry.close)
        layer = images.tar_of([*images.small_root(), ("usr/mark", b"of the image\n")])
        cls.registry.push(images.oci_layout([layer], env=["MARK=env"]), "tools/small:1")
        cls.names = NameServer({"registry.example": [["127.0.0.1"]]})
        cls.addClassCleanup(cls.names.close)
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        cls.daemon.options = ["--network", "any"]
        with mock.patch.dict(os.environ, {**NO_PROXY, "GLOVEBOX_NAME_SERVERS": cls.names.address}):
            cls.daemon.start()
        if not sandbox_with_native_tier(cls.daemon):
            raise unittest.SkipTest("the native tier does not work here")
        cls.image = f"http://registry.example:{cls.registry.port}/tools/small:1"
        cls.rules = cls.rules_for(cls.registry.port)

    @staticmethod
    def rules_for(port):
        return {"allow": [f"registry.example:{port}", f"127.0.0.1:{port}"]}

    def build(self, name, dockerfile, network=None):
        query = {"format": "dockerfile"}
        if network is not None:
            query["network"] = json.dumps(network)
        answer = self.daemon.ask(
            "PUT", f"/v1/templates/{name}/archive?{urllib.parse.urlencode(query)}",
            images.tar_of([("Dockerfile", dockerfile.encode())]), {"Content-Type": "application/x-tar"})
        # What is wrong before the first step is the answer itself, and what fails later an event.
        if answer.status != 200:
            return [{**answer.json, "type": "failed"}]
        return [json.loads(line) for line in answer.body.splitlines() if line]

    def said(self, template, script):
        sandbox = self.daemon.create(template=template, tier="native")
        self.addCleanup(self.daemon.ask, "DELETE", sandbox.path)
        return sandbox.must(200, "POST", "/commands", {"argv": ["bash", "-c", script]})["stdout"]

    def assert_failed(self, events, message, hint=""):
        self.assertEqual(events[-1]["type"], "failed", events)
        self.assertIn(message, events[-1]["message"])
        self.assertIn(hint, events[-1].get("hint", ""))
        self.assertEqual(self.daemon.ask("GET", "/v1/templates/refused").status, 404)

    def test_a_dockerfile_begins_with_an_image_and_changes_it(self):
        events = self.build("grown", f"FROM {self.image}\nRUN [\"bash\", \"-c\", \"echo more >> /usr/mark\"]\n",
                            self.rules)
        self.assertEqual(events[-1]["type"], "built", events)
        self.assertEqual(self.said("grown", "cat /usr/mark; echo $MARK"), "of the image\nmore\nenv\n")

    def test_the_command_makes_a_template_of_an_image_and_the_second_time_unpacks_nothing(self):
        def run():
            rules = [word for rule in self.rules["allow"] for word in ("--allow-net", rule)]
            return subprocess.run(
                [GLOVEBOX, "template", "build", "pulled", "--from-registry", self.image, *rules, "--json",
                 "--url", f"unix:{self.daemon.unix}"], capture_output=True, text=True, check=False)

        for cached in (False, True):
            done = run()
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout.splitlines()[-1])["cached"] or not cached, True)
        self.assertEqual(self.said("pulled", "cat /usr/mark"), "of the image\n")

    def test_without_rules_nothing_is_pulled_and_the_hint_names_the_hosts(self):
        self.assert_failed(self.build("refused", f"FROM {self.image}\n"),
                           "a build has no network to pull", f"registry.example:{self.registry.port}")
        self.assert_failed(self.build("refused", "FROM python:3.12\n"), "docker.io/library/python:3.12",
                           "registry-1.docker.io")

    def test_what_the_rules_do_not_name_is_refused_and_named(self):
        self.assert_failed(self.build("refused", f"FROM {self.image}\n", {"allow": ["other.example"]}),
                           "line 1: ", f"refused registry.example:{self.registry.port}")

    def test_what_is_no_image_is_an_error_of_its_line(self):
        for name, message in ((self.image + "23", "line 1: "), ("http://a b/c", "line 1: "),
                              ("Python:3", "is not the name of an image"),
                              ("localhost:5000/small", "is a loopback address"),
                              (self.image.removeprefix("http://"), "HTTP response to HTTPS client")):
            with self.subTest(name=name):
                self.assert_failed(self.build("refused", f"FROM {name}\n", self.rules), message)

    def test_a_registry_leads_nowhere_that_the_rules_do_not_allow(self):
        secret = WebServer()
        self.addCleanup(secret.close)

        port = small_server.serve(
            self, 307, {"Location": f"http://registry.example:{secret.port}/v2/"})
        self.assert_failed(self.build("refused", f"FROM http://registry.example:{port}/a\n",
                                      self.rules_for(port)), "line 1: ",
                           f"refused registry.example:{secret.port}")
        self.assertEqual(secret.requests, [])

    def test_a_layer_that_was_changed_in_the_registry_is_found(self):
        layer = images.tar_of([*images.small_root(), ("usr/changed", b"x")])
        before = self.registry.blobs()
        self.registry.push(images.oci_layout([layer]), "tools/changed:1")
        image = self.image.replace("small", "changed")
        self.assertEqual(self.build("whole", f"FROM {image}\n", self.rules)[-1]["type"], "built")
        packed = max(self.registry.blobs() - before, key=lambda blob: blob.stat().st_size)
        content = bytearray(packed.read_bytes())
        content[len(content) // 2] ^= 1
        packed.write_bytes(content)
        self.assert_failed(self.build("refused", f"FROM {image}\n", self.rules), "line 1: ")


@unittest.skipUnless(shutil.which("docker-registry") and shutil.which("skopeo"),
                     "needs Debian's docker-registry and skopeo")
class BuiltByE2b(unittest.TestCase):
    """As E2B's SDKs build: everything public may be reached, here through a proxy of the operator's."""

    @classmethod
    def setUpClass(cls):
        cls.registry = Registry()
        cls.addClassCleanup(cls.registry.close)
        layer = images.tar_of([*images.small_root(
            f"/usr/bin/{name}" for name in ("chmod", "chown", "cp", "dirname", "mkdir", "rm", "touch")),
            ("usr/bin/sh", ("->", "bash"))])
        # Whom the image names does not count: the steps are root's.
        cls.registry.push(images.oci_layout([layer], env=["MARK=env"], says={"User": "1234"}), "tools/small:1")
        cls.upstream = Upstream(cls.registry.port)
        cls.addClassCleanup(cls.upstream.close)
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        cls.daemon.options = ["--network", "any"]
        proxy = f"http://127.0.0.1:{cls.upstream.port}"
        with mock.patch.dict(os.environ, {**NO_PROXY, "http_proxy": proxy, "https_proxy": proxy}):
            cls.daemon.start()
        if not sandbox_with_native_tier(cls.daemon):
            raise unittest.SkipTest("the native tier does not work here")

    def build(self, name, steps, image="http://registry.example/tools/small:1"):
        id = self.daemon.must(202, "POST", "/v3/templates", {"name": name})["buildID"]
        self.assertEqual(self.daemon.ask("POST", f"/v2/templates/{name}/builds/{id}", {
            "fromImage": image, "steps": steps}).status, 202)
        path = f"/templates/{name}/builds/{id}/status"
        wait_until(lambda: self.daemon.must(200, "GET", path)["status"] in ("ready", "error"), "its end")
        return self.daemon.must(200, "GET", path)

    def test_steps_change_the_whole_root_as_root(self):
        files = images.tar_of([("a.txt", b"uploaded\n")])
        digest = hashlib.sha256(files).hexdigest()
        link = self.daemon.must(201, "GET", f"/templates/imaged/files/{digest}")
        where = urllib.parse.urlsplit(link["url"]).path
        self.assertEqual(self.daemon.ask("PUT", where, files).status, 200)
        value = "it's $HOME, \"this\" \\ and `that`"
        built = self.build("imaged", [
            {"type": "ENV", "args": ["VALUE", value]},
            {"type": "RUN", "args": ["echo \"$VALUE\" > /usr/value; id -u > /usr/who", "root"]},
            {"type": "WORKDIR", "args": ["app"]},
            {"type": "USER", "args": ["user"]},
            {"type": "COPY", "args": ["a.txt", "b.txt", "", "0640"], "filesHash": digest},
            {"type": "RUN", "args": ["pwd > place; id -u > who; echo ~ >> who; "
                                     "touch /usr/mine || echo refused >> who"]},
            {"type": "RUN", "args": ["cp who /usr/user; pwd > /usr/place; ls / > /usr/top; id -u >> "
                                     "/usr/who; mkdir -m 777 /usr/open", "root"]},
            {"type": "RUN", "args": ["echo back > again"]},
            {"type": "USER", "args": ["1234"]},
            {"type": "RUN", "args": ["id -u > /usr/open/who"]}])
        self.assertEqual(built["status"], "ready", built.get("reason"))
        sandbox = self.daemon.create(template="imaged", tier="native")
        self.addCleanup(self.daemon.ask, "DELETE", sandbox.path)
        said = sandbox.must(200, "POST", "/commands", {"argv": [
            "bash", "-c", "cat /usr/value /usr/who /usr/place ~/app/b.txt; echo $VALUE; pwd"]})["stdout"]
        self.assertEqual(said, f"{value}\n0\n0\n/home/user/app\nuploaded\n{value}\n/home/user/app\n")
        users = sandbox.must(200, "POST", "/commands", {"argv": [
            "bash", "-c", "cat /usr/user ~/app/again /usr/open/who; id -un"]})["stdout"]
        self.assertEqual(users, "1000\n/home/user\nrefused\nback\n1234\nuser\n")
        top = sandbox.must(200, "POST", "/commands", {"argv": ["cat", "/usr/top"]})["stdout"]
        self.assertNotIn("copy", top)
        self.assertTrue(any("/v2/tools/small/" in head for head in self.upstream.heads))

    def test_a_client_of_mcp_creates_a_sandbox_that_shows_an_image(self):
        def call(tool, **arguments):
            return self.daemon.ask("POST", "/mcp", {
                "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": tool, "arguments": arguments, "_meta": {
                    "io.modelcontextprotocol/protocolVersion": MCP,
                    "io.modelcontextprotocol/clientCapabilities": {}}}},
                {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": MCP,
                 "Mcp-Method": "tools/call", "Mcp-Name": tool}).json["result"]

        made = call("create_sandbox", image="http://registry.example/tools/small:1")
        self.assertFalse(made.get("isError"), made)
        sandbox = made["structuredContent"]["sandbox"]
        self.addCleanup(self.daemon.ask, "DELETE", f"/v1/sandboxes/{sandbox}")
        said = call("run_command", command="echo $MARK; command -v python3 || echo none", sandbox=sandbox)
        self.assertEqual(said["structuredContent"].get("stdout"), "env\nnone\n", said)
        refused = call("create_sandbox", image="no image")
        self.assertTrue(refused["isError"])
        self.assertIn("is not the name of an image", refused["content"][0]["text"])

    def test_a_step_that_fails_is_named_as_e2b_counts(self):
        failed = self.build("failing", [{"type": "USER", "args": ["root"]},
                                        {"type": "ENV", "args": ["A", "b"]},
                                        {"type": "RUN", "args": ["exit 3"]}])
        self.assertEqual((failed["status"], failed["reason"]["step"]), ("error", "3"), failed)
        self.assertIn("exit status 3", failed["reason"]["message"])
        failed = self.build("missing", [], "http://registry.example/no/such:1")
        self.assertEqual((failed["status"], failed["reason"]["step"]), ("error", "base"), failed)

    def test_an_instruction_cannot_be_smuggled_into_a_step(self):
        for steps in ([{"type": "ENV", "args": ["A", "x\nRUN echo > /usr/smuggled"]}],
                      [{"type": "ENV", "args": ["A=1\nRUN id", "x"]}],
                      [{"type": "USER", "args": ["root\nRUN id"]}],
                      [{"type": "RUN", "args": ["id", "root\nRUN id"]}],
                      [{"type": "RUN", "args": ["id", "${HOME}"]}],
                      [{"type": "WORKDIR", "args": ["a\nRUN id"]}]):
            self.assertEqual(self.build("smuggled", steps)["reason"]["step"], "1")
        failed = self.build("smuggled", [], "http://registry.example/tools/small:1\nRUN id")
        self.assertEqual(failed["reason"]["step"], "base")
        self.assertIn("is not the name of an image", failed["reason"]["message"])


if __name__ == "__main__":
    unittest.main()
