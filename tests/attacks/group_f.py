# SPDX-License-Identifier: Apache-2.0
"""That each attack of group_f.toml is made by a case, or has a reason why none makes it."""

import pathlib
import tomllib

FILE = pathlib.Path(__file__).resolve().parent / "group_f.toml"


def problems(cases):
    attacks = {int(number): attack for number, attack in tomllib.loads(FILE.read_text(encoding="utf-8")).items()}
    made = {number for case in cases for number in case.get("group_f", [])}
    found = [f"{number} ({attack['what']}): no case, and no reason" for number, attack in attacks.items()
             if number not in made and "reason" not in attack]
    found += [f"{number}: a case makes it, and there is a reason why none does" for number in sorted(made)
              if "reason" in attacks.get(number, {})]
    return found + [f"{number}: not in {FILE.name}" for number in sorted(made - attacks.keys())]
