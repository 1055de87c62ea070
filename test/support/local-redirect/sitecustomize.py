"""The same as redirect.mjs, for Python: loaded automatically from PYTHONPATH. pip is permitted."""

import json
import os
import socket
import sys
import threading

ports = json.loads(os.environ.get("REDIRECTED_PORTS", "{}"))
resolve = socket.getaddrinfo
connect = socket.socket.connect


def resolve_locally(host, port, *args, **options):
    name = host.decode() if isinstance(host, bytes) else host
    local_port = ports.get(f"{name}:{port}")
    if local_port is not None:
        return resolve("127.0.0.1", local_port, *args, **options)
    if name not in ("127.0.0.1", "localhost", "::1", None):
        raise socket.gaierror(socket.EAI_NONAME, f"a test must not reach {name}:{port}")
    return resolve(host, port, *args, **options)


def connect_locally(self, address):
    if self.family in (socket.AF_INET, socket.AF_INET6):
        host, port = address[:2]
        if not host.startswith("127.") and host != "::1":
            raise ConnectionRefusedError(f"a test must not reach {host}:{port}")
        local_port = ports.get(f"{host}:{port}")
        address = address if local_port is None else (host, local_port)
    return connect(self, address)


def end_with_input():
    while os.read(0, 1):
        pass
    os._exit(0)


if not any(os.path.basename(word).startswith("pip") for word in sys.orig_argv[:3]):
    os.environ["SSL_CERT_FILE"] = os.environ["REDIRECT_CERTIFICATE"]
    socket.getaddrinfo = resolve_locally
    socket.socket.connect = connect_locally
    threading.Thread(target=end_with_input, daemon=True).start()
