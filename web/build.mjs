// Builds the page: `node build.mjs [folder]`, by default into the Python package; `node build.mjs --tests` bundles the tests for node.
//
// The rule of this file: the same sources give the same bytes on every machine, so that the committed files can be checked against a fresh build.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));

// Of the markdown parser the lexer alone is used; what it has behind that (renderers to HTML) has side effects, so nobody else leaves it out.
const lexerAlone = {
  name: "lexer-alone",
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]marked\.esm\.js$/ }, ({ path }) => {
      const source = readFileSync(path, "utf8");
      const end = source.search(/var [\w$]+=class\{options;parser;/);
      const name = /([\w$]+) as Lexer\b/.exec(source)?.[1];
      if (end < 0 || !name) throw new Error("marked looks different: see whether the renderers can be left out in another way");
      return { contents: `${source.slice(0, end)}\nexport { ${name} as Lexer };` };
    });
  },
};
const common = { plugins: [lexerAlone], absWorkingDir: here, bundle: true, logLevel: "warning", jsx: "automatic", jsxImportSource: "preact" };

async function buildTests() {
  const folder = join(here, ".test");
  rmSync(folder, { recursive: true, force: true });
  const entryPoints = readdirSync(join(here, "test")).filter((name) => name.endsWith(".test.ts")).map((name) => `test/${name}`);
  await build({ ...common, entryPoints, outdir: ".test", platform: "node", format: "esm", outExtension: { ".js": ".mjs" }, sourcemap: "inline" });
}

async function bundled(entry, options) {
  const result = await build({
    ...common, ...options, entryPoints: [entry], write: false, minify: true, target: ["es2022", "chrome123", "firefox121", "safari17.5"],
    legalComments: "none", charset: "utf8", loader: { ".svg": "text" },
  });
  return Buffer.from(result.outputFiles[0].contents);
}

// The licences of what is bundled go along with it.
function licences() {
  const texts = ["preact", "marked"].map((name) => {
    const file = readdirSync(join(here, "node_modules", name)).find((one) => /^licen[cs]e/i.test(one));
    return `${name}\n${"=".repeat(name.length)}\n\n${readFileSync(join(here, "node_modules", name, file), "utf8").trim()}\n`;
  });
  return Buffer.from(texts.join("\n\n"));
}

async function buildPage(folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "assets"), { recursive: true });
  let packed = 0;
  const put = (stem, ending, content, counts = true) => {
    const name = `${stem}-${createHash("sha256").update(content).digest("hex").slice(0, 10)}.${ending}`;
    writeFileSync(join(folder, "assets", name), content);
    const size = gzipSync(content, { level: 9 }).length;
    packed += counts ? size : 0;
    console.log(`assets/${name}  ${content.length} bytes, ${size} gzipped`);
    return name;
  };
  const names = {
    STYLE: put("page", "css", await bundled("src/styles/page.css", {})),
    THEME: put("theme", "js", await bundled("src/theme_first.ts", { format: "iife" })),
    SCRIPT: put("page", "js", await bundled("src/main.tsx", { format: "esm" })),
    ICON: put("icon", "svg", readFileSync(join(here, "src/icon.svg")), false),
  };
  writeFileSync(join(folder, "assets", "licences.txt"), licences());
  const html = readFileSync(join(here, "src/index.html"), "utf8").replace(/\{\{(\w+)\}\}/g, (_, name) => `assets/${names[name]}`);
  writeFileSync(join(folder, "index.html"), html);
  console.log(`JavaScript and CSS in all: ${packed} bytes gzipped`);
}

if (process.argv[2] === "--tests") await buildTests();
else await buildPage(process.argv[2] ?? join(here, "../src/headrace/server/page"));
