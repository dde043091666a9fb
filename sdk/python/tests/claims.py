# SPDX-License-Identifier: Apache-2.0
"""How a row of the table says what it claims."""

import contextlib


def same(found, wanted):
    if found != wanted:
        raise AssertionError(f"{found!r} is not {wanted!r}")


def holds(value, what=""):
    if not value:
        raise AssertionError(f"not true: {value!r} {what}")


def within(part, whole):
    if part not in whole:
        raise AssertionError(f"{part!r} is not in {whole!r}")


class Caught:
    error = None


@contextlib.contextmanager
def raises(kind):
    """Claims that the block raises an error of just this kind; it is in `error` afterwards."""
    caught = Caught()
    try:
        yield caught
    except kind as error:
        if type(error) is not kind:
            raise AssertionError(f"raised {type(error).__name__}, not {kind.__name__}") from error
        caught.error = error
    else:
        raise AssertionError(f"did not raise {kind.__name__}")
