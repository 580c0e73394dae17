import { join } from 'node:path';

const folder = join(import.meta.dirname, 'page');

/** Files of the built page, beside the program. */
export const PAGE_FILES = { script: 'gpu-rent-ui.js', style: 'gpu-rent-ui.css' } as const;

/** The built page. */
export interface BuiltPage {
  readonly script: string;
  readonly style: string;
  /** Paths of the files that the script contains a part of. */
  readonly inputs: readonly string[];
}

/**
 * Builds script and style of the page. Rejects if the page imports a module of Node, or a part of zod, that has no
 * replacement in the browser.
 */
export async function buildPage(options: { readonly minify: boolean }): Promise<BuiltPage> {
  const { build } = await import('esbuild');
  const { outputFiles, metafile, warnings } = await build({
    entryPoints: { app: join(folder, 'main.tsx'), style: join(folder, 'page.css') },
    outdir: join(folder, 'built'),
    absWorkingDir: join(folder, '..', '..', '..'),
    bundle: true,
    minify: options.minify,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2023',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    alias: { 'node:util': join(folder, 'browser-util.ts'), zod: join(folder, 'browser-zod.ts') },
    legalComments: 'inline',
    logLevel: 'silent',
  });
  const [warning] = warnings;
  if (warning) throw new Error(`The page does not build: ${warning.text} (${warning.location?.file}).`);
  const text = (suffix: string) => outputFiles.find(({ path }) => path.endsWith(suffix))?.text ?? '';
  const outputs = Object.values(metafile.outputs);
  return {
    script: text('app.js'),
    style: text('style.css'),
    inputs: [...new Set(outputs.flatMap(({ inputs }) => Object.keys(inputs)))].sort(),
  };
}
