// How long machines wait before they ask each other again.

/** What could not be done is tried again after that time, doubled with each time. */
export const RETRY_MS_MIN = 100;
export const RETRY_MS_MAX = 2000;
