# SPDX-License-Identifier: Apache-2.0
"""Holes of sparse files stay holes, wherever files are packed."""

import io
import tarfile

from daemon import Case
from tenant import Tenant, disk_use

MIB = 1 << 20


class Sparse(Case):
    def tenant(self, name, **quotas):
        tenant = Tenant(self.daemon, name, **quotas)

        def end():
            for sandbox in tenant.must(200, "GET", "/v1/sandboxes")["sandboxes"]:
                tenant.ask("DELETE", "/v1/sandboxes/" + sandbox["id"])

        self.addCleanup(end)
        return tenant

    def test_holes_cost_nothing_and_come_back_as_holes(self):
        tenant = self.tenant("sparse")
        sandbox = tenant.sandbox()
        tenant.run(sandbox, "truncate -s 7E endless; echo begin > far; "
                            "printf end | dd of=far bs=1 seek=4G conv=notrunc status=none; "
                            "mkdir -p d; echo plain > d/" + "n" * 150)
        before = disk_use(self.daemon.data / "snapshots")
        name = tenant.must(201, "POST", sandbox + "/snapshot", {})["template"]
        self.assertLess(disk_use(self.daemon.data / "snapshots") - before, MIB)
        copy = tenant.sandbox(template=name)
        (fork,) = tenant.must(201, "POST", sandbox + "/fork", {"count": 1})["sandboxes"]
        for path in (copy, "/v1/sandboxes/" + fork["id"]):
            tenant.run(path, "test $(stat -c %s endless) = 8070450532247928832; "
                             "test $(stat -c %s far) = 4294967299; test $(stat -c %b far) -lt 100; "
                             "test $(head -c 5 far) = begin; test $(tail -c 3 far) = end; "
                             "test $(cat d/nnn*) = plain")
        tenant.must(204, "DELETE", f"/v1/templates/{name}")

    def test_an_archive_for_a_client_has_its_holes_as_tar_knows_them(self):
        tenant = self.tenant("archived")
        sandbox = tenant.sandbox()
        tenant.run(sandbox, "mkdir a; truncate -s 1T a/hole; echo text > a/text; ln -s text a/link")
        for format in ("tar", "tar.gz"):
            answer = tenant.must(200, "GET", f"{sandbox}/files/a?archive={format}")
            self.assertLess(len(answer.body), MIB)
            with tarfile.open(fileobj=io.BytesIO(answer.body)) as tar:
                members = {member.name: member for member in tar}
                self.assertEqual(members["hole"].size, 1 << 40)
                self.assertEqual(members["link"].linkname, "text")
                self.assertEqual(tar.extractfile("text").read(), b"text\n")
