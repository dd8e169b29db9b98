// `npm run samples [DIRECTORY]`: writes the sample pages, to look at them.

import { fileURLToPath } from "node:url";
import { writeSamples } from "./samples.ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const directory = process.argv[2] ?? here("samples");
const names = writeSamples(here("../dist/index.html"), directory);
console.log(`${names.length} samples: ${directory}`);
