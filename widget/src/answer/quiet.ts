/** Milliseconds before a lost connection is shown: most answers are resumed sooner. */
export const QUIET_MS = 1_500;
