import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildPage, PAGE_FILES } from '../build-page.ts';
import type { PageFiles } from './page-server.ts';

/** Returns script and style: the files beside the built program, or from the sources a build in memory. */
export async function pageFiles(): Promise<PageFiles> {
  const script = join(import.meta.dirname, PAGE_FILES.script);
  if (!existsSync(script)) return buildPage({ minify: false });
  const style = join(import.meta.dirname, PAGE_FILES.style);
  return { script: await readFile(script, 'utf8'), style: await readFile(style, 'utf8') };
}
