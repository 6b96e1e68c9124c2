/** Builds the examples of the npm package as their developers would, and serves the results. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const EXAMPLES = new URL("../examples/", import.meta.url);
const QUIET = ["--no-save", "--offline", "--ignore-scripts", "--no-audit", "--no-fund"];

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".txt": "text/plain; charset=utf-8",
};

/** Whether `make parts` has installed the packages of the examples. */
export const ARE_INSTALLED = existsSync(new URL("node_modules/.ready", EXAMPLES));

/** Packs the npm package, and installs it into the examples. */
export async function installPackage(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "kefu-chat-"));
  await run("../npm", ["pack", "--silent", "--pack-destination", folder]);
  const [packed = ""] = await readdir(folder);
  await run(".", ["install", ...QUIET, join(folder, packed)]);
  await rm(folder, { recursive: true });
}

/** Builds the example with Vite, and serves it. In development React runs effects twice. */
export async function viteExample(apiUrl: string): Promise<Hosted> {
  const inDevelopment = { NODE_ENV: "development", VITE_CHAT_URL: apiUrl };
  await run("vite", ["run", "build", "--", "--mode", "development"], inDevelopment);
  return hosted("vite/dist");
}

/** Builds the example with Next.js for visitors, and serves it. */
export async function nextExample(apiUrl: string): Promise<Hosted> {
  const forVisitors = { NODE_ENV: "production", NEXT_PUBLIC_CHAT_URL: apiUrl };
  await run("next", ["run", "build"], { ...forVisitors, NEXT_TELEMETRY_DISABLED: "1" });
  return hosted("next/out");
}

/** Runs npm in a folder. If it fails, its output is in the error. */
async function run(
  folder: string,
  command: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<void> {
  const cwd = fileURLToPath(new URL(folder, EXAMPLES));
  const env = { ...process.env, ...variables } as NodeJS.ProcessEnv;
  try {
    await promisify(execFile)("npm", command, { cwd, env });
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`npm ${command.join(" ")}\n${stdout}\n${stderr}`, { cause: error });
  }
}

export type Hosted = Server & { readonly origin: string };

/** A web server for the files of a folder of the examples, as a host of static sites has it. */
async function hosted(folder: string): Promise<Hosted> {
  const root = new URL(`${folder}/`, EXAMPLES);
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://site");
    const path = pathname.endsWith("/") ? `${pathname}index.html` : pathname;
    const file = extname(path) ? path : `${path}.html`;
    const content = await readFile(new URL(`.${file}`, root)).catch(() => undefined);
    const type = TYPES[extname(file)] ?? "application/octet-stream";
    response.writeHead(content ? 200 : 404, { "Content-Type": type }).end(content);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(server, { origin: `http://127.0.0.1:${port}` });
}
