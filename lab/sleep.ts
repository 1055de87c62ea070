// Waits in real time, for tools of the lab that work with real nodes and processes. Code that runs on a passed-in clock
// waits with src/lib/pause.ts instead.

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
