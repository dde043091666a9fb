# SPDX-License-Identifier: Apache-2.0
"""Facts about a shell script: which commands it runs, by their arguments as the shell would see them.

This is no shell. It follows quoting, assignments, loops over literal words, substitutions and
here-documents far enough to find the commands behind them, and leaves "$name" in a word where only
a running shell would know the value.
"""
import re

MAX_DEPTH = 8
OPERATORS = ("<<<", "<<-", "&&", "||", ";;", "|&", "&>>", ">>", "<<", ">&", "<&", "<>", ">|", "&>",
             "<(", ">(", "\n", ";", "&", "|", "(", ")", "<", ">")
REDIRECTIONS = {"<<<", "<<-", "<<", ">>", ">&", "<&", "<>", ">|", "&>", "&>>", "<", ">"}
# Words that may stand before a command without being one.
LEADING = {"if", "then", "else", "elif", "while", "until", "do", "{", "!", "time", "coproc"}
CLOSING = {"fi", "done", "}", "esac"}
SHELLS = {"sh", "bash", "dash", "ash", "zsh", "ksh", "busybox sh"}
INTERPRETERS = SHELLS | {"python", "python3", "perl", "ruby", "node", "php"}
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "\\": "\\", "'": "'",
           '"': '"', "f": "\f", "v": "\v"}
# Programs that run the command behind their options, and those of their options that take a value.
WRAPPERS = {
    "sudo": "ugpCchDRT", "doas": "uC", "env": "uCS", "nohup": "", "nice": "n", "ionice": "cnp",
    "timeout": "ks", "stdbuf": "ioe", "setsid": "", "command": "", "builtin": "", "exec": "a",
    "xargs": "IELnPsda", "time": "fo", "busybox": "", "unshare": "", "chroot": "", "flock": "",
    "watch": "n", "strace": "eopsu", "script": "c", "parallel": "j", "nsenter": "t", "toybox": "",
}
WITH_OPERAND = {"timeout", "chroot", "flock"}  # One word stands before the command.
READERS = {"cat", "head", "tail", "less", "more", "grep", "source", ".", "base64", "xxd", "strings",
           "sort", "cut", "awk", "sed", "diff", "od"}
WRITERS = {"rm", "tee", "touch", "mkdir", "rmdir", "chmod", "chown", "truncate", "shred", "unlink",
           "ln", "install", "mkfifo"}
COPIERS = {"cp", "mv", "rsync", "scp"}
CLIENTS = {"nc", "ncat", "netcat", "telnet", "ssh", "ping", "ftp", "sftp"}
URL = re.compile(r"\b(?:https?|ftp|wss?|ssh|git|tcp)://(?:[^\s/@'\"]*@)?(\[[0-9a-fA-F:]+\]|[^\s/:?#'\"\\]+)")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Unparsed(Exception):
    def __init__(self, reason, offset=0):
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


class Facts:
    """What was found, each once, with its place in the outermost text."""
    MOST = 20_000

    def __init__(self):
        self.found = []
        self.seen = set()

    def add(self, kind, name, line, column, **more):
        key = (kind, name, line, column, str(more))
        if key not in self.seen and len(self.seen) < self.MOST:
            self.seen.add(key)
            self.found.append({"kind": kind, "name": name[:1000], "line": line, "column": column,
                               **more})
        elif len(self.seen) == self.MOST:
            self.seen.add(None)
            self.found.append({"kind": "unparsed", "name": "there is too much in it to follow",
                               "line": line, "column": column})


def base_name(word):
    return word.rsplit("/", 1)[-1]


