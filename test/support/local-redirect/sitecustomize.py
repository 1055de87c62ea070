"""Does for Python what lead-local_port.mjs does for Node.js: on PYTHONPATH, it is loaded by itself. pip is let through."""

import json
import os
import socket
import sys
import threading

ports = json.loads(os.environ.get("REDIRECTED_PORTS", "{}"))
look_up = socket.getaddrinfo
connect = socket.socket.connect


def look_up_locally(host, port, *args, **options):
    name = host.decode() if isinstance(host, bytes) else host
    local_port = ports.get(f"{name}:{port}")
    if local_port is not None:
        return look_up("127.0.0.1", local_port, *args, **options)
    if name not in ("127.0.0.1", "localhost", "::1", None):
        raise socket.gaierror(socket.EAI_NONAME, f"a test must not reach {name}:{port}")
    return look_up(host, port, *args, **options)


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
    socket.getaddrinfo = look_up_locally
    socket.socket.connect = connect_locally
    threading.Thread(target=end_with_input, daemon=True).start()
