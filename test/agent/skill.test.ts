import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { reasons } from '../../src/api/v1alpha1/reasons.ts';
import { outcomeSchema, serverReasons, TOOL_NAMES } from '../../src/cli/agent/contract.ts';
import { tools } from '../../src/cli/agent/tools.ts';

const skill = readFileSync(join(REPOSITORY, 'skills/gpu-rent/SKILL.md'), 'utf8');
const KNOWN = new Set<string>([
  ...TOOL_NAMES,
  ...TOOL_NAMES.flatMap((tool) => Object.keys(tools[tool].schema.shape)),
  ...Object.keys(outcomeSchema.shape),
  ...Object.keys(outcomeSchema.shape.costNow.shape).map((field) => `costNow.${field}`),
  ...Object.keys(reasons),
  ...Object.keys(serverReasons),
  // A field of the data of status.
  'ended',
]);

/** Texts in code that name an argument with its value, or a value alone. */
const EXAMPLES = /^(args: \[\]|waitSeconds: \d+|"[\d.]+"|\d+[hm])$/;

test('the skill has at most 700 words', () => {
  expect(skill.split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(700);
});

test('every tool, argument, field and reason that the skill names exists', () => {
  const named = [...skill.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text);
  expect(named.length).toBeGreaterThan(40);
  expect(named.filter((text) => !KNOWN.has(text) && !EXAMPLES.test(text))).toEqual([]);
});

test('the skill names every tool', () => {
  for (const tool of TOOL_NAMES) expect(skill).toContain(`\`${tool}\``);
});
