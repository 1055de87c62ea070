// The error of a program of the lab whose user has to do something first. Lab only.

/** Says what is missing and what to do; `main.ts` prints it in one line, without a stack, and ends with status 2. */
export class CannotRun extends Error {}
