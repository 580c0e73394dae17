import { afterAll, describe, expect, test } from 'vitest';
import { judge } from './mutants/judge.ts';
import type { Finding } from './mutants/kill.ts';
import { Workspace } from './mutants/workspace.ts';
import { readReplays } from './replays.ts';
import { runSchedule } from './schedule.ts';
import { play } from './stories/play.ts';
import { STORIES } from './stories/stories.ts';

const LIMIT_MS = 120_000;
/** Search time beyond the story itself: other ways to show the bug are not needed. */
const SECONDS = 1;

const replays = readReplays();

describe('keeps every promise when', () => {
  test.for(replays)('$name', { timeout: LIMIT_MS }, async ({ story: told }) => {
    const stories = STORIES.filter(({ name }) => name === told);
    expect(stories.map(({ name }) => name)).toEqual([told]);
    for (const story of stories) expect(await play(story)).toMatchObject({ violations: [], unstruck: [] });
  });
});

describe('breaks a promise without the mending when', () => {
  const workspace = new Workspace();
  afterAll(() => workspace.remove());

  test.for(replays)('$name', { timeout: LIMIT_MS }, async ({ name, found, story, without }) => {
    const finding: Finding = { type: 'story', name: story };
    const known = { simulation: { finding, broken: '', seconds: 0 } };
    const mutant = { ...without, name, loses: found };
    const { simulation } = await judge(mutant, { workspace, known, seconds: SECONDS, scope: 'simulation' });
    expect(simulation?.finding).toEqual(finding);
  });
});

test('the same seed gives the same trace', { timeout: LIMIT_MS }, async () => {
  const run = () => runSchedule({ seed: 7, mode: 'all', keepTrace: false });
  const [first, second] = [await run(), await run()];
  expect(second.traceHash).toBe(first.traceHash);
  expect(second.steps).toBe(first.steps);
});
