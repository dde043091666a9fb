# SPDX-License-Identifier: Apache-2.0
"""Facts about a Python program: what it imports, calls and opens, which hosts and commands it names.

The text is parsed by CPython's own parser, so that what is looked at is what would run. The program
is not run. Names are followed through imports, assignments and constant expressions wherever they
stand, without regard to order; what only a running program knows is reported as a pattern.
"""
import ast
import re
import warnings

from python_values import BUILTINS, Name, Values, canonical
from shell_code import MAX_DEPTH, URL, analyse as analyse_shell, argv as analyse_argv

SHELL_CALLS = {"os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput",
               "commands.getoutput", "asyncio.create_subprocess_shell", "pty.spawn",
               "asyncio.subprocess.create_subprocess_shell", "popen2.popen2", "get_ipython().system",
               "get_ipython().getoutput", "IPython.get_ipython().system"}
ARGV_CALLS = {"subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.Popen",
              "subprocess.check_output", "asyncio.create_subprocess_exec", "os.execv", "os.execve",
              "os.execl", "os.execle", "os.execlp", "os.execlpe", "os.execvp", "os.execvpe",
              "os.spawnl", "os.spawnle", "os.spawnlp", "os.spawnlpe", "os.spawnv", "os.spawnve",
              "os.spawnvp", "os.spawnvpe", "os.posix_spawn", "os.posix_spawnp", "os.startfile"}
CODE_CALLS = {"eval", "exec", "compile", "code.interact", "code.InteractiveInterpreter().runsource",
              "code.InteractiveConsole().push", "timeit.timeit", "cProfile.run", "profile.run",
              "get_ipython().run_cell"}
IMPORT_CALLS = {"__import__", "importlib.import_module", "importlib.__import__",
                "importlib.util.find_spec", "runpy.run_module", "pkgutil.resolve_name"}
OPENERS = {"open", "io.open", "os.open", "codecs.open", "gzip.open", "bz2.open", "lzma.open",
           "io.FileIO", "tarfile.open", "zipfile.ZipFile", "sqlite3.connect", "shelve.open"}
WRITERS = {"os.remove": 1, "os.unlink": 1, "os.rmdir": 1, "os.removedirs": 1, "os.mkdir": 1,
           "os.makedirs": 1, "os.truncate": 1, "os.chmod": 1, "os.chown": 1, "os.rename": 2,
           "os.replace": 2, "os.symlink": 2, "os.link": 2, "shutil.rmtree": 1, "shutil.move": 2,
           "os.mkfifo": 1, "os.mknod": 1}
READERS = {"os.listdir", "os.scandir", "os.walk", "os.readlink", "os.stat", "glob.glob"}
COPIERS = {"shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.copytree"}
CONNECTORS = {"socket.create_connection", "socket.socket().connect", "socket.socket().connect_ex",
              "socket.socket().sendto", "http.client.HTTPConnection", "http.client.HTTPSConnection",
              "ftplib.FTP", "smtplib.SMTP", "telnetlib.Telnet", "asyncio.open_connection",
              "paramiko.SSHClient().connect", "socket.gethostbyname", "socket.getaddrinfo"}
INNOCENT = {"__init__", "__name__", "__doc__", "__file__", "__version__", "__len__", "__class__",
            "__eq__", "__hash__", "__repr__", "__str__", "__iter__", "__next__", "__enter__",
            "__exit__", "__call__", "__getitem__", "__setitem__", "__contains__", "__post_init__",
            "__all__", "__annotations__", "__add__", "__sub__", "__mul__", "__lt__", "__gt__",
            "__new__", "__module__", "__qualname__", "__main__", "__author__", "__path__",
            "__dataclass_fields__", "__members__", "__slots__", "__setattr__", "__delattr__"}
FRAMES = {"f_globals", "f_locals", "f_builtins", "f_back", "f_code", "gi_frame", "gi_code",
          "tb_frame", "cr_frame", "ag_frame", "func_globals"}
TOKENS = re.compile(r"AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36}|xox[abpr]-[0-9A-Za-z-]{20}|"
                    r"sk-[A-Za-z0-9_-]{32}|AIza[0-9A-Za-z_-]{35}|-----BEGIN [A-Z ]*PRIVATE KEY-----")
SECRET_NAMES = re.compile(r"(?i)(^|_)(password|passwd|pwd|secret|token|api_?key|access_?key)$")
MAGIC = re.compile(r"(?m)^(?P<space>[ \t]*)(?P<sign>!!?|%%?)(?P<rest>.*)$")


