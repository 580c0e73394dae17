import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { type Evidence, evidence } from './kill.ts';

const FILE = join(import.meta.dirname, 'kills.json');
const kills = z.record(z.string(), evidence);

/** Reads the known findings by mutant name. They are tried first, because the same seed gives the same result. */
export function readKnownKills(): ReadonlyMap<string, Evidence> {
  return new Map(Object.entries(kills.parse(JSON.parse(readFileSync(FILE, 'utf8')))));
}

export function writeKnownKills(known: ReadonlyMap<string, Evidence>): void {
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(known), undefined, 2)}\n`);
}
