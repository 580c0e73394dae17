import { expect, test } from 'vitest';
import { runSchedule } from './schedule.ts';
import { GROUP_STORIES } from './stories/group-stories.ts';
import { play } from './stories/play.ts';
import { PURCHASE_STORIES } from './stories/purchase-stories.ts';
import { STORIES } from './stories/stories.ts';
import type { Story } from './stories/story.ts';

const LIMIT_MS = 240_000;
/** Seeds: one with a group, one with a second account, and one in which a reply to a rental names a wrong machine. */
const SEEDS = [2, 3, 9];
/** Maximum length of a story times its machines; `MARKET=toy make simulate` plays the others, which cost more. */
const MAX_MACHINE_SECONDS = 500;

const machineSeconds = ({ seconds, fleet, group }: Story): number => seconds * (fleet ?? (group ? 3 : 1));
const SHORT_STORIES = STORIES.filter(
  (story) => machineSeconds(story) <= MAX_MACHINE_SECONDS || PURCHASE_STORIES.includes(story),
);

test('keeps every promise in the short stories of a market without labels, stop and bids', {
  timeout: LIMIT_MS,
}, async () => {
  const played = [];
  for (const story of SHORT_STORIES) played.push({ story, ...(await play(story, { market: 'toy' })) });
  const told = played.filter(({ lacking }) => lacking.length === 0);
  const broken = told.filter(({ violations, unstruck }) => violations.length + unstruck.length > 0);
  expect(broken.map(({ story, violations, unstruck }) => [story.name, violations, unstruck])).toEqual([]);
  expect(told.length).toBeGreaterThan(100);
});

test.each(SEEDS)(
  'keeps every promise of schedule %i at a market without labels, stop and bids',
  {
    timeout: LIMIT_MS,
  },
  async (seed) => {
    const { violations } = await runSchedule({ seed, mode: 'sweeperOff', market: 'toy', keepTrace: false });
    expect(violations).toEqual([]);
  },
);

test('leaves a story out that needs what the market lacks', { timeout: LIMIT_MS }, async () => {
  const [story] = PURCHASE_STORIES;
  if (!story) throw new Error('no story');
  const plot = (stage: Parameters<typeof story.plot>[0]) =>
    stage.at(60, () => stage.users.setPowerState('a', 'Stopped'));
  const { lacking } = await play({ ...story, plot }, { market: 'toy' });
  expect(lacking).toEqual(['stop']);
});

test('deletes a worker that the load needs no more, since the market cannot stop it', {
  timeout: LIMIT_MS,
}, async () => {
  const [story] = GROUP_STORIES.filter(({ name }) => name === 'the load of a group falls');
  if (!story) throw new Error('no story');
  expect(await play(story, { market: 'toy' })).toMatchObject({ lacking: [], violations: [], unstruck: [] });
});
