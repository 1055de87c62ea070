"""Replaces systemd at the other end of NOTIFY_SOCKET: prints each message on a line. Once a process id arrives on
standard input, that process is watched: when no message arrives for WATCHDOG seconds it is killed as systemd does.

Usage: listening-manager.py SOCKET WATCHDOG
"""

import os
import select
import signal
import socket
import sys

path, watchdog_s = sys.argv[1], float(sys.argv[2])
messages = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
messages.bind(path)
print("bound", flush=True)
watched = None
while True:
    readable, _, _ = select.select([messages, sys.stdin], [], [], None if watched is None else watchdog_s)
    if not readable:
        os.kill(watched, signal.SIGABRT)
        print("killed", flush=True)
        break
    if messages in readable:
        message = messages.recv(4096).decode()
        # `systemd-notify` waits until the descriptor sent with this is closed; not receiving it closes it.
        if message != "BARRIER=1":
            print(message, flush=True)
    if sys.stdin in readable:
        line = sys.stdin.readline()
        if line == "":
            break
        watched = int(line)
