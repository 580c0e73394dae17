import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';

const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const published = z.object({
  image: z.object({ digest }),
  charts: z.array(z.object({ name: z.string(), archive: z.string(), digest })),
});

/** Published parts of a release so far; later steps read them instead of a tag, which may move. */
export type Published = z.output<typeof published>;

/** Files that the steps of a release make, below the repository. */
export const RELEASE_FOLDER = join('dist', 'release');
const RECORD = join(RELEASE_FOLDER, 'published.json');

export function writePublished(repository: string, record: Published): void {
  mkdirSync(join(repository, RELEASE_FOLDER), { recursive: true });
  writeFileSync(join(repository, RECORD), `${JSON.stringify(record, undefined, 2)}\n`);
}

/** Throws if no image was published from this folder. */
export function readPublished(repository: string): Published {
  let text: string;
  try {
    text = readFileSync(join(repository, RECORD), 'utf8');
  } catch {
    throw new Error(`${RECORD} is missing: run \`npm run release -- image\` before this step`);
  }
  return published.parse(JSON.parse(text));
}
