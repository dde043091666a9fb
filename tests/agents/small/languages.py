# SPDX-License-Identifier: Apache-2.0
"""The languages under test, and the code by which each of them can do what a claim is about."""

import shutil
from dataclasses import dataclass, field

from harness import AGENTS


@dataclass(frozen=True)
class Language:
    name: str
    command: tuple[str, ...]
    program: str  # Without it in the PATH there is nothing to test.
    remember: str  # Sets a variable to 41.
    recall: str  # Shows the variable plus one.
    trivial: str
    unicode: str  # Shows ünï😀.
    numbers: str  # Writes 1 to 1000 to standard output, a line each.
    fails: str  # The code of an error that the guest makes.
    failure: str  # The error's name.
    failure_text: str
    syntax_error: str
    loop: str  # Never ends.
    flood: str  # Writes 10,000,000 bytes.
    padding: str  # A comment of {} characters.
    incomplete: str
    shows_result: bool = True  # Otherwise values are printed.
    print_env: str = ""  # Shows the variable GB_TEST.
    print_cwd: str = ""
    leave: str = ""  # Ends the interpreter with status 3.
    leave_keeps_state: bool = False
    ask: str = ""  # Reads a line and shows it.
    close_descriptors: str = ""
    fork: str = ""
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def missing(self) -> str | None:
        for program in (self.program, self.command[0]):
            if not shutil.which(program):
                return f"{program} is not installed"
        return None


def _agent(path: str) -> str:
    return str(AGENTS / path)


LANGUAGES = (
    Language(
        name="bash", command=("perl", _agent("bash/agent.pl")), program="bash",
        remember="x=41", recall="echo $((x + 1))", trivial=":", unicode="echo ünï😀",
        numbers="for ((i = 1; i <= 1000; i++)); do echo $i; done",
        fails="false; (exit 7)", failure="ExitStatus", failure_text="exit status 7",
        syntax_error="if then fi", loop="while :; do :; done",
        flood="head -c 10000000 /dev/zero | tr '\\0' x", padding="# {}\n",
        incomplete="if true; then", shows_result=False, print_env='echo "$GB_TEST"',
        print_cwd="pwd", leave="exit 3",
        close_descriptors="for ((i = 3; i < 10; i++)); do eval \"exec $i>&-\"; done",
        fork="(:) & wait"),
    Language(
        name="sql", command=("/usr/bin/python3", "-BIS", _agent("sql/agent.py")),
        program="/usr/bin/python3",
        remember="create table t (x); insert into t values (41);", recall="select x + 1 from t;",
        trivial="select 1;", unicode="select 'ünï😀';",
        numbers="", fails="select * from nowhere;", failure="OperationalError",
        failure_text="no such table: nowhere", syntax_error="selec 1;",
        loop="with recursive r(i) as (select 1 union all select i + 1 from r) select max(i) from r;",
        flood="", padding="-- {}\n", incomplete="select 1"),
    Language(
        name="ruby", command=("ruby", _agent("ruby/agent.rb")), program="ruby",
        remember="x = 41", recall="x + 1", trivial="1", unicode="puts 'ünï😀'",
        numbers="1.upto(1000) { |i| puts i }", fails="raise ArgumentError, 'no good'",
        failure="ArgumentError", failure_text="no good", syntax_error="def def",
        loop="loop {}", flood="10_000.times { print 'x' * 1000 }", padding="# {}\n",
        incomplete="if true", print_env="puts ENV['GB_TEST']", print_cwd="puts Dir.pwd",
        leave="exit 3", leave_keeps_state=True, ask="puts gets",
        close_descriptors="(3..9).each { |f| IO.for_fd(f).close rescue nil }",
        fork="Process.wait(fork || 0) rescue nil"),
    Language(
        name="perl", command=("perl", _agent("perl/agent.pl")), program="perl",
        remember="my $x = 41;", recall="$x + 1", trivial="1", unicode='print "ünï😀\\n"',
        numbers='print "$_\\n" for 1 .. 1000', fails='die "no good\\n"', failure="Error",
        failure_text="no good", syntax_error="my $y = (;", loop="1 while 1",
        flood='print "x" x 1000 for 1 .. 10_000', padding="# {}\n", incomplete="if (1) {",
        print_env='print "$ENV{GB_TEST}\\n"', print_cwd="use Cwd; print getcwd()",
        leave="exit 3", leave_keeps_state=True, ask="print scalar <STDIN>",
        close_descriptors="use POSIX (); POSIX::close($_) for 3 .. 9",
        fork="if (my $child = fork) { waitpid $child, 0 }"),
    Language(
        name="php", command=("php", _agent("php/agent.php")), program="php",
        remember="$x = 41;", recall="$x + 1", trivial="1", unicode='echo "ünï😀\\n";',
        numbers='for ($i = 1; $i <= 1000; $i++) echo "$i\\n";',
        fails="throw new DomainException('no good');", failure="DomainException",
        failure_text="no good", syntax_error="$y = (;", loop="while (true) {}",
        flood="for ($i = 0; $i < 10000; $i++) echo str_repeat('x', 1000);", padding="# {}\n",
        incomplete="if (1) {", print_env="echo getenv('GB_TEST');", print_cwd="echo getcwd();",
        ask="echo Glovebox\\readline('? ');",
        fork="if ($child = pcntl_fork()) pcntl_waitpid($child, $status);"),
    Language(
        name="lua", command=("perl", _agent("lua/agent.pl")), program="lua5.4",
        remember="x = 41", recall="x + 1", trivial="1", unicode="print('ünï😀')",
        numbers="for i = 1, 1000 do print(i) end", fails="error('no good', 0)", failure="Error",
        failure_text="no good", syntax_error="local = 3", loop="while true do end",
        flood="for i = 1, 10000 do io.write(string.rep('x', 1000)) end", padding="-- {}\n",
        incomplete="if x then", print_env="print(os.getenv('GB_TEST'))", leave="os.exit(3)",
        ask="print(io.read())"),
)
