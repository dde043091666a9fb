# SPDX-License-Identifier: Apache-2.0
"""The four languages of these tests: how each agent starts, and how each says the same things."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass

from agent_client import AGENTS

# A folder with built agents (java/, csharp/, cpp/) spares their build in each run.
_BUILT = os.environ.get("GLOVEBOX_AGENTS_BUILT", "")
_PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else "python3"
_temporary: list[tempfile.TemporaryDirectory[str]] = []


@dataclass
class Language:
    name: str
    programs: tuple[str, ...]  # without these the tests are skipped
    command: list[str]
    builds: bool
    declare: str  # x is 41
    use: str  # the value of x + 1, of which the text is 42
    redeclare: str  # x is "other" from now on
    use_text: str  # the value of x; its text holds other
    both_streams: str  # "out" to stdout, "err" to stderr
    print_then_value: str  # "first", "second" on stdout, then 3 as the result
    unicode: str  # prints grüße 🧤
    throw: str  # an error that says "broken pot"
    wrong: str  # does not parse
    incomplete: str
    forever: str  # prints "ready", then loops without end
    sleeps: str  # prints "ready", then sleeps for a minute
    variable: str  # the value of GLOVEBOX_TEST, by the language's own means
    no_value: str  # has no result
    ordered_streams: bool = True  # stdout and stderr in one order
    changes_directory: str = ""  # prints the working directory; empty if the language can't change it

    def missing(self) -> str | None:
        absent = [program for program in self.programs if shutil.which(program) is None]
        return f"{', '.join(absent)} not installed" if absent else None

    def started_by(self) -> list[str]:
        """The command; builds the agent first where it needs that."""
        if not self.builds:
            return self.command
        folder = os.path.join(_BUILT, self.name)
        if not _BUILT or not os.path.isdir(folder):
            _temporary.append(tempfile.TemporaryDirectory())
            folder = _temporary[-1].name
            subprocess.run(["sh", f"{AGENTS}/{self.name}/build.sh", folder], check=True)
        return [part.replace("{built}", folder) for part in self.command]


R = Language(
    name="r",
    programs=("R", "python3"),
    command=[_PYTHON, f"{AGENTS}/r/agent.py"],
    builds=False,
    declare="x <- 41",
    use="x + 1",
    redeclare='x <- "other"',
    use_text="x",
    both_streams='cat("out\\n"); message("err")',
    print_then_value='cat("first\\n"); cat("second\\n"); 3',
    unicode='cat("grüße 🧤\\n")',
    throw='f <- function() stop("broken pot")\nf()',
    wrong="x <- )",
    incomplete="f(1,",
    forever='cat("ready\\n"); while (TRUE) {}',
    sleeps='cat("ready\\n"); Sys.sleep(60)',
    variable='cat(Sys.getenv("GLOVEBOX_TEST"))',
    no_value="invisible(3)",
    changes_directory="cat(getwd())",
)
JAVA = Language(
    name="java",
    programs=("java", "javac", "jar"),
    command=["/bin/sh", f"{AGENTS}/java/run.sh", "{built}"],
    builds=True,
    declare="int x = 41;",
    use="x + 1",
    redeclare='String x = "other";',
    use_text="x",
    both_streams='System.out.println("out"); System.err.println("err");',
    print_then_value='System.out.println("first");\nSystem.out.println("second");\n3',
    unicode='System.out.println("grüße 🧤");',
    throw='void f() { throw new IllegalStateException("broken pot"); }\nf()',
    wrong="int y = );",
    incomplete="f(1,",
    forever='System.out.println("ready"); while (true) {}',
    sleeps='System.out.println("ready"); Thread.sleep(60000);',
    variable='System.out.print(System.getProperty("GLOVEBOX_TEST"));',
    no_value="int y = 3;",
)
CSHARP = Language(
    name="csharp",
    programs=("mono", "mcs"),
    command=["mono", "{built}/agent.exe"],
    builds=True,
    declare="int x = 41;",
    use="x + 1",
    redeclare='string x = "other";',
    use_text="x",
    both_streams='Console.WriteLine("out"); Console.Error.WriteLine("err");',
    print_then_value='Console.WriteLine("first");\nConsole.WriteLine("second");\n3',
    unicode='Console.WriteLine("grüße 🧤");',
    throw='void f() { throw new InvalidOperationException("broken pot"); }\nf();',
    wrong="int y = );",
    incomplete="f(1,",
    forever='Console.WriteLine("ready"); while (true) {}',
    sleeps='Console.WriteLine("ready"); Thread.Sleep(60000);',
    variable='Console.Write(Environment.GetEnvironmentVariable("GLOVEBOX_TEST"));',
    no_value="int y = 3;",
    changes_directory="Console.Write(Directory.GetCurrentDirectory());",
)
CPP = Language(
    name="cpp",
    programs=("g++", "python3"),
    command=[_PYTHON, f"{AGENTS}/cpp/agent.py", "{built}"],
    builds=True,
    declare="int x = 41;",
    use="x + 1",
    redeclare='std::string x = "other";',
    use_text="x",
    both_streams='std::cout << "out\\n"; std::cerr << "err\\n";',
    print_then_value='std::cout << "first\\n";\nstd::printf("second\\n");\n3',
    unicode='std::cout << "grüße 🧤\\n";',
    throw='void f() { throw std::runtime_error("broken pot"); }\nf();',
    wrong="int y = );",
    incomplete="f(1,",
    forever='std::cout << "ready\\n"; while (true) {}',
    sleeps='std::cout << "ready\\n"; std::this_thread::sleep_for(std::chrono::minutes(1));',
    variable='std::cout << std::getenv("GLOVEBOX_TEST");',
    no_value="int y = 3;",
    ordered_streams=False,
    changes_directory='#include <filesystem>\nstd::cout << std::filesystem::current_path().string();',
)
