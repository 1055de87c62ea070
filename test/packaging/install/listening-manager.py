"""Stands for systemd at the other end of NOTIFY_SOCKET: prints what arrives, a line each. Once a process id comes on
standard input, that process is watched: when nothing arrives for WATCHDOG seconds it is ended as systemd does.

Usage: listening-manager.py SOCKET WATCHDOG
"""

import os
import select
import signal
import socket
import sys

path, watchdog_s = sys.argv[1], float(sys.argv[2])
words = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
words.bind(path)
print("bound", flush=True)
watched = None
while True:
    readable, _, _ = select.select([words, sys.stdin], [], [], None if watched is None else watchdog_s)
    if not readable:
        os.kill(watched, signal.SIGABRT)
        print("killed", flush=True)
        break
    if words in readable:
        word = words.recv(4096).decode()
        # `systemd-notify` waits until the descriptor that comes with this is closed, as it is by not being taken.
        if word != "BARRIER=1":
            print(word, flush=True)
    if sys.stdin in readable:
        line = sys.stdin.readline()
        if line == "":
            break
        watched = int(line)
