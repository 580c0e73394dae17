import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const FOLDER = join(import.meta.dirname, '..', 'replays');

/**
 * A bug that a schedule once found. It is replayed as a story: a seed draws other faults as soon as anything new can
 * strike, and then holds nothing any more.
 */
const replay = z.strictObject({
  name: z.string(),
  found: z.string(),
  /** The name of the story that shows it. */
  story: z.string(),
  /** Patch that removes the fix. */
  without: z.strictObject({ file: z.string(), find: z.string(), replace: z.string() }),
});

/** Returns all replays. Throws if a file is not a replay. */
export function readReplays(): readonly z.infer<typeof replay>[] {
  return readdirSync(FOLDER).map((file) =>
    replay.parse(JSON.parse(readFileSync(join(FOLDER, file), 'utf8'))),
  );
}
