# SPDX-License-Identifier: Apache-2.0
"""Ruby of the wasm tier: CRuby, one program from start to end."""
import hashlib
import os

from program import run
from wasm_case import INSTALLED, WasmCase

RUNS = int(os.environ.get("GLOVEBOX_DETERMINISTIC_RUNS", "20"))

# All that usually differs, and all that Ruby asks for itself.
CURIOUS = """
require 'securerandom'
require 'tempfile'
p "x".hash, Object.new, rand, Random.urandom(8), SecureRandom.uuid
p Time.now, Process.clock_gettime(Process::CLOCK_MONOTONIC), Process.pid, ENV.to_h
%w[b a c].each { |name| File.write(name, name) }
p Dir.children("."), Dir.children(".").map { |name| [File.stat(name).ino, File.mtime(name)] }
p Tempfile.create { |file| file.path }, $stdin.read
before = Time.now; sleep 0.001; p Time.now - before
"""


class Ruby(WasmCase):
    def setUp(self):
        super().setUp()
        if not (INSTALLED / "ruby.cwasm").exists():
            self.skipTest("Ruby for the wasm tier is not installed")

    def run_ruby(self, code, *options, **how):
        return run("--tier", "wasm", *options, "-l", "ruby", "-e", code, **how)

    def test_is_a_cruby_with_its_library_and_none_of_the_host(self):
        answer = self.run_ruby(
            "require 'json'; require 'set'; require 'date'; require 'bigdecimal'\n"
            "fiber = Fiber.new { |x| Fiber.yield x + 1; 'done' }\n"
            "puts JSON.generate(a: [1, nil]), 2**70, 'zwölf'.upcase, Date.new(2024, 2, 29).next_year,\n"
            "  BigDecimal('0.1') * 3, fiber.resume(1), fiber.resume, catch(:x) { throw :x, 'thrown' },\n"
            "  RUBY_PLATFORM, File.exist?('/usr/bin/ruby')\n")
        self.assertEqual(answer.out.decode(), '{"a":[1,null]}\n1180591620717411303424\nZWÖLF\n2025-02-28\n'
                                              "0.3e0\n2\ndone\nthrown\nwasm32-wasi\nfalse\n", str(answer))

    def test_has_input_arguments_environment_files_and_an_exit_status(self):
        script = self.file("sums.rb", "require_relative 'helper'\n"
                                      "File.write('made', File.read('/workspace/data') + Dir.pwd)\n"
                                      "puts $stdin.gets, ARGV.inspect, ENV['A'], helped, __FILE__\n"
                                      "at_exit { puts 'last' }\n"
                                      "exit 4\n")
        out = self.dir / "out"
        answer = run("--tier", "wasm", "--json", "--file", self.file("data", "inside "), "--file",
                     self.file("helper.rb", "def helped = 42\n"), "--out", out, "--env", "A=1", script, "--", "a", "b",
                     stdin="zwölf\n".encode())
        self.assertEqual((answer.verdict["stdout"], answer.verdict["exit_code"]),
                         ('zwölf\n["a", "b"]\n1\n42\nsums.rb\nlast\n', 4), str(answer))
        self.assertEqual((out / "made").read_text(), "inside /workspace")

    def test_tells_errors_with_their_place(self):
        answer = self.run_ruby("def broken = [1].frist\nbroken", "--quiet")
        self.assertEqual(answer.status, 1, str(answer))
        for part in ("main.rb:1:in `broken'", "NoMethodError", "^^^^^^", "Did you mean?  first"):
            self.assertIn(part, answer.err.decode())
        answer = self.run_ruby("def broken\n", "--quiet")
        self.assertEqual(answer.status, 1, str(answer))
        self.assertIn("syntax error", answer.err.decode())

    def test_has_no_processes_threads_and_network(self):
        answer = self.run_ruby(
            "def fails\n  yield\nrescue NotImplementedError, StandardError, LoadError => error\n"
            "  error.class\nend\n"
            "system('touch made')\n"
            "p [fails { fork }, fails { exec 'true' }, fails { Thread.new {}.join }, fails { require 'socket' },\n"
            "   fails { Dir.children('/etc') }, fails { File.read('/proc/self/status') }].map(&:class).uniq\n"
            "p File.exist?('made')\n")
        self.assertEqual(answer.out, b"[Class]\nfalse\n", str(answer))

    def test_ends_at_the_limits_of_time_memory_and_stack(self):
        verdict = self.run_ruby("loop {}", "--time", "500ms", "--json").verdict
        self.assertEqual(verdict["status"], "timeout", str(verdict))
        verdict = self.run_ruby("kept = []; loop { kept << 'x' * 1_000_000 }", "--memory", "128M", "--json").verdict
        self.assertEqual(verdict["status"], "out_of_memory", str(verdict))
        answer = self.run_ruby("def deeper = deeper\nbegin; deeper; rescue SystemStackError; puts 'held'; end")
        self.assertEqual(answer.out, b"held\n", str(answer))

    def test_is_deterministic_where_that_is_asked_for(self):
        outputs = set()
        for _ in range(RUNS):
            verdict = self.run_ruby(CURIOUS, "--deterministic", "--json", stdin=b"input").verdict
            self.assertEqual(verdict["status"], "ok", verdict["stderr"])
            outputs.add(hashlib.sha256(verdict["stdout"].encode()).hexdigest())
        self.assertEqual(len(outputs), 1)

    def test_plain_runs_differ(self):
        """Or the test above could not fail."""
        self.assertEqual(len({self.run_ruby(CURIOUS).out for _ in range(2)}), 2)
