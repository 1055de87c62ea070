// Real time passing, for tools of the lab that face real nodes and processes. What runs on a passed-in clock waits with
// src/lib/pause.ts instead.

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
