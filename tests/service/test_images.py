# SPDX-License-Identifier: Apache-2.0
"""Sandboxes and runs that name an image of a registry, and registries that want a login."""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

import images
import small_server
from daemon import GLOVEBOX, PATIENCE_S, Daemon, wait_until
from test_network import NO_PROXY, sandbox_with_native_tier
from test_registry import Registry

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/attacks"))
sys.path.insert(0, str(ROOT / "sdk/python"))

from glovebox import Client, Network, Sandbox  # noqa: E402
from network import NameServer, Upstream  # noqa: E402
from secure_network import Authority  # noqa: E402

USER, PASSWORD = "ada", "xyzzy-4711-plugh"
# What htpasswd -B writes for that password, with the least cost.
HTPASSWD = USER + ":" + subprocess.run(
    [sys.executable, "-W", "ignore", "-c", "import crypt, sys; print(crypt.crypt(sys.argv[1], crypt.mksalt("
     "crypt.METHOD_BLOWFISH, rounds=16)))", PASSWORD], capture_output=True, text=True, check=False).stdout


class OfARegistry(unittest.TestCase):
    """A daemon that reaches a registry under a name of the test's own."""

    logins = ""
    certificate = None  # A file with one, and its key, for TLS.
    trusted = {}        # Variables of the daemon.
    scheme = "http://"

    @classmethod
    def setUpClass(cls):
        cls.registry = Registry(cls.logins, cls.certificate)
        cls.addClassCleanup(cls.registry.close)
        cls.names = NameServer({"registry.example": [["127.0.0.1"]]})
        cls.addClassCleanup(cls.names.close)
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        cls.daemon.options = ["--network", "any"]
        with mock.patch.dict(os.environ, {**NO_PROXY, **cls.trusted,
                                          "GLOVEBOX_NAME_SERVERS": cls.names.address}):
            cls.daemon.start()
        if not sandbox_with_native_tier(cls.daemon):
            raise unittest.SkipTest("the native tier does not work here")
        # The pull reaches what is public, and beside that what the sandbox itself may reach.
        cls.rules = {"allow": [f"registry.example:{cls.registry.port}", f"127.0.0.1:{cls.registry.port}"]}

    @classmethod
    def push(cls, name, mark, login=""):
        layer = images.tar_of([*images.small_root(), ("usr/mark", mark.encode())])
        return cls.push_packed(name, images.oci_layout([layer], env=["MARK=env"]), login)

    @classmethod
    def push_packed(cls, name, layout, login=""):
        cls.registry.push(layout, name, login)
        return f"{cls.scheme}registry.example:{cls.registry.port}/{name}"

    def templates(self):
        """Those of registries."""
        return [each for each in self.daemon.must(200, "GET", "/v1/templates")["templates"]
                if each["source"] == "registry"]

    def said(self, sandbox, script):
        return sandbox.must(200, "POST", "/commands", {"argv": ["bash", "-c", script]})["stdout"]


@unittest.skipUnless(shutil.which("docker-registry") and shutil.which("skopeo"),
                     "needs Debian's docker-registry and skopeo")
