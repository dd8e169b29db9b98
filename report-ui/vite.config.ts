// The build: one HTML file with its script and its style inside, and their hashes in its
// Content-Security-Policy.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

/** Base64 of SHA-256, as a Content-Security-Policy wants it. */
function hash(text: string): string {
  return `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;
}

/** The repository's rules for text: no tab, nothing at the end of a line. */
function tidied(text: string): string {
  return text.replaceAll("\t", " ").replace(/[ \r]+$/gm, "").trim();
}

/** Our own, for lack of one that also hashes: puts script and style into the page. */
function inline(): Plugin {
  return {
    name: "inline",
    enforce: "post",
    generateBundle(_, bundle) {
      const page = bundle["index.html"];
      if (page?.type !== "asset") throw new Error("there is no index.html");
      let script = "";
      let style = "";
      for (const [name, file] of Object.entries(bundle)) {
        if (file === page) continue;
        if (file.type === "chunk") script += file.code;
        else if (name.endsWith(".css")) style += String(file.source);
        else throw new Error(`\`${name}\` would not be in the page`);
        delete bundle[name];
      }
      page.source = assemble(String(page.source), tidied(script), tidied(style));
    },
  };
}

function assemble(page: string, script: string, style: string): string {
  if (/<\/script|<!--/i.test(script)) throw new Error("the script would end itself");
  const policy =
    "default-src 'none'; img-src data: blob:; base-uri 'none'; form-action 'none'; " +
    `script-src ${hash(script)}; style-src ${hash(style)}`;
  const bare = page
    .replace(/\s*<script type="module"[^>]*><\/script>/, "")
    .replace(/\s*<link rel="stylesheet"[^>]*>/, "");
  const license = readFileSync(new URL("./node_modules/uplot/LICENSE", import.meta.url), "utf8");
  // Functions, because a replacement text with a dollar sign means something else.
  const whole = bare
    .replace("__POLICY__", () => policy)
    .replace("</head>", () => `<!-- Contains uPlot, under this license:\n${license.trim()}\n-->\n<style>${style}</style>\n</head>`)
    .replace("</body>", () => `<script>${script}</script>\n</body>`);
  const left = whole.split("__STAMPEDE_DATA__").length - 1;
  if (left !== 1) throw new Error(`the placeholder is there ${left} times, not once`);
  return whole.replace(/[ \t\r]+$/gm, "").trimEnd() + "\n";
}

export default defineConfig({
  base: "./",
  plugins: [inline()],
  build: {
    target: ["es2020", "chrome90", "firefox90", "safari15"],
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
    rollupOptions: { output: { format: "iife", inlineDynamicImports: true } },
  },
});
