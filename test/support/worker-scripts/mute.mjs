// An audio worker that starts and never says so.

setInterval(() => undefined, 60_000);
