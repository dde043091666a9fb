# SPDX-License-Identifier: Apache-2.0
"""What the scripted models of several frameworks call: a chart made from a file."""

CALLS = [
    ("write_file", {"path": "sales.csv", "content": "jan,3\nfeb,5\n"}),
    ("run_code", {"code": "rows = [line.split(',') for line in open('sales.csv')]"}),
    ("run_code", {"code": "import matplotlib; matplotlib.use('Agg')\n"
                          "import matplotlib.pyplot as plt\n"
                          "plt.bar([r[0] for r in rows], [int(r[1]) for r in rows])\n"
                          "plt.savefig('chart.png')"}),
    ("run_command", {"command": "head -c 4 chart.png | tail -c 3"}),
]
ANSWER = "PNG"


async def is_drawn(sandbox):
    return (await sandbox.files.read("chart.png")).startswith(b"\x89PNG")
