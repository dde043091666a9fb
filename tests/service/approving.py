# SPDX-License-Identifier: Apache-2.0
"""Tests of what a policy asks a person about, who is the test."""


class Approving:
    """For a test case whose daemon is `daemon`. What it leaves undecided is refused at its end."""

    def setUp(self):
        self.addCleanup(self.refuse_all)

    def refuse_all(self):
        for each in self.waiting():
            self.decide(each, "refuse", status=None)

    def waiting(self):
        return self.daemon.must(200, "GET", "/v1/approvals")["approvals"]

    def decide(self, approval, decision, status=204, **more):
        answer = self.daemon.ask("POST", f"/v1/approvals/{approval['id']}",
                                 {"decision": decision, "hash": approval["hash"], **more})
        if status is not None:
            self.assertEqual(answer.status, status, answer)
        return answer
