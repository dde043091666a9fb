# SPDX-License-Identifier: Apache-2.0
"""SQL of the wasm tier: the shell of SQLite."""
from program import run
from wasm_case import INSTALLED, WasmCase


class Sql(WasmCase):
    def setUp(self):
        super().setUp()
        if not (INSTALLED / "sqlite3.cwasm").exists():
            self.skipTest("SQL for the wasm tier is not installed")

    def run_sql(self, code, *options, **how):
        return run("--tier", "wasm", *options, "-l", "sql", "-e", code, **how)

    def test_has_its_language_and_its_functions(self):
        answer = self.run_sql(".mode list\n.headers off\n"
                              "create table n (v integer);\n"
                              "with recursive c(x) as (values(1) union all select x + 1 from c where x < 1000)\n"
                              "insert into n select x from c;\n"
                              "select sum(v), round(sqrt(2), 3), json_extract('{\"a\": [7]}', '$.a[0]') from n;\n"
                              "create virtual table t using fts5(body);\n"
                              "insert into t values ('a glove box'), ('nothing');\n"
                              "select body from t where t match 'glove';\n")
        self.assertEqual(answer.out, b"500500|1.414|7\na glove box\n", str(answer))

    def test_keeps_a_database_and_finds_nothing_of_the_host(self):
        out = self.dir / "out"
        answer = self.run_sql(".open kept.db\ncreate table t as select 42 as v;\n", "--json", "--out", out)
        self.assertEqual(answer.verdict["status"], "ok", str(answer))
        self.assertTrue((out / "kept.db").read_bytes().startswith(b"SQLite format 3"))
        answer = self.run_sql(".mode list\n.headers off\nselect v from t;\n.read /etc/passwd\n", "--json",
                              "--file", f"{out / 'kept.db'}:kept.db")
        self.assertEqual(answer.verdict["status"], "error", str(answer))
        answer = self.run_sql(".mode list\n.headers off\n.open kept.db\nselect v from t;\n",
                              "--file", f"{out / 'kept.db'}:kept.db")
        self.assertEqual(answer.out, b"42\n", str(answer))

    def test_starts_no_program(self):
        for code in (".shell id\n", ".read '|id'\n"):
            answer = self.run_sql(code, "--json")
            self.assertNotIn("uid=", answer.verdict["stdout"], str(answer))

    def test_tells_errors_with_a_status(self):
        answer = self.run_sql("select 1;\nselect * from absent;\n", "--quiet")
        self.assertEqual(answer.status, 1, str(answer))
        self.assertIn("no such table", answer.err.decode())

    def test_is_deterministic_where_that_is_asked_for(self):
        code = "select random(), datetime('now');"
        outputs = {self.run_sql(code, "--deterministic").out for _ in range(3)}
        self.assertEqual(len(outputs), 1, outputs)
        self.assertIn(b"2000-01-01", outputs.pop())
