import { defineConfig } from "vitest/config";

const TIMED = ["connection", "kept", "sessions"].map((name) => `tests/browser/${name}.test.ts`);
const PATIENT = { testTimeout: 30_000, hookTimeout: 60_000 };

export default defineConfig({
  test: {
    projects: [
      { test: { name: "unit", include: ["tests/unit/*.test.ts"] } },
      {
        test: {
          name: "browser",
          include: ["tests/browser/*.test.ts"],
          exclude: TIMED,
          ...PATIENT,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "browser-alone",
          include: TIMED,
          ...PATIENT,
          // Time limits are what is tested: two browsers at once would stretch them.
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: "shots",
          include: ["tests/browser/shots.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
