# SPDX-License-Identifier: Apache-2.0
"""The objects of the API, all of them: ``glovebox`` itself has the most usual ones."""

from ._generated.requests import *  # noqa: F401,F403
from ._generated.responses import *  # noqa: F401,F403
from ._generated.words import *  # noqa: F401,F403
