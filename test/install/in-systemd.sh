#!/usr/bin/env bash
# Run by boot-systemd.sh in a systemd of its own, as root: what docs/how-to/install.md says, then the unit's life. Prints
# one fact a line, which systemd.test.ts reads.

cp /shared/node /usr/local/bin/node
cp --recursive --no-dereference /shared/prefix/. /usr/local/
useradd --system --user-group --home-dir /var/lib/tonearm --shell /usr/sbin/nologin tonearm
install --directory --mode=750 --group=tonearm /etc/tonearm
printf 'lavalink.server.password: nobody guesses it\n' >/etc/tonearm/tonearm.yml
chgrp tonearm /etc/tonearm/tonearm.yml
chmod 640 /etc/tonearm/tonearm.yml
cp /usr/local/lib/node_modules/tonearm/deploy/systemd/tonearm.service /etc/systemd/system/
# On SIGUSR2 its main thread hangs, and waits for nothing but its end.
mkdir /etc/systemd/system/tonearm.service.d
cat >/etc/systemd/system/tonearm.service.d/hang.conf <<'UNIT'
[Service]
WatchdogSec=10
Environment="NODE_OPTIONS=--import=data:text/javascript,process.on('SIGUSR2',()=>Atomics.wait(new(Int32Array)(new(SharedArrayBuffer)(4)),0,0))"
UNIT
# The demo within the same walls.
sed -e 's/^Type=.*/Type=oneshot/; /^Watchdog/d; /^Restart/d' \
  -e 's#^ExecStart=.*#ExecStart=/usr/bin/env tonearm demo /srv/tone.wav --out /var/lib/tonearm/heard.wav#' \
  /etc/systemd/system/tonearm.service >/etc/systemd/system/demo.service
install --mode=644 /shared/tone.wav /srv/tone.wav
systemctl daemon-reload

show() { systemctl show --property "$1" --value tonearm; }

systemctl start demo && echo "demo heard $(stat --format=%s /var/lib/tonearm/heard.wav)"
systemctl start tonearm && echo "started"
echo "status $(show StatusText)"
echo "answers $(node -e 'fetch("http://127.0.0.1:2333/version").then((answer) => console.log(answer.status))')"
first=$(show MainPID)
echo "capabilities $(sed -n 's/^CapBnd:\t//p' "/proc/$first/status")"
kill -USR2 "$first"
until [ "$(show NRestarts)" != 0 ] && [ "$(show ActiveState)" = active ]; do sleep 0.2; done
[ "$(show MainPID)" != "$first" ] && echo "restarted"
systemctl stop tonearm
echo "stopped $(show Result) $(show ActiveState)"
journalctl --unit tonearm --output cat --no-pager
