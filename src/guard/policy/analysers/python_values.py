# SPDX-License-Identifier: Apache-2.0
"""What an expression of Python may stand for: a constant, or a dotted name that begins at an import
or a builtin.

Only operations on constants are computed, with bounded results; nothing of the code is run.
"""
import ast
import base64
import binascii
import builtins
import codecs
import urllib.parse

MOST_VALUES = 8
MOST_TEXT = 256 * 1024
BUILTINS = set(dir(builtins))
# Modules that others carry as an attribute: `shutil.os.system` is `os.system`.
CARRIED = {"os", "sys", "subprocess", "builtins", "importlib", "ctypes", "socket", "shutil"}
SAME = {"posix": "os", "nt": "os", "_io": "io", "_socket": "socket", "_pickle": "pickle",
        "cPickle": "pickle", "_posixsubprocess": "subprocess", "_ctypes": "ctypes"}
TEXT_METHODS = {"lower", "upper", "strip", "lstrip", "rstrip", "replace", "title", "swapcase",
                "capitalize", "split", "join", "format", "encode", "decode", "removeprefix",
                "removesuffix", "zfill", "hex"}


class Name(str):
    """A dotted name; "()" behind a part stands for what a call of it returns."""


class Constant:
    def __init__(self, value):
        self.value = value


def canonical(name):
    """One spelling for each function, whatever module it was reached through."""
    parts = name.split(".")
    parts[0] = SAME.get(parts[0], parts[0])
    if parts[0] in ("builtins", "__builtins__", "__builtin__") and len(parts) > 1:
        parts = parts[1:]
    for at in range(len(parts) - 1, 0, -1):
        part = parts[at].lstrip("_")
        if part in CARRIED and not parts[at].endswith("__"):
            parts = [part, *parts[at + 1:]]
            break
    if parts[0] == "builtins" and len(parts) > 1:
        parts = parts[1:]
    return Name(".".join(parts))


