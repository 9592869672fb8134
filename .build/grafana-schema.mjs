// Writes dashboards as TypeScript, so that tsc compares them with Grafana's types: grafana-schema.mjs TYPES FOLDER DASHBOARD...
// JSON has strings where the types have enums, so the enums become unions of their strings.
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

const [types, work, ...dashboards] = process.argv.slice(2);
cpSync(types, join(work, "types"), { recursive: true });
for (const name of readdirSync(join(work, "types"), { recursive: true })) {
  if (!name.endsWith(".d.ts")) continue;
  const file = join(work, "types", name);
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace(/export declare enum (\w+) \{([^}]*)\}/g, (_, enumeration, body) => {
    const values = [...body.replace(/\/\*[^]*?\*\//g, "").matchAll(/=\s*("[^"]*"|'[^']*'|-?\d+)/g)].map((match) => match[1]);
    return `export type ${enumeration} = ${values.join(" | ")};`;
  }));
}
/** The folder of the types of a kind of panel. */
const OPTIONS = { timeseries: "timeseries", stat: "stat", table: "table" };
let code = 'import type * as raw from "./types/raw/dashboard/x/types.gen";\n';
for (const kind of Object.values(OPTIONS)) code += `import type * as ${kind} from "./types/raw/composable/${kind}/panelcfg/x/types.gen";\n`;
dashboards.forEach((file, i) => {
  const dashboard = JSON.parse(readFileSync(file, "utf8"));
  const { panels, ...rest } = dashboard;
  code += `// ${basename(file)}\nconst rest${i}: raw.Dashboard = ${JSON.stringify(rest)};\n`;
  panels.forEach((panel, j) => {
    const type = panel.type === "row" ? "raw.RowPanel" : "raw.Panel";
    code += `const panel${i}_${j}: ${type} = ${JSON.stringify(panel)};\n`;
    const kind = OPTIONS[panel.type];
    if (panel.type !== "row" && !kind) throw new Error(`${basename(file)}: no schema is checked for panels of type ${panel.type}`);
    if (kind) code += `const options${i}_${j}: Partial<${kind}.Options> = ${JSON.stringify(panel.options)};\n`;
    const custom = panel.fieldConfig?.defaults?.custom;
    if (kind && kind !== "stat" && custom) code += `const custom${i}_${j}: Partial<${kind}.FieldConfig> = ${JSON.stringify(custom)};\n`;
  });
});
writeFileSync(join(work, "dashboards.ts"), code);
const compilerOptions = {
  strict: true, noEmit: true, module: "esnext", moduleResolution: "bundler", target: "es2022", skipLibCheck: true,
  paths: { "@grafana/schema": ["./types/index.d.ts"] },
};
writeFileSync(join(work, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["dashboards.ts"] }));
