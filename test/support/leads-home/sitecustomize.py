"""Does for Python what lead-home.mjs does for Node.js: on PYTHONPATH, it is loaded by itself. pip is let through."""

import json
import os
import socket
import sys
import threading

ports = json.loads(os.environ.get("LEAD_HOME", "{}"))
look_up = socket.getaddrinfo
connect = socket.socket.connect


def look_up_home(host, port, *args, **options):
    name = host.decode() if isinstance(host, bytes) else host
    home = ports.get(f"{name}:{port}")
    if home is not None:
        return look_up("127.0.0.1", home, *args, **options)
    if name not in ("127.0.0.1", "localhost", "::1", None):
        raise socket.gaierror(socket.EAI_NONAME, f"a test must not reach {name}:{port}")
    return look_up(host, port, *args, **options)


def connect_home(self, address):
    if self.family in (socket.AF_INET, socket.AF_INET6):
        host, port = address[:2]
        if not host.startswith("127.") and host != "::1":
            raise ConnectionRefusedError(f"a test must not reach {host}:{port}")
        home = ports.get(f"{host}:{port}")
        address = address if home is None else (host, home)
    return connect(self, address)


def end_with_input():
    while os.read(0, 1):
        pass
    os._exit(0)


if not any(os.path.basename(word).startswith("pip") for word in sys.orig_argv[:3]):
    os.environ["SSL_CERT_FILE"] = os.environ["LEAD_HOME_CERTIFICATE"]
    socket.getaddrinfo = look_up_home
    socket.socket.connect = connect_home
    threading.Thread(target=end_with_input, daemon=True).start()