class Values:
    """The names that a program binds, wherever it binds them, and what expressions over them mean."""

    def __init__(self):
        self.bound = {}
        self.stars = []
        self.busy = set()
        self.met = set()  # Names that were asked for while they were busy.
        self.known = {}  # By node or name: what it stands for, where no busy name had a part in it.
        self.trying = False  # A name stands for one value after another.
        self.budget = 200_000

    def bind(self, name, value):
        known = self.bound.setdefault(name, [])
        if len(known) < MOST_VALUES:
            known.append(value)

    def of(self, node):
        """All that `node` may stand for, as far as it can be known: a list."""
        kind = type(node)
        if kind is ast.Constant:
            return [Constant(node.value)]
        method = METHODS.get(kind)
        if method is None:
            return []
        if kind is ast.Name:
            return self.remembered(node.id, method, node)
        return self.remembered(node, method, node)

    def remembered(self, key, method, node):
        """What `method` finds, computed once unless it depends on what is being computed."""
        known = None if self.trying else self.known.get(key)
        if known is not None:
            return known
        self.budget -= 1
        if self.budget < 0:
            return []
        outer, self.met = self.met, set()
        found = method(self, node)
        if len(found) > MOST_VALUES:
            names = dict.fromkeys(value for value in found if isinstance(value, Name))
            found = [*list(names)[:MOST_VALUES],
                     *[value for value in found if value not in names][:MOST_VALUES]]
        if key.__class__ is str and key not in self.busy:
            self.met.discard(key)
        if not self.met and not self.trying and self.budget >= 0:
            self.known[key] = found
        outer |= self.met
        self.met = outer
        return found

    def constants(self, node):
        return [value.value for value in self.of(node) if isinstance(value, Constant)]

    def names(self, node):
        return [value for value in self.of(node) if isinstance(value, Name)]

    def texts(self, node):
        return [value for value in self.constants(node) if isinstance(value, str)]

    # Kinds of expressions

    def of_name(self, node):
        name = node.id
        if name in self.busy:
            self.met.add(name)
            return []
        if name in self.bound:
            self.busy.add(name)
            try:
                found = []
                for value in self.bound[name]:
                    found += [value] if isinstance(value, (Name, Constant)) else self.of(value)
                return found
            finally:
                self.busy.discard(name)
        if name in BUILTINS and not self.stars:
            return [Name(name)]
        found = [canonical(f"{module}.{name}") for module in self.stars]
        return found + ([Name(name)] if name in BUILTINS else [])

    def of_namedexpr(self, node):
        return self.of(node.value)

    def of_attribute(self, node):
        found = []
        for value in self.names(node.value):
            if node.attr == "__dict__":
                found.append(value)
            elif value == "importlib" and node.attr == "util":
                found.append(Name("importlib.util"))
            else:
                found.append(canonical(f"{value}.{node.attr}"))
        return found

    def of_tuple(self, node):
        items = [self.constants(item) for item in node.elts[:4096]]
        return [Constant([item[0] for item in items])] if all(items) else []

    of_list = of_tuple
    of_set = of_tuple

    def of_ifexp(self, node):
        return self.of(node.body) + self.of(node.orelse)

    def of_boolop(self, node):
        return [value for each in node.values for value in self.of(each)]

    def of_await(self, node):
        return self.of(node.value)

    def of_joinedstr(self, node):
        text = ""
        for part in node.values:
            part = part.value if isinstance(part, ast.FormattedValue) else part
            values = self.constants(part)
            if not values:
                return []
            text += str(values[0])
        return self.kept(text)

    def of_listcomp(self, node):
        if len(node.generators) != 1 or node.generators[0].ifs:
            return []
        loop = node.generators[0]
        if not isinstance(loop.target, ast.Name):
            return []
        items = [value for value in self.constants(loop.iter)
                 if isinstance(value, (list, str, bytes, range))]
        if not items or len(items[0]) > 4096:
            return []
        before = self.bound.get(loop.target.id)
        results = []
        trying, self.trying = self.trying, True
        for item in items[0]:
            self.bound[loop.target.id] = [Constant(item)]
            results.append(self.constants(node.elt)[:1])
        self.trying = trying
        if before is None:
            self.bound.pop(loop.target.id, None)
        else:
            self.bound[loop.target.id] = before
        return [Constant([each[0] for each in results])] if all(results) else []

    of_generatorexp = of_listcomp

    def of_unaryop(self, node):
        return [Constant(-value) for value in self.constants(node.operand)
                if isinstance(node.op, ast.USub) and isinstance(value, int)]

    def of_binop(self, node):
        found = []
        for left in self.constants(node.left):
            for right in self.constants(node.right):
                value = self.computed(node.op, left, right)
                if value is not None:
                    found += self.kept(value)
        return found

    @staticmethod
    def computed(operator, left, right):
        try:
            if isinstance(operator, ast.Add):
                return left + right
            if isinstance(operator, ast.Mod) and isinstance(left, str) and len(left) < 4096:
                return left % (tuple(right) if isinstance(right, list) else right) \
                    if "*" not in left and not any(digit in left for digit in "0123456789") else None
            if isinstance(left, int) and isinstance(right, int):
                if isinstance(operator, ast.Sub):
                    return left - right
                if isinstance(operator, ast.BitXor):
                    return left ^ right
                if isinstance(operator, ast.Mult) and left.bit_length() + right.bit_length() < 64:
                    return left * right
            if isinstance(operator, ast.Mult) and isinstance(left, str) and 0 < right < 1000:
                return left * right if len(left) < 256 else None
        except (TypeError, ValueError, KeyError):
            pass
        return None

    @staticmethod
    def kept(value):
        return [] if isinstance(value, (str, bytes, list)) and len(value) > MOST_TEXT \
            else [Constant(value)]

    def of_subscript(self, node):
        found = []
        for name in self.names(node.value):
            base = {"globals()": "", "locals()": "", "vars()": "", "__builtins__": "",
                    "builtins": "", "sys.modules": ""}.get(name)
            for key in self.texts(node.slice):
                if base is None:
                    found.append(canonical(f"{name}.{key}"))
                elif key in self.bound:
                    found += [value for value in self.bound[key] if isinstance(value, Name)]
                else:
                    found.append(canonical(key))
        for value in self.constants(node.value):
            found += self.item(value, node.slice)
        if isinstance(node.value, ast.Dict):
            for key in self.constants(node.slice):
                for name, value in zip(node.value.keys, node.value.values):
                    if name is not None and key in self.constants(name):
                        found += self.of(value)
        if isinstance(node.value, (ast.List, ast.Tuple)):
            for each in node.value.elts[:MOST_VALUES]:
                found += self.names(each)
        return found

    def item(self, value, index):
        try:
            if isinstance(index, ast.Slice):
                parts = [(self.constants(part) or [None])[0] if part else None
                         for part in (index.lower, index.upper, index.step)]
                return [Constant(value[slice(*parts)])]
            return [Constant(value[key]) for key in self.constants(index)[:1]]
        except (TypeError, IndexError, KeyError, ValueError):
            return []

    # Calls

    def of_call(self, node):
        found = []
        for name in self.names(node.func):
            found += self.called(str(name), node)
        if isinstance(node.func, ast.Attribute):
            for value in self.constants(node.func.value):
                found += self.method(value, node.func.attr, node)
        if isinstance(node.func, ast.Lambda) and not node.args:
            found += self.of(node.func.body)
        return found

    def called(self, name, node):
        arguments = node.args
        if name in ("__import__", "importlib.import_module", "importlib.__import__") and arguments:
            return [canonical(text) for text in self.texts(arguments[0])]
        if name == "getattr" and len(arguments) >= 2:
            return [value for text in self.texts(arguments[1])
                    for value in self.of_attribute(ast.Attribute(arguments[0], text))]
        if name == "vars" and arguments:
            return self.names(arguments[0])
        if name in ("globals().get", "vars().get", "locals().get", "sys.modules.get",
                    "__builtins__.get", "globals().__getitem__") and arguments:
            return [canonical(text) for text in self.texts(arguments[0])]
        if name in ("operator.attrgetter", "functools.partial") and arguments:
            return self.of(arguments[0]) if name == "functools.partial" else []
        if name in ("getattr().__call__", "type") or name.endswith(".__getattribute__"):
            owner = name.rpartition(".")[0]
            return [canonical(f"{owner}.{text}") for argument in arguments[-1:]
                    for text in self.texts(argument)] if owner else []
        values = [self.constants(argument)[:1] for argument in arguments]
        if arguments and all(values):
            computed = self.known_function(name, [value[0] for value in values])
            if computed is not None:
                return self.kept(computed)
        if name == "map" and len(arguments) == 2 and "chr" in self.names(arguments[0]):
            return [Constant([chr(item) for item in value]) for value in
                    self.constants(arguments[1]) if self.characters(value)]
        return [Name(name + "()")]

    @staticmethod
    def characters(value):
        return isinstance(value, (list, bytes)) and len(value) < 65536 and \
            all(isinstance(item, int) and 0 <= item < 0x110000 for item in value)

    @staticmethod
    def known_function(name, values):
        try:
            first = values[0]
            if name == "chr":
                return chr(first)
            if name == "str":
                return str(first, *values[1:]) if isinstance(first, bytes) else str(first)
            if name in ("bytes", "bytearray") and isinstance(first, (list, str)):
                return bytes(first, *values[1:]) if isinstance(first, str) else bytes(first)
            if name in ("bytes.fromhex", "bytearray.fromhex", "binascii.unhexlify",
                        "binascii.a2b_hex"):
                return bytes.fromhex(first if isinstance(first, str) else first.decode("ascii"))
            if name in ("base64.b64decode", "base64.urlsafe_b64decode", "binascii.a2b_base64",
                        "base64.standard_b64decode", "base64.decodebytes"):
                return base64.b64decode(first, altchars=b"-_" if "urlsafe" in name else None)
            if name == "base64.b32decode":
                return base64.b32decode(first)
            if name in ("base64.b16decode", "base64.a85decode", "base64.b85decode"):
                return getattr(base64, name.partition(".")[2])(first)
            if name == "codecs.decode" and values[1] in ("rot13", "rot_13", "hex", "base64"):
                return codecs.decode(first.encode() if values[1] in ("hex", "base64") and
                                     isinstance(first, str) else first, values[1])
            if name == "urllib.parse.unquote":
                return urllib.parse.unquote(first)
            if name == "reversed" or name == "list":
                return list(reversed(first)) if name == "reversed" else list(first)
            if name in ("pathlib.Path", "Path", "os.fspath", "os.path.expanduser"):
                return first
            if name == "os.path.join" and all(isinstance(value, str) for value in values):
                return "/".join(values)
        except (TypeError, ValueError, IndexError, LookupError, AttributeError, OverflowError,
                binascii.Error):
            pass
        return None

    def method(self, value, name, node):
        arguments = [self.constants(argument)[:1] for argument in node.args]
        if name not in TEXT_METHODS or not all(arguments) or node.keywords:
            return []
        if not isinstance(value, (str, bytes)) or len(value) > 65536:
            return []
        if name == "format" and ("{" in value and any(sign in value for sign in ":.[")):
            return []
        if name in ("encode", "decode") and arguments and \
                arguments[0][0] not in ("utf-8", "utf8", "ascii", "latin-1", "latin1"):
            return []
        if name == "zfill":
            return []
        try:
            return self.kept(getattr(value, name)(*(argument[0] for argument in arguments)))
        except (TypeError, ValueError, LookupError, AttributeError):
            return []


METHODS = {kind: method for name, kind in vars(ast).items() if isinstance(kind, type)
           for method in [getattr(Values, f"of_{name.lower()}", None)] if method}
