import type { NextConfig } from "next";

// A site of static files; without this line, it needs a server and works in the same way.
const config: NextConfig = { output: "export" };

export default config;