# Nodes without others in them.
LEAVES = {ast.Name, ast.Constant, ast.Load, ast.Store, ast.Del, ast.And, ast.Or, ast.Pass,
          *ast.operator.__subclasses__(), *ast.unaryop.__subclasses__(),
          *ast.cmpop.__subclasses__()}


class Visitor:
    def __init__(self, values, facts, place, depth):
        self.values = values
        self.facts = facts
        self.place_of = place
        self.depth = depth
        self.imported = {value.split(".")[0] for bound in values.bound.values() for value in bound
                         if isinstance(value, Name)} | {star.split(".")[0] for star in values.stars}

    def visit(self, node):
        method = METHODS.get(node.__class__)
        if method is None:
            self.generic_visit(node)
        else:
            method(self, node)

    def generic_visit(self, node):
        for value in vars(node).values():
            kind = value.__class__
            if kind is list:
                for each in value:
                    if isinstance(each, ast.AST):
                        self.visit(each)
            elif isinstance(value, ast.AST) and kind not in MARKS:
                self.visit(value)

    def place(self, node):
        return self.place_of(node.lineno, node.col_offset)

    def add(self, kind, name, node, **more):
        self.facts.add(kind, str(name), *self.place(node), **more)

    def shell(self, text, node):
        analyse_shell(text, self.facts, others_of(self.facts), self.depth + 1, self.place(node))

    # Names

    def visit_Import(self, node):
        for alias in node.names:
            self.add("module", alias.name, node)

    def visit_ImportFrom(self, node):
        if node.level == 0:
            for alias in node.names:
                name = node.module if alias.name == "*" else f"{node.module}.{alias.name}"
                self.add("module", node.module, node)
                self.add("name", canonical(name), node)

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load):
            self.report(node)
            if node.id in ("__builtins__", "__loader__", "__spec__"):
                self.add("attribute", node.id, node)

    def visit_Attribute(self, node):
        self.report(node)
        self.leads_out(node)
        if self.values.names(node.value):
            # The parts of a chain are no uses of their own.
            inner = node.value
            while isinstance(inner, ast.Attribute):
                self.leads_out(inner)
                inner = inner.value
            if not isinstance(inner, ast.Name):
                self.visit(inner)
        else:
            self.visit(node.value)

    def leads_out(self, node):
        hidden = node.attr.startswith("__") and node.attr.endswith("__")
        if (hidden and node.attr not in INNOCENT) or node.attr in FRAMES:
            self.add("attribute", node.attr, node)

    def report(self, node):
        for name in self.values.names(node):
            self.add("name", name, node)
            root = name.split(".")[0].removesuffix("()")
            if root not in self.imported and root not in BUILTINS:
                self.add("module", root, node)  # Reached through another module.

    def visit_Subscript(self, node):
        self.report(node)
        for name in self.values.names(node.value):
            if name in ("globals()", "locals()", "vars()", "__builtins__", "builtins", "sys.modules") \
                    and not self.values.constants(node.slice) and isinstance(node.ctx, ast.Load):
                self.add("pattern", "dynamic-attribute", node)
        for text in self.values.texts(node.slice):
            if text in ("__builtins__", "__import__", "__subclasses__", "__globals__"):
                self.add("attribute", text, node)
        self.generic_visit(node)

    # Constants

    def visit_Expr(self, node):
        if not (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)):
            self.visit(node.value)

    def visit_Constant(self, node):
        if isinstance(node.value, str):
            for host in URL.findall(node.value):
                if "{" not in host and "%" not in host:
                    self.add("host", host.strip("[]").lower(), node)
            if TOKENS.search(node.value):
                self.add("pattern", "credential", node)

    def visit_BinOp(self, node):
        if isinstance(node.op, ast.Pow):
            for power in self.values.constants(node.right):
                if isinstance(power, int) and power > 100_000:
                    self.add("pattern", "resource-bomb", node)
            if isinstance(node.right, ast.BinOp) and isinstance(node.right.op, ast.Pow):
                self.add("pattern", "resource-bomb", node)
        if isinstance(node.op, ast.Mult):
            for side, other in ((node.left, node.right), (node.right, node.left)):
                if isinstance(side, (ast.Constant, ast.List, ast.JoinedStr)) and \
                        not isinstance(getattr(side, "value", ""), (int, float, complex)):
                    if self.huge(other):
                        self.add("pattern", "resource-bomb", node)
        self.generic_visit(node)

    def huge(self, node):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            bases, powers = self.values.constants(node.left), self.values.constants(node.right)
            return any(isinstance(base, int) and isinstance(power, int) and base > 1 and
                       base.bit_length() * power > 32 for base in bases for power in powers)
        return any(isinstance(value, int) and value > 2 ** 31 for value in self.values.constants(node))

    def visit_Assign(self, node):
        for target in node.targets:
            name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")
            self.secret(name, node.value)
        self.generic_visit(node)

    def visit_keyword(self, node):
        self.secret(node.arg or "", node.value)
        self.generic_visit(node)

    def secret(self, name, value):
        if SECRET_NAMES.search(name) and isinstance(value, ast.Constant) and \
                isinstance(value.value, str) and re.fullmatch(r"\S{6,}", value.value) and \
                not re.search(r"(?i)^(your|example|dummy|test|xxx|changeme|<|\$|\{)", value.value):
            self.add("pattern", "credential", value)

    def visit_While(self, node):
        if self.values.constants(node.test)[:1] in ([True], [1]):
            inside = [each for part in node.body for each in ast.walk(part)]
            leaves = (ast.Break, ast.Return, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await)
            names = {str(name) for each in inside if isinstance(each, ast.Call)
                     for name in self.values.names(each.func)}
            if "os.fork" in names or "multiprocessing.Process" in names:
                self.add("pattern", "fork-bomb", node)
            if not any(isinstance(each, leaves) for each in inside) and \
                    not names & {"sys.exit", "os._exit", "exit", "quit", "input", "time.sleep"}:
                self.add("pattern", "endless-loop", node)
        self.generic_visit(node)

    # Calls

    def visit_Call(self, node):
        if not isinstance(node.func, (ast.Name, ast.Attribute, ast.Subscript)):
            self.report(node.func)
        for name in self.values.names(node.func):
            self.called(str(name), node)
        if isinstance(node.func, ast.Attribute):
            self.method(node.func, node)
        self.generic_visit(node)

    def called(self, name, node):
        arguments = node.args
        first = arguments[0] if arguments else None
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        if name in IMPORT_CALLS:
            texts = self.values.texts(first) if first else []
            for text in texts:
                self.add("module", text, node)
            if not texts:
                self.add("pattern", "dynamic-import", node)
            self.add("name", name, node)
        elif name in CODE_CALLS:
            self.code(node, first)
        elif name == "getattr" and len(arguments) > 1:
            self.looked_up(node)
        elif name in SHELL_CALLS:
            self.command(node, first or keywords.get("cmd"), True)
        elif name in ARGV_CALLS:
            if "spawn" in name and name.startswith("os.s") and len(arguments) > 1:
                first, arguments = arguments[1], arguments[1:]
            shell = any(self.values.constants(keywords["shell"])) if "shell" in keywords else False
            if shell:
                self.add("pattern", "shell", node)
            self.command(node, first or keywords.get("args"), shell, name, arguments)
        elif name in OPENERS or name.startswith("pathlib.Path().open"):
            self.opened(node, first or keywords.get("file"), keywords)
        elif name in WRITERS or name in COPIERS:
            for at, argument in enumerate(arguments[:WRITERS.get(name, 2)]):
                self.file(argument, "read" if name in COPIERS and at == 0 else "write", node)
        elif name in READERS:
            self.file(first, "read", node)
        elif name in CONNECTORS:
            self.connected(node, first or keywords.get("host"))
        self.settings(name, node, keywords)

    def settings(self, name, node, keywords):
        def false(key):
            return key in keywords and self.values.constants(keywords[key]) == [False]

        if name.startswith(("requests.", "httpx.")) and false("verify"):
            self.add("pattern", "no-certificate-check", node)
        if name == "yaml.load" and not any("Safe" in ast.dump(each) for each in
                                           [*node.args[1:], *keywords.values()]):
            self.add("pattern", "unsafe-load", node)
        if name in ("tarfile.open().extractall", "tarfile.TarFile().extractall") and \
                "filter" not in keywords:
            self.add("pattern", "unsafe-extract", node)

    def code(self, node, first):
        texts = [text.decode("utf-8", "replace") if isinstance(text, bytes) else text
                 for text in (self.values.constants(first) if first else [])]
        texts = [text for text in texts if isinstance(text, str)]
        if not texts:
            inner = self.values.names(first) if first else []
            if "compile()" not in inner:
                self.add("pattern", "dynamic-code", node)
        for text in texts:
            analyse(text, self.facts, self.depth + 1, self.place(node))

    def looked_up(self, node):
        owner, attribute = node.args[:2]
        texts = self.values.texts(attribute)
        if not texts and self.values.names(owner):
            self.add("pattern", "dynamic-attribute", node)
        for text in texts:
            if (text.startswith("__") and text not in INNOCENT) or text in FRAMES:
                self.add("attribute", text, node)
        self.report(node)

    def command(self, node, first, shell, name="", arguments=()):
        texts = self.values.texts(first) if first is not None else []
        lists = [value for value in (self.values.constants(first) if first is not None else [])
                 if isinstance(value, list) and value and all(isinstance(item, str) for item in value)]
        if isinstance(first, (ast.List, ast.Tuple)) and first.elts and not lists:
            words = [(self.values.texts(item) or ["$?"])[0] for item in first.elts]
            lists = [words]
        if name.startswith(("os.exec", "os.spawn", "os.posix_spawn", "asyncio")) and texts:
            words = [(self.values.texts(item) or ["$?"])[0] for item in arguments[1:]]
            if len(arguments) > 1 and name.rstrip("ep").endswith("v") or "posix" in name:
                lists = [value for value in self.values.constants(arguments[1]) if value]
                lists = [[texts[0], *map(str, value[1:])] for value in lists] or [[texts[0]]]
            else:
                lists = [[texts[0], *(words if name.startswith("asyncio") else words[1:])]]
            texts = []
        for text in texts:
            if shell:
                self.shell(text, node)
            else:
                analyse_argv([text], self.facts, *self.place(node), others_of(self.facts), self.depth + 1)
        for words in lists:
            if shell:
                self.shell(words[0], node)
            else:
                analyse_argv(words, self.facts, *self.place(node), others_of(self.facts), self.depth + 1)
        if not texts and not lists:
            known = self.partial(first)
            if shell and known:
                self.shell(known, node)
            self.add("pattern", "dynamic-command", node)

    def partial(self, node):
        """The text of an f-string or a sum, with $? where a part is unknown."""
        if isinstance(node, ast.JoinedStr):
            return "".join(self.partial(part) for part in node.values)
        if isinstance(node, ast.FormattedValue):
            node = node.value
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self.partial(node.left) + self.partial(node.right)
        texts = self.values.constants(node) if node is not None else []
        return str(texts[0]) if texts else "$?"

    # Files and hosts

    def file(self, node, mode, at):
        for value in self.values.constants(node) if node is not None else []:
            if isinstance(value, (str, bytes)):
                path = value if isinstance(value, str) else value.decode("utf-8", "replace")
                self.add("file", path, at, mode=mode)

    def opened(self, node, first, keywords):
        mode = node.args[1] if len(node.args) > 1 else keywords.get("mode")
        known = self.values.texts(mode) if mode is not None else ["r"]
        flags = ast.dump(mode) if mode is not None else ""
        writes = any(set(text) & set("wax+") for text in known) or "O_WRONLY" in flags or \
            "O_RDWR" in flags or "O_CREAT" in flags or not known and "O_RDONLY" not in flags
        self.file(first, "write" if writes else "read", node)

    def connected(self, node, first):
        for value in self.values.constants(first) if first is not None else []:
            host = value[0] if isinstance(value, list) and value else value
            if isinstance(host, str):
                self.add("host", host.lower(), node)
        if isinstance(first, (ast.Tuple, ast.List)) and first.elts:
            for host in self.values.texts(first.elts[0]):
                self.add("host", host.lower(), node)

    def method(self, function, node):
        """Of an object whose class is unknown."""
        paths = self.values.constants(function.value)
        if function.attr in ("write_text", "write_bytes", "unlink", "rmdir", "mkdir", "touch",
                             "read_text", "read_bytes", "rename"):
            for path in paths:
                if isinstance(path, str):
                    self.add("file", path, node, mode="read" if "read" in function.attr else "write")
        if function.attr == "format":
            for text in self.values.texts(function.value):
                for field in re.findall(r"\{[^{}]*\}", text):
                    for name in re.findall(r"__\w+__", field):
                        self.add("attribute", name, node)
        if function.attr in ("to_csv", "to_parquet", "to_excel", "to_json", "savefig") and node.args:
            self.file(node.args[0], "write", node)
        if function.attr in ("read_csv", "read_parquet", "read_excel", "read_json") and node.args:
            self.file(node.args[0], "read", node)


