# SPDX-License-Identifier: Apache-2.0
"""Cases, as people write them."""

from __future__ import annotations

from typing import List, Sequence, Tuple, Union

from ._generated.requests import JudgeCase


def cases_of(cases: Sequence[Union[JudgeCase, Tuple[str, str]]]) -> List[JudgeCase]:
    return [
        case if isinstance(case, JudgeCase) else JudgeCase(input=case[0], expected=case[1])
        for case in cases
    ]
