/** For so many milliseconds a lost connection is not mentioned: most answers are taken up sooner. */
export const QUIET_MS = 1_500;
