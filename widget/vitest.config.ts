import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      { test: { name: "unit", include: ["tests/unit/*.test.ts"] } },
      {
        test: {
          name: "browser",
          include: ["tests/browser/*.test.ts"],
          testTimeout: 30_000,
          hookTimeout: 60_000,
          // Time limits are what is tested: two browsers at once would stretch them.
          fileParallelism: false,
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