class Shell:
    """One script. `place` turns an offset into a line and a column; `others` analyses code of another
    language that a command carries, as others(language, code, line, column, depth)."""

    def __init__(self, text, facts, place, others, depth=0, variables=None):
        if depth > MAX_DEPTH:
            raise Unparsed("commands are nested too deeply to follow")
        self.text = text.replace("\\\r\n", "\\\n")
        self.at = 0
        self.facts = facts
        self.place = place
        self.others = others
        self.depth = depth
        self.variables = {"IFS": " ", "HOME": "~", "PWD": ".", **(variables or {})}
        self.aliases = {}
        self.functions = []  # Around the current command: [name, depth of braces].
        self.braces = 0
        self.heredocs = []
        self.pipeline = []

    # Words

    def nested(self, text, offset):
        line, column = self.place(offset)
        Shell(text, self.facts, lambda _: (line, column), self.others, self.depth + 1,
              self.variables).run()

    def closing(self, start):
        """The offset behind the parenthesis that closes the one before `start`."""
        depth, at, quote = 1, start, ""
        while at < len(self.text):
            char = self.text[at]
            if char == "\\" and quote != "'":
                at += 1
            elif quote:
                quote = "" if char == quote else quote
            elif char in "'\"":
                quote = char
            elif char == "(":
                depth += 1
            elif char == ")":
                depth -= 1
                if depth == 0:
                    return at + 1
            at += 1
        raise Unparsed("a parenthesis is never closed", start)

    def dollar(self):
        """What stands behind a dollar sign; as text."""
        text, start = self.text, self.at
        following = text[start + 1:start + 2]
        if following == "(" and text[start + 2:start + 3] == "(":
            self.at = self.closing(start + 2)
            return "$(("
        if following == "(":
            self.at = self.closing(start + 2)
            inner = text[start + 2:self.at - 1]
            self.nested(inner, start)
            return said_by(inner)
        if following == "{":
            end = text.find("}", start)
            if end < 0:
                raise Unparsed("a '${' is never closed", start)
            self.at = end + 1
            inner = text[start + 2:end]
            name = NAME.match(inner)
            if "$(" in inner or "`" in inner:
                self.nested("echo " + inner.partition("-")[2], start)
            if not name:
                return "$" + inner
            rest = inner[name.end():]
            if rest.startswith((":-", "-", ":=", "=")) and name[0] not in self.variables:
                return rest.lstrip(":").lstrip("-=")
            part = re.fullmatch(r":(\d+)(?::(\d+))?", rest)
            value = self.variables.get(name[0])
            if part and value is not None:
                first = int(part[1])
                return value[first:first + int(part[2])] if part[2] else value[first:]
            return self.variables.get(name[0], "$" + name[0])
        name = NAME.match(text, start + 1)
        if name:
            self.at = name.end()
            return self.variables.get(name[0], "$" + name[0])
        self.at = start + 2
        if following and following in "0123456789@*#?$!-":
            return "$" + following
        self.at = start + 1
        return "$"

    def ansi_quoted(self):
        out, at = "", self.at + 2
        while at < len(self.text) and self.text[at] != "'":
            char = self.text[at]
            if char != "\\":
                out, at = out + char, at + 1
                continue
            rest = self.text[at + 1:at + 10]
            number = re.match(r"x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|([0-7]{1,3})", rest)
            if number:
                out += chr(int(number[1] or number[2], 16) if not number[3] else int(number[3], 8) & 255)
                at += 1 + number.end()
            else:
                out += ESCAPES.get(rest[:1], "\\" + rest[:1])
                at += 2
        if at >= len(self.text):
            raise Unparsed("a quote is never closed", self.at)
        self.at = at + 1
        return out

    def word(self):
        """The fields that one word becomes."""
        fields, out, quoted, start = [], "", False, self.at
        while self.at < len(self.text):
            text, char = self.text, self.text[self.at]
            if char == "\\":
                if text[self.at + 1:self.at + 2] != "\n":
                    out += text[self.at + 1:self.at + 2]
                self.at += 2
            elif char == "'":
                end = text.find("'", self.at + 1)
                if end < 0:
                    raise Unparsed("a quote is never closed", self.at)
                out, quoted, self.at = out + text[self.at + 1:end], True, end + 1
            elif char == '"':
                out, quoted = out + self.double_quoted(), True
            elif char == "$" and text[self.at + 1:self.at + 2] == "'":
                out, quoted = out + self.ansi_quoted(), True
            elif char == "$" and text[self.at + 1:self.at + 2] == '"':
                self.at += 1
            elif char in "$`":
                value = self.dollar() if char == "$" else self.backquoted()
                first, *rest = re.split(r"[ \t\n]+", value)
                out += first
                for piece in rest:
                    self.end_field(fields, out)
                    out = piece
            elif char in "<>" and text[self.at + 1:self.at + 2] == "(":
                begin = self.at
                self.at = self.closing(self.at + 2)
                inner = text[begin + 2:self.at - 1]
                self.nested(inner, begin)
                out += "<(" + inner + ")"
            elif char in " \t\n;&|()<>":
                break
            else:
                out += char
                self.at += 1
        if out or quoted or not fields:
            fields.append(out)
        if not quoted and self.at > start and "{" in self.text[start:self.at]:
            fields = [piece for field in fields for piece in braces(field)]
        return fields

    @staticmethod
    def end_field(fields, out):
        if out:
            fields.append(out)

    def double_quoted(self):
        out, start = "", self.at
        self.at += 1
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                return out
            if char == "\\" and self.text[self.at + 1:self.at + 2] in tuple('$`"\\\n'):
                out += self.text[self.at + 1].replace("\n", "")
                self.at += 2
            elif char == "$":
                out += self.dollar()
            elif char == "`":
                out += self.backquoted()
            else:
                out += char
                self.at += 1
        raise Unparsed("a quote is never closed", start)

    def backquoted(self):
        start = self.at
        end = self.text.find("`", start + 1)
        if end < 0:
            raise Unparsed("a backquote is never closed", start)
        self.at = end + 1
        inner = self.text[start + 1:end]
        self.nested(inner, start)
        return said_by(inner)

    # Commands

    def run(self):
        words, start, redirects = [], 0, []
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t\r" or self.text.startswith("\\\n", self.at):
                self.at += 2 if char == "\\" else 1
                continue
            if char == "#":
                self.at = self.text.find("\n", self.at) % (len(self.text) + 1)
                continue
            operator = next((each for each in OPERATORS if self.text.startswith(each, self.at)), "")
            if operator in ("<(", ">("):
                operator = ""
            if not operator:
                if not words:
                    start = self.at
                    if self.leading():
                        continue
                words += self.word()
                continue
            at = self.at
            self.at += len(operator)
            if operator in REDIRECTIONS:
                if words and words[-1].isdigit() and self.text[at - 1].isdigit():
                    words.pop()
                self.redirection(operator, at, redirects)
                continue
            if operator == "(" and len(words) == 1:  # name() { …
                self.functions.append([words[0], self.braces])
                self.at = self.closing(self.at)
                words, redirects = [], []
                continue
            self.command(words, redirects, start, operator)
            words, redirects = [], []
            if operator == "\n":
                self.read_heredocs()
        self.command(words, redirects, start, "\n")

    def leading(self):
        """Skips a word that only leads to a command."""
        text = self.text
        match = re.compile(r"[^\s;&|()<>'\"$`\\]+").match(text, self.at)
        word = match[0] if match else ""
        if word == "[[" or text.startswith("((", self.at):
            end = text.find("]]" if word else "))", self.at + 2)
            if end < 0:
                raise Unparsed("a test is never closed", self.at)
            self.at = end + 2
            return True
        if word in LEADING:
            self.at = match.end()
            if word == "{":
                self.braces += 1
            if word in ("while", "until"):
                self.loop(word)
            return True
        if word in CLOSING:
            self.at = match.end()
            if word == "}":
                self.braces -= 1
                while self.functions and self.functions[-1][1] >= self.braces:
                    self.functions.pop()
            return True
        if word == "function":
            name = re.compile(r"\s+(\S+?)\s*(\(\s*\))?\s*(?=\{)").match(text, match.end())
            if name:
                self.functions.append([name[1], self.braces])
                self.at = name.end()
                return True
        if word in ("for", "select"):
            self.at = match.end()
            loop = re.compile(r"\s+(\w+)\s+in\b").match(text, self.at)
            if loop:
                self.at = loop.end()
                values = self.words_of_line()
                self.variables[loop[1]] = " ".join(values)
            return True
        if word == "case":
            end = re.compile(r"\bin\b").search(text, match.end())
            if end:
                self.at = end.end()
                return True
        # A pattern of a case, up to its parenthesis.
        pattern = re.compile(r"\(?[^\s()&;<>]+(\s*\|\s*[^\s()&;<>]+)*\)").match(text, self.at)
        if pattern and "$(" not in pattern[0] and "`" not in pattern[0] and "(" not in pattern[0]:
            self.at = pattern.end()
            return True
        return False

    def words_of_line(self):
        values = []
        while self.at < len(self.text) and self.text[self.at] not in "\n;":
            if self.text[self.at] in " \t":
                self.at += 1
            elif self.text[self.at] in "&|()<>":
                break
            else:
                values += self.word()
        return values

    def loop(self, word):
        forever = {"while": r"\s+(true|:|1|\[\s*1\s*\]|\(\(\s*1\s*\)\))\s*[;\n]",
                   "until": r"\s+false\s*[;\n]"}[word]
        if re.compile(forever).match(self.text, self.at):
            end = self.text.find("done", self.at)
            body = self.text[self.at:end if end >= 0 else len(self.text)]
            if not re.search(r"\b(break|exit|return|sleep|read)\b", body):
                self.facts.add("pattern", "endless-loop", *self.place(self.at))
            if re.search(r"(?<!&)&(?![&>\d])", body):
                self.facts.add("pattern", "fork-bomb", *self.place(self.at))

    def redirection(self, operator, at, redirects):
        while self.text[self.at:self.at + 1] in (" ", "\t"):
            self.at += 1
        if operator in ("<<", "<<-"):
            raw = re.compile(r"\\?(['\"]?)([^\s'\";|&<>()]+)\1").match(self.text, self.at)
            if not raw:
                raise Unparsed("a here-document has no end word", at)
            self.at = raw.end()
            document = {"end": raw[2], "text": "", "at": at}
            self.heredocs.append(document)
            redirects.append(("<<", document))
            return
        target = " ".join(self.word())
        redirects.append((operator, target))
        line, column = self.place(at)
        if operator == "<<<":
            return
        if re.match(r"/dev/(tcp|udp)/", target):
            self.facts.add("pattern", "network-redirection", line, column)
            self.facts.add("host", target.split("/")[3], line, column)
        elif not target.isdigit() and target != "-":
            self.facts.add("file", target, line, column,
                           mode="read" if operator == "<" else "write")

    def read_heredocs(self):
        for document in self.heredocs:
            lines = []
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                line = self.text[self.at:end]
                self.at = min(end + 1, len(self.text))
                if line.lstrip("\t") == document["end"]:
                    break
                lines.append(line)
            document["text"] = "\n".join(lines)
            if "owner" in document:
                self.stdin_of(document["owner"], document["text"], document["at"])
        self.heredocs = []

    def command(self, words, redirects, start, operator):
        while words and re.match(r"[A-Za-z_]\w*\+?=", words[0]):
            name, _, value = words[0].partition("=")
            name, added = name.rstrip("+"), name.endswith("+")
            self.variables[name] = (self.variables.get(name, "") if added else "") + value
            words = words[1:]
        if words:
            if words[0] in self.aliases:
                self.nested(self.aliases[words[0]] + " " + " ".join(words[1:]), start)
            own = [name for name, _ in self.functions]
            if (words[0] in own and operator in ("|", "&", "|&")) or \
                    (words[0] == "$0" and operator == "&"):
                self.facts.add("pattern", "fork-bomb", *self.place(start))
            if words[0] == "alias":
                for each in words[1:]:
                    name, _, value = each.partition("=")
                    self.aliases[name] = value
            if words[0] in ("export", "declare", "local", "readonly", "typeset"):
                for each in words[1:]:
                    name, equals, value = each.partition("=")
                    if equals:
                        self.variables[name] = value
            if words[0] == "set" and "--" in words:
                for number, each in enumerate(words[words.index("--") + 1:], 1):
                    self.variables[str(number)] = each
            for kind, target in redirects:
                if kind == "<<":
                    target["owner"] = words
                elif kind == "<<<":
                    self.stdin_of(words, target, start)
            argv(words, self.facts, *self.place(start), self.others, self.depth, self.variables)
            self.piped_into(words, start)
            self.pipeline.append(words)
        if operator not in ("|", "|&"):
            self.pipeline = []

    def piped_into(self, words, start):
        inner = unwrapped(words)
        if not self.pipeline or not inner or base_name(inner[0]) not in INTERPRETERS:
            return
        # An interpreter with a program of its own reads data, not code.
        if any(not word.startswith("-") for word in inner[1:]) or set(inner[1:]) & {"-c", "-e", "-m"}:
            return
        self.facts.add("pattern", "pipe-to-shell", *self.place(start))
        if len(self.pipeline) == 1:
            text = said_by_words(self.pipeline[0])
            if text is not None:
                self.stdin_of(words, text, start)

    def stdin_of(self, words, text, at):
        inner = unwrapped(words)
        name = base_name(inner[0]) if inner else ""
        if name in SHELLS:
            self.nested(text, at)
        elif name.startswith("python"):
            self.others("python", text, *self.place(at), self.depth + 1)


