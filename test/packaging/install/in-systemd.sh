#!/usr/bin/env bash
# Run by boot-systemd.sh in a separate systemd, as root: the steps of docs/how-to/install.md, then the lifecycle of the unit.
# Prints one fact a line, which systemd.test.ts reads.

cp /shared/node /usr/local/bin/node
cp --recursive --no-dereference /shared/prefix/. /usr/local/
# On SIGUSR2 its main thread hangs until it is killed.
mkdir /etc/systemd/system/tonearm.service.d
cat >/etc/systemd/system/tonearm.service.d/hang.conf <<'UNIT'
[Service]
WatchdogSec=10
Environment="NODE_OPTIONS=--import=data:text/javascript,process.on('SIGUSR2',()=>Atomics.wait(new(Int32Array)(new(SharedArrayBuffer)(4)),0,0))"
UNIT
# The steps of an operator; the last one starts the node.
npm_config_prefix=/usr/local bash -e /shared/steps.sh >/dev/null && echo "started"
# The demo in the same sandbox.
sed -e 's/^Type=.*/Type=oneshot/; /^Watchdog/d; /^Restart/d' \
  -e 's#^ExecStart=.*#ExecStart=/usr/bin/env tonearm demo /srv/tone.wav --out /var/lib/tonearm/heard.wav#' \
  /etc/systemd/system/tonearm.service >/etc/systemd/system/demo.service
install --mode=644 /shared/tone.wav /srv/tone.wav
systemctl daemon-reload

show() { systemctl show --property "$1" --value tonearm; }

systemctl start demo && echo "demo recorded $(stat --format=%s /var/lib/tonearm/heard.wav)"
echo "status $(show StatusText)"
echo "answers $(node -e 'fetch("http://127.0.0.1:2333/version").then((answer) => console.log(answer.status))')"
first=$(show MainPID)
echo "capabilities $(sed -n 's/^CapBnd:\t//p' "/proc/$first/status")"
restarts=$(show NRestarts)
kill -USR2 "$first"
# Waits more than a minute for something that takes 13 s.
for _ in {1..400}; do
  [ "$(show NRestarts)" != "$restarts" ] && [ "$(show ActiveState)" = active ] && break
  sleep 0.2
done
[ "$(show MainPID)" != "$first" ] && echo "restarted"
systemctl stop tonearm
echo "stopped $(show Result) $(show ActiveState)"
# On a busy machine the journal lags behind, and does not have the last lines yet.
journalctl --sync
journalctl --unit tonearm --output cat --no-pager
