import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { FAULTS, faultEntry } from './fault-catalogue.ts';
import { defaultSettings } from './settings.ts';

const page = (path: string): string => readFileSync(new URL(`../../docs/${path}`, import.meta.url), 'utf8');
const guide = page('how-to/simulator.md');
const settings = page('reference/simulator-settings.md');

/** Returns `group.name` and default of each setting. */
function flat(value: object, prefix = ''): readonly (readonly [string, string])[] {
  return Object.entries(value).flatMap(([name, inner]) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? flat(inner, `${prefix}${name}.`)
      : [[prefix + name, JSON.stringify(inner)] as const],
  );
}

describe('docs/how-to/simulator.md', () => {
  test.each(Object.keys(FAULTS))('describes the fault %s', (name) => {
    const entry = faultEntry(name);
    expect(guide).toContain(`| \`${name}\` | ${entry?.what} | ${entry?.seconds ?? 'How long it stays.'} |`);
  });
});

describe('docs/reference/simulator-settings.md', () => {
  test.each(flat(defaultSettings))('lists the setting %s with its default %s', (name, value) => {
    expect(settings).toContain(`| \`${name}\` | \`${value}\` | `);
  });
});
