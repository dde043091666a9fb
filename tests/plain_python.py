# SPDX-License-Identifier: Apache-2.0
"""A configuration in which warm interpreters of Python import nothing.

As it is shipped, numpy, pandas and matplotlib are imported for each kind of sandbox at every start:
7 s of a processor, which most daemons of tests do not live long enough to use."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent


def configure_plain_python(config):
    """Writes it below `config`, for $XDG_CONFIG_HOME. Returns `config` as text."""
    languages = pathlib.Path(config) / "glovebox/languages"
    languages.mkdir(parents=True, exist_ok=True)
    shipped = (ROOT / "languages/python.toml").read_text(encoding="utf-8")
    plain, changed = re.subn(r"^preload = .*$", "preload = []", shipped, flags=re.MULTILINE)
    assert changed == 1, "languages/python.toml preloads nothing, or otherwise"
    (languages / "python.toml").write_text(plain, encoding="utf-8")
    return str(config)