def said_by_words(words):
    """What `echo` or `printf` writes, or None."""
    if base_name(words[0]) == "echo":
        rest = words[1:]
        escapes = False
        while rest and re.fullmatch(r"-[neE]+", rest[0]):
            escapes |= "e" in rest.pop(0)
        text = " ".join(rest)
    elif base_name(words[0]) == "printf" and len(words) > 1:
        text, escapes = words[1], True
        for each in words[2:]:
            text = text.replace("%s", each, 1).replace("%b", each, 1)
    else:
        return None
    if escapes:
        text = re.sub(r"\\x([0-9a-fA-F]{1,2})", lambda match: chr(int(match[1], 16)), text)
        text = re.sub(r"\\0?([0-7]{1,3})", lambda match: chr(int(match[1], 8) & 255), text)
        text = text.replace("\\n", "\n").replace("\\t", "\t")
    return text


def said_by(script):
    """What a substitution of a plain `echo` or `printf` becomes; else something unknown."""
    if re.search(r"[|;&<>`$\n]", script):
        return "$(…)"
    words = re.findall(r"'[^']*'|\"[^\"]*\"|\S+", script)
    words = [word.strip("'\"") for word in words]
    text = said_by_words(words) if words else None
    return "$(…)" if text is None else text.rstrip("\n")