METHODS = {getattr(ast, name.removeprefix("visit_")): method
           for name, method in vars(Visitor).items() if name.startswith("visit_")}
MARKS = LEAVES - METHODS.keys()


def nodes_of(tree, expressions):
    """In the order of ast.walk(), which takes several times as long: all that has parts, or only
    what is no expression."""
    found = [tree]
    for node in found:
        for value in vars(node).values():
            kind = value.__class__
            if kind is list:
                if expressions or value and not isinstance(value[0], ast.expr):
                    found += [each for each in value
                              if isinstance(each, ast.AST) and each.__class__ not in LEAVES]
            elif expressions and kind not in LEAVES and isinstance(value, ast.AST):
                found.append(value)
    return found


def bind(tree, values, text):
    # Only one kind of expression binds a name.
    nodes = nodes_of(tree, ":=" in text)
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.name if alias.asname else alias.name.split(".")[0]
                values.bind(alias.asname or name, canonical(name))
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            for alias in node.names:
                if alias.name == "*":
                    values.stars.append(node.module)
                else:
                    values.bind(alias.asname or alias.name, canonical(f"{node.module}.{alias.name}"))
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            values.bound.setdefault(node.name, [])
            bind_defaults(node, values)
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                bind_target(target, node.value, values)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            bind_target(node.target, node.value, values)
        elif isinstance(node, (ast.For, ast.AsyncFor)) and isinstance(node.target, ast.Name):
            items = node.iter.elts if isinstance(node.iter, (ast.List, ast.Tuple)) else []
            values.bound.setdefault(node.target.id, [])
            for item in items:
                values.bind(node.target.id, item)
        elif isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
            values.bind(node.optional_vars.id, node.context_expr)


