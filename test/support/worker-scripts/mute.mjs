// An audio worker that starts and never reports it.

setInterval(() => undefined, 60_000);
