# SPDX-License-Identifier: Apache-2.0
"""Runs unittest and records which public calls of E2B's SDK have returned, without touching the SDK.

recorded.py --surface             # prints every public call of the SDK, by reflection
recorded.py FILE [unittest's …]   # adds the names of those that returned to FILE
"""
import dis
import enum
import importlib
import inspect
import sys
import threading
import typing
import unittest

MODULES = ("e2b", "e2b_code_interpreter")
RETURNS = {dis.opmap[name] for name in ("RETURN_VALUE", "RETURN_CONST") if name in dis.opmap}
OF_CLASS = " (of the class)"
# Not calls: what is raised, and values that are a dict, a text or a name.
VALUES = (BaseException, dict, str, bytes, enum.Enum)


def is_of_sdk(thing):
    return getattr(thing, "__module__", "").split(".")[0] in MODULES


def exported():
    for module in map(importlib.import_module, MODULES):
        yield from (thing for name, thing in vars(module).items() if not name.startswith("_"))


def functions_of(owner, name):
    """The functions behind one public name of a class, with what distinguishes them. A call of E2B's
    may be two: of an object, and of the class with an id."""
    found = inspect.getattr_static(owner, name)
    if isinstance(found, property):
        yield "", found.fget
    elif of_class := getattr(found, "class_method_name", None):
        yield "", found.method
        yield OF_CLASS, getattr(owner, of_class)
    elif of_class := getattr(found, "_static_fn", None):
        yield "", found._instance_fn
        yield OF_CLASS, of_class.__func__
    elif isinstance(found, (classmethod, staticmethod)):
        yield "", found.__func__
    elif inspect.isfunction(found):
        yield "", found
    elif is_of_sdk(found) and not inspect.isclass(found):
        sys.exit(f"{owner.__name__}.{name}: what is a {type(found).__name__}?")


def name_of(owner):
    """The two kinds of clients have classes of the same name."""
    waits = "_async" in owner.__module__ and not owner.__name__.startswith("Async")
    return "Async" * waits + owner.__name__


def classes_in(annotation):
    if inspect.isclass(annotation):
        yield annotation
    for part in typing.get_args(annotation):
        yield from classes_in(part)


def classes_returned(function):
    try:
        return classes_in(typing.get_type_hints(function).get("return"))
    except (NameError, TypeError):  # An annotation for type checkers alone.
        return ()


def surface():
    """Code object -> names of the public calls that it is."""
    calls, classes = {}, []

    def add(name, function):
        calls.setdefault(inspect.unwrap(function).__code__, set()).add(name)
        classes.extend(classes_returned(function))

    for thing in exported():
        if inspect.isfunction(thing):
            add(thing.__name__, thing)
        elif inspect.isclass(thing):
            classes.append(thing)
    seen = set()
    while classes:  # It grows: what a call returns has calls, too.
        owner = classes.pop()
        if owner in seen or not is_of_sdk(owner) or issubclass(owner, VALUES):
            continue
        seen.add(owner)
        for name in dir(owner):
            if not name.startswith("_"):
                for which, function in functions_of(owner, name):
                    if is_of_sdk(function):
                        add(f"{name_of(owner)}.{name}{which}", function)
    return calls


def names_of(calls):
    return sorted(set().union(*calls.values()))


def main():
    calls = surface()
    if sys.argv[1:] == ["--surface"]:
        print("\n".join(names_of(calls)))
        return
    returned = {}

    def profile(frame, event, _):
        # A function that raises has another last instruction; so has a coroutine that waits.
        if (event == "return" and frame.f_code in calls
                and frame.f_code.co_code[frame.f_lasti] in RETURNS):
            returned[frame.f_code] = calls[frame.f_code]

    threading.setprofile(profile)
    sys.setprofile(profile)
    file = sys.argv.pop(1)
    result = unittest.main(module=None, exit=False).result
    sys.setprofile(None)
    with open(file, "a", encoding="utf-8") as out:
        out.writelines(f"{name}\n" for name in names_of(returned or {None: set()}))
    sys.exit(not result.wasSuccessful())


if __name__ == "__main__":
    main()
