// The end times, in milliseconds, at which a player of fragile-audio.ts takes its audio worker down, by how it does.

export const DEADLY_END_TIMES = { exit: 86_400_001, loop: 86_400_002, heap: 86_400_003 } as const;
