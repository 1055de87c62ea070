// An audio worker that cannot start.

throw new Error("broken on purpose");