def braces(word):
    """The fields of {a,b,c}."""
    match = re.search(r"\{([^{}]*,[^{}]*)\}", word)
    if not match:
        return [word]
    return [field for part in match[1].split(",")[:64]
            for field in braces(word[:match.start()] + part + word[match.end():])][:64]


def unwrapped(words):
    """The innermost command: without sudo, env and the like."""
    for _ in range(MAX_DEPTH):
        inner = behind_wrapper(words)
        if inner is None:
            return words
        words = inner
    return words


def behind_wrapper(words):
    name = base_name(words[0]) if words else ""
    if name not in WRAPPERS:
        return None
    at = 1
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if word.startswith("-") and len(word) > 1:
            takes_value = not word.startswith("--") and word[-1] in WRAPPERS[name] and len(word) == 2
            at += 2 if takes_value else 1
        elif name in ("env", "sudo") and re.match(r"\w+=", word):
            at += 1
        else:
            break
    return words[at + (name in WITH_OPERAND):]


def argv(words, facts, line, column, others, depth=0, variables=None):
    """Facts about one command, given as its arguments."""
    if depth > MAX_DEPTH:
        raise Unparsed("commands are nested too deeply to follow")
    name = base_name(words[0])
    place = (line, column)
    if words[0].startswith(("$", "<(")) or "$(" in words[0]:
        facts.add("pattern", "dynamic-command", *place)
    facts.add("command", name, *place, argv=[word[:1000] for word in words[:256]])
    for word in words[1:]:
        for host in URL.findall(word):
            facts.add("host", host.strip("[]").lower(), *place)

    def script(text):
        Shell(text, facts, lambda _: place, others, depth + 1, variables).run()

    operands = [word for word in words[1:] if not word.startswith("-")]
    if name in SHELLS and any(re.fullmatch(r"-[a-z]*c[a-z]*", word) for word in words[1:]):
        if operands:
            script(operands[0])
    elif name in SHELLS or name in ("source", "."):
        for word in operands[:1]:
            if word.startswith(("<(", "/dev/stdin")):
                facts.add("pattern", "pipe-to-shell", *place)
    elif name == "eval":
        facts.add("pattern", "dynamic-code", *place)
        script(" ".join(words[1:]))
    elif name == "trap" and operands:
        script(operands[0])
    elif re.fullmatch(r"python[\d.]*", name) and "-c" in words[1:-1]:
        others("python", words[words.index("-c") + 1], line, column, depth + 1)
    elif name in ("perl", "ruby", "node", "php") and set(words) & {"-e", "-E", "-r", "-p"}:
        facts.add("pattern", "opaque-code", *place)
    elif name == "find":
        for option in ("-exec", "-execdir", "-ok"):
            if option in words[:-1]:
                inner = words[words.index(option) + 1:]
                ends = [at for at, word in enumerate(inner) if word in (";", "+")]
                inner = inner[:ends[0]] if ends else inner
                if inner:
                    argv(inner, facts, line, column, others, depth + 1, variables)
        if "-delete" in words:
            facts.add("command", "rm", *place, argv=["rm", "-r", *operands[:1]])
    elif name == "ssh" and len(operands) > 1:
        argv(operands[1:], facts, line, column, others, depth + 1, variables)
    elif name == "env" and "-S" in words[:-1]:
        script(words[words.index("-S") + 1])
    inner = behind_wrapper(words)
    if inner:
        argv(inner, facts, line, column, others, depth + 1, variables)

    if name in CLIENTS and operands:
        facts.add("host", operands[0].split("@")[-1].lower(), *place)
    if name in READERS:
        for word in operands:
            facts.add("file", word, *place, mode="read")
    elif name in WRITERS:
        for word in operands:
            facts.add("file", word, *place, mode="write")
    elif name in COPIERS and operands:
        for word in operands[:-1]:
            facts.add("file", word, *place, mode="read")
        facts.add("file", operands[-1], *place, mode="write")
    elif name == "dd":
        for word in words[1:]:
            option, _, value = word.partition("=")
            if option in ("if", "of"):
                facts.add("file", value, *place, mode="read" if option == "if" else "write")


def analyse(text, facts, others, depth=0, at=None):
    """`at` is the place of the whole text where it stands inside another one."""
    def place(offset):
        if at is not None:
            return at
        before = text.count("\n", 0, offset)
        return before + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1

    shell = Shell(text, facts, place, others, depth)
    try:
        shell.run()
    except Unparsed as problem:
        facts.add("unparsed", problem.reason, *place(problem.offset))
