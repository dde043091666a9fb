# SPDX-License-Identifier: Apache-2.0
"""Programs that people use, as they are, with a secret that is filled in outside."""

import base64
import io
import shutil
import subprocess
import unittest
import zipfile

from secret_case import VALUE, SecretCase

from secure_network import SecureServer


class Stacks(SecretCase):
    """Programs that people use, as they are."""

    def shell(self, script, *programs, **how):
        for program in programs:
            if shutil.which(program) is None:
                self.skipTest(f"{program} is not installed")
        verdict = self.inside(script, language="bash", prelude="", **how)
        self.assertEqual(verdict["exit_code"], 0, verdict)
        self.assertEqual(self.api.headers("X-Key") or self.api.headers("Authorization"),
                         [VALUE] * len(self.api.requests))
        self.assertTrue(self.api.requests)
        return verdict

    def test_curl(self):
        verdict = self.shell(
            'curl -sS --fail -H "X-Key: $TOKEN" "https://api.example:$1/" "https://api.example:$1/2"',
            "curl")
        self.assertEqual(verdict["stdout"], "here you arehere you are")
        self.assertEqual(self.api.connections, 1)

    def test_curl_without_the_proxy(self):
        self.shell('curl -sS --fail --noproxy "*" -H "X-Key: $TOKEN" "https://api.example:$1/"',
                   "curl")

    def test_python(self):
        self.shell("""python3 -c '
import os, sys, urllib.request
request = urllib.request.Request(f"https://api.example:{sys.argv[1]}/", headers={"X-Key": os.environ["TOKEN"]})
print(urllib.request.urlopen(request).read())' "$1" """, "python3")

    def test_node(self):
        self.shell("""node -e '
fetch(`https://api.example:${process.argv[1]}/`, {headers: {"X-Key": process.env.TOKEN}})
  .then(answer => answer.text()).then(console.log)' "$1" """, "node", options=[
            *self.options(), "--memory", "2G", "--pids", "200"])

    def test_openssl(self):
        self.shell(r"""
printf 'GET / HTTP/1.1\r\nHost: api.example:%s\r\nX-Key: %s\r\nConnection: close\r\n\r\n' "$1" "$TOKEN" |
  openssl s_client -quiet -verify_return_error -servername api.example -connect "api.example:$1" """,
                   "openssl")

    def test_git(self):
        source = self.dir / "work"
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@example", "-C", str(source)]
        source.mkdir()
        for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
            subprocess.run([*git, *words], check=True)
        subprocess.run(["git", "clone", "-q", "--bare", str(source), str(self.dir / "a.git")],
                       check=True)
        subprocess.run(["git", "-C", str(self.dir / "a.git"), "config", "http.receivepack", "true"],
                       check=True)
        self.api = self.serve(self.certificate, repositories=self.dir)
        # As tokens are used with forges: the password of any user.
        verdict = self.inside("""
export HOME=/tmp
git clone -q "https://x:$TOKEN@api.example:$1/git/a.git" a && cd a && git log --format=%s &&
git -c user.name=b -c user.email=b@example commit -q --allow-empty -m second && git push -q""",
                              language="bash", prelude="",
                              options=["--secret", f"TOKEN@api.example:{self.api.port}",
                                       "--allow-net", f"127.0.0.1:{self.api.port}"])
        self.assertEqual((verdict["exit_code"], verdict["stdout"]), (0, "first\n"), verdict)
        expected = "Basic " + base64.b64encode(f"x:{VALUE}".encode()).decode()
        self.assertIn(expected, self.api.headers("Authorization"))
        log = subprocess.run(["git", "-C", str(self.dir / "a.git"), "log", "--format=%s", "--all"],
                             capture_output=True, text=True, check=True).stdout
        self.assertEqual(log, "second\nfirst\n")

    def test_pip_and_a_private_index(self):
        (wheel := io.BytesIO()).name = "tiny-1.0-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("tiny.py", "GREETING = 'hello'\n")
            archive.writestr("tiny-1.0.dist-info/METADATA",
                             "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
            archive.writestr("tiny-1.0.dist-info/WHEEL",
                             "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr("tiny-1.0.dist-info/RECORD", "")
        self.api = self.serve(self.certificate, pages={
            "/simple/tiny/": f'<a href="/files/{wheel.name}">{wheel.name}</a>'.encode(),
            f"/files/{wheel.name}": wheel.getvalue()})
        verdict = self.inside("""
export HOME=/tmp PIP_INDEX_URL="https://ci:$TOKEN@api.example:$1/simple" PIP_NO_INDEX=0
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --target /tmp/p tiny &&
PYTHONPATH=/tmp/p python3 -c 'import tiny; print(tiny.GREETING)'""",
                              language="bash", prelude="", options=[
                                  "--secret", f"TOKEN@api.example:{self.api.port}",
                                  "--allow-net", f"127.0.0.1:{self.api.port}", "--time", "100s"])
        self.assertEqual((verdict["exit_code"], verdict["stdout"]), (0, "hello\n"), verdict)
        expected = "Basic " + base64.b64encode(f"ci:{VALUE}".encode()).decode()
        self.assertEqual(set(self.api.headers("Authorization")), {expected})


if __name__ == "__main__":
    unittest.main()
