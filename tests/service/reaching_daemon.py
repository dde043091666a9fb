# SPDX-License-Identifier: Apache-2.0
"""A daemon whose sandboxes reach servers of a test's own, by names and with certificates that only
this daemon knows."""

import os
import socket
from unittest import mock

from daemon import Daemon
from network import NO_PROXY, NameServer  # tests/attacks


def start_reaching(case, authority, hosts, others=(), options=(), wrapper=()):
    """For the tests of a class: each of `hosts` is this machine, and `others` are what they are."""
    names = NameServer({host: [["127.0.0.1"]] for host in hosts}
                       | {host: [[socket.gethostbyname(host)]] for host in others})
    case.addClassCleanup(names.close)
    daemon = Daemon()
    case.addClassCleanup(daemon.discard)
    daemon.options = ["--network", "any", *options]
    daemon.wrapper = wrapper
    with mock.patch.dict(os.environ, NO_PROXY | {
            "GLOVEBOX_NAME_SERVERS": names.address,
            "SSL_CERT_FILE": str(authority.certificate)}):
        daemon.start()
    return daemon
