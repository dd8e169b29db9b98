// `npm run lock`: takes addresses of registries out of the lock file, after a dependency changed.
// npm's own option for that (omit-lockfile-registry-resolved) loses the versions of packages for
// other systems, and `npm ci` then refuses the file.

import { readFileSync, writeFileSync } from "node:fs";

const file = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(file, "utf8"));
for (const entry of Object.values(lock.packages)) delete entry.resolved;
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
