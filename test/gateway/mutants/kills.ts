import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const FILE = join(import.meta.dirname, 'kills.json');

/** A test that fails with a mutant and passes without it. */
const failing = z.strictObject({ file: z.string(), name: z.string() });
export type Failing = z.infer<typeof failing>;

/** Tests that kill a mutant: a unit test, and a test with a real Envoy. */
const kill = z.strictObject({ unit: failing.optional(), envoy: failing.optional() });
export type Kill = z.infer<typeof kill>;

const kills = z.record(z.string(), kill);

/** Returns the known kills by mutant name. */
export function readKills(): ReadonlyMap<string, Kill> {
  return new Map(Object.entries(kills.parse(JSON.parse(readFileSync(FILE, 'utf8')))));
}

export function writeKills(known: ReadonlyMap<string, Kill>): void {
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(known), undefined, 2)}\n`);
}