class OfAnImage(OfARegistry):
    def create(self, image, **more):
        sandbox = self.daemon.create(image=image, tier="native", network=self.rules, **more)
        self.addCleanup(self.daemon.ask, "DELETE", sandbox.path)
        return sandbox

    def test_a_sandbox_begins_with_an_image_which_is_pulled_once(self):
        image = self.push("tools/once:1", "first\n")
        first = self.create(image)
        self.assertEqual(self.said(first, "cat /usr/mark; echo $MARK"), "first\nenv\n")
        name = first.must(200, "GET")["template"]
        self.assertIn("registry.example-", name)
        self.assertIn(name, [each["name"] for each in self.templates()])
        self.push("tools/once:1", "second\n")
        again = self.create(image)
        self.assertEqual((self.said(again, "cat /usr/mark"), again.must(200, "GET")["template"]),
                         ("first\n", name))
        # One that is there needs no network.
        bare = self.daemon.create(image=image, tier="native")
        self.addCleanup(self.daemon.ask, "DELETE", bare.path)
        self.assertEqual(self.said(bare, "cat /usr/mark"), "first\n")
        # To remove it is to pull it anew.
        self.daemon.must(204, "DELETE", f"/v1/templates/{name}")
        self.assertEqual(self.said(self.create(image), "cat /usr/mark"), "second\n")

    def test_two_names_of_the_same_content_share_it_on_disk(self):
        layout = images.oci_layout([images.tar_of(images.small_root())])
        made = [self.create(self.push_packed(name, layout)).must(200, "GET")["template"]
                for name in ("tools/same:1", "tools/alias:2")]
        roots = self.daemon.data / "templates"
        before = len(list(roots.iterdir()))
        sizes = {each["name"]: each["content"] for each in self.templates()}
        self.assertEqual(sizes[made[0]], sizes[made[1]])
        self.daemon.must(204, "DELETE", f"/v1/templates/{made[0]}")
        self.assertEqual(len(list(roots.iterdir())), before)

    def test_of_several_at_once_the_first_pulls(self):
        image = self.push("tools/several:1", "several\n")
        answers = []

        def create():
            answers.append(self.daemon.ask("POST", "/v1/sandboxes", {
                "image": image, "tier": "native", "network": self.rules}))

        threads = [threading.Thread(target=create) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for answer in answers:
            self.assertEqual(answer.status, 201, answer)
            self.addCleanup(self.daemon.ask, "DELETE", f"/v1/sandboxes/{answer.json['id']}")
        self.assertEqual(len({answer.json["template"] for answer in answers}), 1)

    def test_code_runs_once_in_an_image(self):
        image = self.push("tools/run:1", "of a run\n")
        verdict = self.daemon.must(200, "POST", "/v1/run", {
            "language": "bash", "code": "cat /usr/mark", "image": image, "network": self.rules, "tier": "native"})
        self.assertEqual((verdict["status"], verdict["stdout"]), ("ok", "of a run\n"), verdict)

    def test_the_python_sdk_takes_an_image(self):
        image = self.push("tools/sdk:1", "of an SDK\n")
        url = f"http://127.0.0.1:{self.daemon.port}"
        network = Network(allow=self.rules["allow"])
        with Client(url, api_key=self.daemon.key) as client:
            with Sandbox.create(image=image, client=client, network=network, tier="native") as sandbox:
                self.assertEqual(sandbox.commands.run(["cat", "/usr/mark"]).stdout, "of an SDK\n")
            ran = client.run("cat /usr/mark", "bash", image=image, network=network, tier="native")
            self.assertEqual(ran.stdout, "of an SDK\n")

    def test_the_commands_take_an_image(self):
        image = self.push("tools/command:1", "of a command\n")
        rules = [word for rule in self.rules["allow"] for word in ("--allow-net", rule)]
        to = ["--url", f"unix:{self.daemon.unix}"]
        made = subprocess.run([GLOVEBOX, "sandbox", "create", "--image", image, *rules, *to],
                              capture_output=True, text=True, check=False)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.addCleanup(self.daemon.ask, "DELETE", f"/v1/sandboxes/{made.stdout.strip()}")
        ran = subprocess.run([GLOVEBOX, "sandbox", "run", "-l", "bash", "-e", "cat /usr/mark", "--image", image,
                              *rules, *to], capture_output=True, text=True, check=False)
        self.assertEqual(ran.stdout, "of a command\n", ran.stderr)

    def test_what_cannot_be_pulled_is_an_error_with_a_hint_and_leaves_nothing(self):
        before = self.templates()
        gone = f"http://registry.example:{self.registry.port}/no/such:1"
        for image, rules, status, message, hint in (
                (gone, self.rules, 400, "skopeo copy docker://registry.example", ""),
                (gone, {}, 400, "skopeo copy docker://registry.example", "refused registry.example"),
                ("No Image", {}, 400, "is not the name of an image", "for example: python:3.12-slim"),
                ("localhost:5000/small", {}, 501, "is a loopback address", "give the registry's host a name")):
            with self.subTest(image=image, rules=rules):
                answer = self.daemon.ask("POST", "/v1/sandboxes", {"image": image, "network": rules})
                self.assertEqual(answer.status, status, answer)
                self.assertIn(message, answer.json["message"])
                self.assertIn(hint, answer.json.get("hint", ""))
        both = self.daemon.ask("POST", "/v1/sandboxes", {"image": "python", "template": "default"})
        self.assertEqual(both.status, 400)
        self.assertIn("cannot be combined with 'template'", both.json["message"])
        self.assertEqual(self.templates(), before)

    def test_a_client_that_leaves_ends_the_pull_and_nothing_of_it_stays(self):
        asked, over = threading.Event(), threading.Event()

        def look(_):
            asked.set()
            over.wait(PATIENCE_S)

        port = small_server.serve(self, 404, {}, look)
        self.addCleanup(over.set)  # Before the server waits for its last answer.
        wish = {"image": f"http://registry.example:{port}/slow", "tier": "native",
                "network": {"allow": [f"registry.example:{port}", f"127.0.0.1:{port}"]}}
        templates, pieces = self.templates(), set((self.daemon.data / "templates").iterdir())
        for path, more in (("/v1/sandboxes", {}), ("/v1/run", {"language": "bash", "code": "true"})):
            with self.subTest(path):
                asked.clear()
                connection = self.daemon.connect()
                body, headers = self.daemon.head({**wish, **more}, {}, "own")
                connection.request("POST", path, body, headers)
                self.assertTrue(asked.wait(PATIENCE_S))
                self.assertTrue(self.daemon.builders())
                connection.close()
                wait_until(lambda: not self.daemon.builders(), "the end of the pull")
                wait_until(lambda: not set((self.daemon.data / "templates").iterdir()) - pieces,
                           "the end of its draft", 120)
        self.assertEqual(self.templates(), templates)
        self.assertEqual(self.daemon.must(200, "GET", "/v1/sandboxes")["sandboxes"], [])

    def test_an_image_counts_against_its_tenants_disk_and_is_nobody_elses(self):
        image = self.push("tools/counted:1", "counted\n")
        self.create(image)
        self.daemon.must(201, "POST", "/v1/tenants", {"name": "small", "quotas": {"disk": 1 << 30}})
        key = self.daemon.must(201, "POST", "/v1/keys", {"tenant": "small", "scopes": ["run", "read"]})["key"]
        wish = {"image": image, "tier": "native", "network": self.rules, "limits": {"disk": "16M"}}
        answer = self.daemon.ask("POST", "/v1/sandboxes", wish, key=key)
        self.assertEqual(answer.status, 409, answer)
        self.assertIn("disk quota", answer.json["message"])
        # Of another tenant's pull it sees nothing: it pulls for itself.
        self.daemon.must(200, "PATCH", "/v1/tenants/small", {"quotas": {"disk": 8 << 30}})
        answer = self.daemon.ask("POST", "/v1/sandboxes", wish, key=key)
        self.assertEqual(answer.status, 201, answer)
        self.daemon.must(204, "DELETE", f"/v1/sandboxes/{answer.json['id']}", key=key)
        used = self.daemon.must(200, "GET", "/v1/tenants/small")["used"]["disk"]
        self.assertGreater(used, 1 << 20)


@unittest.skipUnless(shutil.which("docker-registry") and shutil.which("skopeo") and ":$2" in HTPASSWD,
                     "needs Debian's docker-registry and skopeo, and crypt(3) with bcrypt")
class OfARegistryWithALogin(OfARegistry):
    logins = HTPASSWD

    def build(self, name, image, **login):
        recipe = {"name": name, "base": {"registry": image, **({"login": login} if login else {})},
                  "network": self.rules}
        answer = self.daemon.ask("POST", "/v1/templates", recipe)
        return json.loads(answer.body.splitlines()[-1]) if answer.status == 200 else answer.json

    def command(self, name, image, *options, password=None):
        rules = [word for rule in self.rules["allow"] for word in ("--allow-net", rule)]
        return subprocess.run(
            [GLOVEBOX, "template", "build", name, "--from-registry", image, *rules, *options, "--url",
             f"unix:{self.daemon.unix}"], input=password, capture_output=True, text=True, check=False)

    def assert_kept_nowhere(self):
        for place in (self.daemon.dir, pathlib.Path.home() / ".cache/glovebox"):
            for path in place.rglob("*"):
                if path.is_file():
                    content = path.read_bytes()
                    self.assertNotIn(PASSWORD.encode(), content, path)
                    self.assertNotIn(base64.b64encode(f"{USER}:{PASSWORD}".encode()), content, path)

    def test_the_right_login_opens_it_and_no_other(self):
        image = self.push("tools/closed:1", "closed\n", f"{USER}:{PASSWORD}")
        for login in ({}, {"username": USER, "password": "wrong"}, {"username": "eve", "password": PASSWORD}):
            with self.subTest(login=login):
                event = self.build("refused", image, **login)
                self.assertEqual(event["type"], "failed", event)
                self.assertIn("skopeo copy docker://registry.example", event["message"])
        event = self.build("opened", image, username=USER, password=PASSWORD)
        self.assertEqual(event["type"], "built", event)
        sandbox = self.daemon.create(template="opened", tier="native")
        self.addCleanup(self.daemon.ask, "DELETE", sandbox.path)
        self.assertEqual(self.said(sandbox, "cat /usr/mark; ls -a ~"), "closed\n.\n..\n")
        self.assert_kept_nowhere()

    def test_the_command_reads_the_password_from_standard_input_or_names_a_secret(self):
        image = self.push("tools/command:1", "by command\n", f"{USER}:{PASSWORD}")
        done = self.command("by-input", image, "--registry-login", USER, password=PASSWORD + "\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.command("none", image, "--registry-login", USER, password="")
        self.assertIn("standard input has no password", done.stderr)
        self.daemon.must(201, "POST", "/secrets", {"name": "registry", "value": PASSWORD})
        done = self.command("by-secret", image, "--registry-login", USER, "--registry-secret", "registry")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.command("none", image, "--registry-login", USER, "--registry-secret", "nonesuch")
        self.assertIn("nonesuch", done.stderr)
        self.assertNotEqual(done.returncode, 0)
        self.assert_kept_nowhere()

    def test_an_image_that_was_pulled_with_a_login_is_pulled_without_one_by_nobody(self):
        image = self.push("tools/mine:1", "mine\n", f"{USER}:{PASSWORD}")
        self.assertEqual(self.build("mine", image, username=USER, password=PASSWORD)["type"], "built")
        answer = self.daemon.ask("POST", "/v1/sandboxes", {"image": image, "network": self.rules})
        self.assertEqual(answer.status, 400, answer)

    def test_while_the_registry_is_asked_no_other_program_can_see_the_password(self):
        """The registry looks around on its host while it is being asked."""
        seen = []

        def look(request):
            if "Authorization" in request.headers:
                for name in ("cmdline", "environ"):
                    for path in pathlib.Path("/proc").glob(f"[0-9]*/{name}"):
                        try:
                            content = path.read_bytes()
                        except OSError:
                            continue
                        if PASSWORD.encode() in content:
                            seen.append(str(path))
                seen.append(request.headers["Authorization"])

        port = small_server.serve(self, 401, {"WWW-Authenticate": 'Basic realm="here"'}, look)
        recipe = {"name": "looked", "network": {"allow": [f"registry.example:{port}", f"127.0.0.1:{port}"]},
                  "base": {"registry": f"http://registry.example:{port}/a",
                           "login": {"username": USER, "password": PASSWORD}}}
        self.daemon.must(200, "POST", "/v1/templates", recipe)
        # The test itself has it nowhere but in its memory.
        self.assertEqual(set(seen), {"Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()})

    def test_a_login_that_cannot_be_is_refused(self):
        for login, message in (({"username": "a:b", "password": "c"}, "no colon"),
                               ({"username": USER}, "either a password or the name of a secret"),
                               ({"username": USER, "password": "p", "secret": "s"}, "either a password"),
                               ({"password": "p"}, "username")):
            with self.subTest(login=login):
                answer = self.daemon.ask("POST", "/v1/templates", {
                    "name": "refused", "base": {"registry": "registry.example/a", "login": login}})
                self.assertEqual(answer.status, 400, answer)
                self.assertIn(message, answer.json["message"])


@unittest.skipUnless(shutil.which("docker-registry") and shutil.which("skopeo") and ":$2" in HTPASSWD,
                     "needs Debian's docker-registry and skopeo, and crypt(3) with bcrypt")
class OfARegistryWithALoginOverTls(OfARegistryWithALogin):
    """One with a certificate of the operator's own authority, which SSL_CERT_FILE of the daemon names."""

    scheme = ""

    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        authority = Authority(place.name)
        cls.certificate = authority.issue("registry.example")
        cls.trusted = {"SSL_CERT_FILE": str(authority.certificate)}
        super().setUpClass()

    def test_the_authority_is_nobody_elses(self):
        other = Daemon()
        self.addCleanup(other.discard)
        other.options = ["--network", "any"]
        with mock.patch.dict(os.environ, {**NO_PROXY, "GLOVEBOX_NAME_SERVERS": self.names.address}):
            other.start()
        image = self.push("tools/private:1", "private\n", f"{USER}:{PASSWORD}")
        answer = other.ask("POST", "/v1/templates", {
            "name": "private", "network": self.rules,
            "base": {"registry": image, "login": {"username": USER, "password": PASSWORD}}})
        self.assertIn("certificate signed by unknown authority", answer.body.decode())


@unittest.skipUnless(shutil.which("docker-registry") and shutil.which("skopeo") and ":$2" in HTPASSWD,
                     "needs Debian's docker-registry and skopeo, and crypt(3) with bcrypt")
class BuiltByE2b(unittest.TestCase):
    """Where everything public may be reached, here through a proxy of the operator's."""

    @classmethod
    def setUpClass(cls):
        cls.registry = Registry(HTPASSWD)
        cls.addClassCleanup(cls.registry.close)
        cls.registry.push(images.oci_layout([images.tar_of(images.small_root())]), "tools/closed:1",
                          f"{USER}:{PASSWORD}")
        upstream = Upstream(cls.registry.port)
        cls.addClassCleanup(upstream.close)
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        cls.daemon.options = ["--network", "any"]
        proxy = f"http://127.0.0.1:{upstream.port}"
        with mock.patch.dict(os.environ, {**NO_PROXY, "http_proxy": proxy, "https_proxy": proxy}):
            cls.daemon.start()
        if not sandbox_with_native_tier(cls.daemon):
            raise unittest.SkipTest("the native tier does not work here")

    def build(self, registry):
        id = self.daemon.must(202, "POST", "/v3/templates", {"name": "built"})["buildID"]
        self.assertEqual(self.daemon.ask("POST", f"/v2/templates/built/builds/{id}", {
            "fromImage": "http://registry.example/tools/closed:1", "fromImageRegistry": registry}).status, 202)
        path = f"/templates/built/builds/{id}/status"
        wait_until(lambda: self.daemon.must(200, "GET", path)["status"] in ("ready", "error"), "its end")
        return self.daemon.must(200, "GET", path)

    def test_a_build_logs_in_with_a_name_and_a_password(self):
        login = {"type": "registry", "username": USER, "password": PASSWORD}
        built = self.build(login)
        self.assertEqual(built["status"], "ready", built)
        self.assertNotIn(PASSWORD, str(built))
        for wrong in (None, {**login, "password": "wrong"}, {**login, "username": "eve"}):
            self.assertEqual(self.build(wrong)["reason"]["step"], "base")

    def test_a_key_of_googles_is_a_password_and_one_of_amazons_is_not(self):
        self.registry.set_logins(HTPASSWD.replace(USER, "_json_key", 1))
        self.addCleanup(self.registry.set_logins, HTPASSWD)
        built = self.build({"type": "gcp", "serviceAccountJson": PASSWORD})
        self.assertEqual(built["status"], "ready", built)
        keys = {"awsAccessKeyId": "a", "awsSecretAccessKey": "b", "awsRegion": "c"}
        for registry, reason in (({"type": "aws", **keys}, "aws ecr get-login-password"),
                                 ({"type": "none"}, "unknown type 'none'"),
                                 ({"type": "registry", "username": "", "password": "p"}, "'login'")):
            self.assertIn(reason, self.build(registry)["reason"]["message"])


class WithoutANetwork(unittest.TestCase):
    def test_a_daemon_that_lets_nothing_out_says_so(self):
        daemon = Daemon()
        self.addCleanup(daemon.discard)
        daemon.start()
        answer = daemon.ask("POST", "/v1/sandboxes", {"image": "python:3.12-slim"})
        self.assertEqual(answer.status, 403, answer)
        self.assertIn("lets nothing out", answer.json["message"])
        self.assertIn("--network public", answer.json["hint"])


if __name__ == "__main__":
    unittest.main()
