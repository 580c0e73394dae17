import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';

const FOLDER = join(REPOSITORY, '.github/workflows');
const step = z.looseObject({
  uses: z.string().optional(),
  run: z.string().optional(),
  with: z.unknown().optional(),
});
const workflow = z.looseObject({
  name: z.string(),
  permissions: z.record(z.string(), z.string()),
  jobs: z.record(z.string(), z.looseObject({ 'timeout-minutes': z.number(), steps: z.array(step) })),
});

describe.each(readdirSync(FOLDER))('the workflow %s', (file) => {
  const { permissions, jobs } = workflow.parse(parse(readFileSync(join(FOLDER, file), 'utf8')));
  const steps = Object.values(jobs).flatMap((job) => job.steps);

  test('may read by default and nothing else', () => {
    expect(permissions).toEqual({ contents: 'read' });
  });

  test('names every action by its commit', () => {
    const actions = steps.flatMap(({ uses }) => uses ?? []);
    expect(actions.filter((uses) => !/^[\w.-]+\/[\w.-]+@[0-9a-f]{40}$/.test(uses))).toEqual([]);
  });

  test('puts no expression of GitHub into a script, where text could become a command', () => {
    expect(steps.flatMap(({ run = '' }) => run.match(/\$\{\{.*?\}\}/g) ?? [])).toEqual([]);
  });

  test('leaves no credential in the checkout', () => {
    const checkouts = steps.filter(({ uses = '' }) => uses.startsWith('actions/checkout@'));
    expect(checkouts.map((one) => one.with)).toEqual(checkouts.map(() => ({ 'persist-credentials': false })));
  });
});
