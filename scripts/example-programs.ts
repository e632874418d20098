// Examples of the documents, which are TypeScript, as programs that Node runs.
import { transformSync } from 'esbuild';

/** As an ES module. */
export function asModule(code: string): string {
  return transformSync(code, { loader: 'ts', target: 'es2022' }).code;
}

/** With `require` in place of `import`. */
export function asScript(code: string): string {
  const body = asModule(code)
    .replace(/^import \* as (\w+) from (".*");$/gm, 'const $1 = require($2);')
    .replace(/^import (\{[^}]*\}) from (".*");$/gm, (_, names: string, from: string) => {
      return `const ${names.replaceAll(' as ', ': ')} = require(${from});`;
    })
    .replace(/^import (".*");$/gm, 'require($1);');
  return `(async () => {\n${body}})();\n`;
}
