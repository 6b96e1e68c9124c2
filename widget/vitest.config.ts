import { defineConfig } from "vitest/config";

const PATIENT = { testTimeout: 120_000, hookTimeout: 120_000 };

export default defineConfig({
  test: {
    projects: [
      { test: { name: "unit", include: ["tests/unit/*.test.ts"], testTimeout: 60_000 } },
      {
        test: {
          name: "browser",
          include: ["tests/browser/*.test.ts"],
          ...PATIENT,
          maxWorkers: 4,
          sequence: { groupOrder: 1 },
        },
      },
      { test: { name: "webkit", include: ["tests/webkit/*.test.ts"], ...PATIENT } },
      {
        test: {
          name: "shots",
          include: ["tests/browser/shots*.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
