// Makes the page's files: build.mjs FOLDER. Names have a hash of the content, so that browsers may keep them for ever.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const out = process.argv[2];
mkdirSync(out, { recursive: true });
const { outputFiles } = await build({
  entryPoints: { app: "src/app.tsx", style: "src/style.css" },
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  jsx: "automatic",
  jsxImportSource: "preact",
  outdir: "unused",
  legalComments: "none",
  write: false,
});

function write(name, content) {
  writeFileSync(join(out, name), content);
  // Level and header are fixed: the same sources make the same bytes.
  writeFileSync(join(out, `${name}.gz`), gzipSync(content, { level: 9 }));
}

// A jar cannot be listed: the extender reads which files there are.
const names = ["index.html"];
let page = readFileSync("src/index.html", "utf8");
for (const { path, contents } of outputFiles) {
  const kind = path.endsWith(".css") ? "css" : "js";
  const hash = createHash("sha256").update(contents).digest("hex").slice(0, 12);
  const name = `app-${hash}.${kind}`;
  write(name, contents);
  names.push(name);
  page = page.replace(`"app.${kind}"`, `"${name}"`);
}
write("index.html", page);
// Not served, but in the jar with the code that it is about.
const bundled = ["preact", "@preact/signals", "@preact/signals-core", "uplot"];
const licenses = bundled.map((name) => `${name}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8")}`);
writeFileSync(join(out, "licenses.txt"), licenses.join("\n"));
writeFileSync(join(out, "files.txt"), `${names.join("\n")}\n`);
