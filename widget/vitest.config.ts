import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const IS_CI = process.env.CI === "true";

const PATIENT = { testTimeout: 120_000, hookTimeout: 120_000 };

/** They take long, and one of them alone at the end would leave the other processors idle. */
const FIRST = ["package", "axe", "users", "connection", "build", "conversation"].map(
  (name) => `/${name}.test.ts`,
);

class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) =>
      FIRST.some((name) => moduleId.endsWith(name));
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  test: {
    // The verbose one names the tests that passed only at the second attempt.
    reporters: IS_CI ? ["verbose"] : ["default"],
    sequence: { sequencer: LongFilesFirst },
    tags: [
      {
        name: "slow",
        description: "takes seconds of processor time, or varies a test: CI alone runs it",
      },
    ],
    projects: [
      {
        test: {
          name: "unit",
          include: ["tests/unit/*.test.ts"],
          testTimeout: 60_000,
          // Vitest leaves one processor idle by default: of two, half.
          maxWorkers: "100%",
          isolate: false,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: "browser",
          include: ["tests/browser/*.test.ts"],
          ...PATIENT,
          // CI's machine is often busy.
          retry: IS_CI ? 1 : 0,
          maxWorkers: 4,
          // A process per worker, not per file: each one imports Playwright and starts a browser.
          isolate: false,
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