def bind_defaults(node, values):
    if isinstance(node, ast.ClassDef):
        return
    arguments = [*node.args.posonlyargs, *node.args.args]
    for argument in [*arguments, *node.args.kwonlyargs]:
        values.bound.setdefault(argument.arg, [])
    defaults = node.args.defaults
    for argument, default in zip(arguments[len(arguments) - len(defaults):], defaults):
        values.bind(argument.arg, default)


def bind_target(target, value, values):
    if isinstance(target, ast.Name):
        values.bind(target.id, value)
    elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
        for one, its in zip(target.elts, value.elts):
            bind_target(one, its, values)


def others_of(facts):
    """Analyses the Python that a shell command carries."""
    return lambda _, code, line, column, depth: analyse(code, facts, depth, (line, column))




def analyse(text, facts, depth=0, at=None):
    """`at` is the place of the whole text where it stands inside another one."""
    if depth > MAX_DEPTH:
        facts.add("unparsed", "code is nested too deeply to follow", *(at or (1, 1)))
        return
    lines = text.split("\n")

    def place(line, column):
        if at is not None:
            return at
        # Columns of the parser count bytes.
        if line <= len(lines) and lines[line - 1].isascii():
            return line, column + 1
        before = lines[line - 1].encode("utf-8", "replace")[:column] if line <= len(lines) else b""
        return line, len(before.decode("utf-8", "replace")) + 1

    try:
        tree = parsed(text, facts, place, depth)
        values = Values()
        bind(tree, values, text)
        Visitor(values, facts, place, depth).visit(tree)
        if values.budget < 0:
            facts.add("unparsed", "the program is too entangled to follow", *place(1, 0))
    except SyntaxError as problem:
        line = problem.lineno or 1
        facts.add("unparsed", f"Python cannot parse this: {problem.msg}",
                  *(at or (line, max(1, problem.offset or 1))))
    except (RecursionError, MemoryError, ValueError) as problem:
        reason = str(problem) if isinstance(problem, ValueError) else "it is nested too deeply"
        facts.add("unparsed", f"Python cannot parse this: {reason}", *(at or (1, 1)))


def parsed(text, facts, place, depth):
    """The tree; of a cell of a notebook, without its magic lines, which are looked at here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except SyntaxError:
            if not MAGIC.search(text):
                raise
        if re.match(r"\s*%%(bash|sh|script|!)", text):
            body = text.lstrip().partition("\n")[2]
            analyse_shell(body, facts, others_of(facts), depth + 1, place(1, 0))
            return ast.parse("")
        tree = ast.parse(MAGIC.sub(lambda match: match["space"] + "pass", text))
    for match in MAGIC.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match["sign"].startswith("!"):
            analyse_shell(match["rest"], facts, others_of(facts), depth + 1, place(line, 0))
        elif re.match(r"(sx|system|sc)\b", match["rest"]):
            analyse_shell(match["rest"].partition(" ")[2], facts, others_of(facts), depth + 1,
                          place(line, 0))
    return tree
