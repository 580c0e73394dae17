import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const CONTAINERFILE = join(import.meta.dirname, '..', '..', 'Containerfile');

/** What the image sets for the operator, so that a bench measures the process as it is shipped. */
export function imageEnvironment(): Readonly<Record<string, string>> {
  const lines = readFileSync(CONTAINERFILE, 'utf8').matchAll(/^ENV (\w+)=(\S+)$/gm);
  return Object.fromEntries([...lines].map(([, name = '', value = '']) => [name, value]));
}
