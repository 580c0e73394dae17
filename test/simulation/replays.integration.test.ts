import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { runSchedule } from './schedule.ts';

const FOLDER = join(import.meta.dirname, '..', 'replays');
const LIMIT_MS = 120_000;

/** A schedule that once broke a promise. */
const replay = z.strictObject({
  name: z.string(),
  found: z.string(),
  seed: z.int(),
  mode: z.enum(['all', 'sweeperOff']),
  /** Only these kinds of faults strike; all where absent. */
  kinds: z.array(z.string()).optional(),
  processes: z.int(),
  asksMemory: z.boolean().optional(),
});

const replays = readdirSync(FOLDER).map((file) =>
  replay.parse(JSON.parse(readFileSync(join(FOLDER, file), 'utf8'))),
);

describe('keeps every promise when', () => {
  test.for(replays)('$name', { timeout: LIMIT_MS }, async ({ seed, mode, kinds, processes, asksMemory }) => {
    const only = kinds && new Set(kinds);
    const { violations } = await runSchedule({
      ...{ seed, mode, processes, keepTrace: false },
      ...(only && { allow: ({ kind }) => only.has(kind) }),
      ...(asksMemory !== undefined && { asksMemory }),
    });
    expect(violations).toEqual([]);
  });
});

test('the same seed gives the same trace', { timeout: LIMIT_MS }, async () => {
  const run = () => runSchedule({ seed: 7, mode: 'all', keepTrace: false });
  const [first, second] = [await run(), await run()];
  expect(second.traceHash).toBe(first.traceHash);
  expect(second.steps).toBe(first.steps);
});
