/**
 * Looks for a violation until one is found or the processor time is used up; the last line on stdout is the kill,
 * or null. Run inside a workspace, so that the production code it imports is the mutated one.
 * Arguments: seconds, where to look (`operator`, `toy`, `gateway` or `deadman`), and as JSON what is tried first.
 */
import { playDeadman } from '../deadman/deadman.ts';
import { DEADMAN_KINDS, type DeadmanKind } from '../deadman/kinds.ts';
import { playGateway } from '../gateway/world.ts';
import { runSchedule } from '../schedule.ts';
import { play } from '../stories/play.ts';
import { STORIES } from '../stories/stories.ts';
import type { Story } from '../stories/story.ts';
import { replayPlan, runSystematic } from '../systematic.ts';
import { type Finding, finding, type Kill } from './kill.ts';

const [seconds = '60', where = 'operator', first] = process.argv.slice(2);
/** Stories and schedules are played there. */
const market = where === 'toy' ? where : undefined;
const known = first === undefined ? undefined : finding.parse(JSON.parse(first));
/** Some mutants need a crash at one effect, which plans find first, others a climate. */
const SEEDS_BEFORE_PLANS = 2;
const SHARE_OF_PLANS = 0.4;

/** Returns the used processor time in seconds, which a busy machine changes little. */
function used(): number {
  const { user, system } = process.cpuUsage();
  return Math.round((user + system) / 1e5) / 10;
}
const limit = Number(seconds);
const isTimeUp = (): boolean => used() > limit;

type Found = Omit<Kill, 'seconds'>;

async function again(found: Finding): Promise<Found | undefined> {
  switch (found.type) {
    case 'story':
      return byStory(STORIES.find(({ name }) => name === found.name));
    case 'schedule':
      return bySeed(found.seed, found.mode);
    case 'plan': {
      const { violations } = await replayPlan(found);
      return violations[0] && { finding: found, broken: violations[0].invariant };
    }
    case 'gateway':
      return byGateway(found.seed);
    case 'deadman':
      return byDeadman(found.seed, found.kind);
    case 'noEnd':
      return undefined;
  }
}

async function byStory(story: Story | undefined): Promise<Found | undefined> {
  if (!story) return undefined;
  const asFinding: Finding = { type: 'story', name: story.name, ...(market && { market }) };
  try {
    const { violations } = await play(story, { market });
    return violations[0] && { finding: asFinding, broken: violations[0].invariant };
  } catch (error) {
    return { finding: asFinding, broken: textOf(error) };
  }
}

async function bySeed(seed: number, mode: 'all' | 'sweeperOff'): Promise<Found | undefined> {
  const schedule: Finding = { type: 'schedule', seed, mode, ...(market && { market }) };
  try {
    const { violations } = await runSchedule({ seed, mode, market, keepTrace: false, untilViolation: true });
    return violations[0] && { finding: schedule, broken: violations[0].invariant };
  } catch (error) {
    return { finding: schedule, broken: textOf(error) };
  }
}

function byGateway(seed: number): Found | undefined {
  const broken = playGateway(seed)?.invariant;
  return broken === undefined ? undefined : { finding: { type: 'gateway', seed }, broken };
}

/** Searches the gateway worlds, in which the queue runs. */
function byGateways(): Found | undefined {
  for (let seed = 1; !isTimeUp(); seed += 1) {
    const found = byGateway(seed);
    if (found) return found;
  }
  return undefined;
}

async function byDeadman(seed: number, kind: DeadmanKind): Promise<Found | undefined> {
  const world: Finding = { type: 'deadman', seed, kind };
  try {
    const { violations } = await playDeadman({ seed, kind });
    return violations[0] && { finding: world, broken: violations[0].invariant };
  } catch (error) {
    return { finding: world, broken: textOf(error) };
  }
}

/** Searches the worlds of machines that end themselves. */
async function byDeadmans(): Promise<Found | undefined> {
  for (let seed = 1; !isTimeUp(); seed += 1) {
    for (const kind of DEADMAN_KINDS) {
      const found = await byDeadman(seed, kind);
      if (found || isTimeUp()) return found;
    }
  }
  return undefined;
}

async function byPlans(): Promise<Found | undefined> {
  let found: Found | undefined;
  const until = used() + limit * SHARE_OF_PLANS;
  try {
    await runSystematic({
      pairs: false,
      goOn: () => found === undefined && !isTimeUp() && used() < until,
      onPlan: ({ life, strikes, result }) => {
        const [broken] = result.violations;
        if (!broken) return;
        const plan = {
          type: 'plan' as const,
          life,
          strikes: strikes.map(([at, what]) => [at, what] as const),
        };
        found = { finding: finding.parse(plan), broken: broken.invariant };
      },
    });
  } catch (error) {
    return { finding: { type: 'plan', life: 'long', strikes: [] }, broken: textOf(error) };
  }
  return found;
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function byStories(): Promise<Found | undefined> {
  for (const story of STORIES) {
    const found = await byStory(story);
    if (found || isTimeUp()) return found;
  }
  return undefined;
}

async function hunt(): Promise<Found | undefined> {
  if (where === 'gateway') return byGateways();
  if (where === 'deadman') return byDeadmans();
  const found = await byStories();
  if (found) return found;
  for (let seed = 1; !isTimeUp(); seed += 1) {
    for (const mode of ['sweeperOff', 'all'] as const) {
      const found = await bySeed(seed, mode);
      if (found || isTimeUp()) return found;
    }
    if (seed !== SEEDS_BEFORE_PLANS || market) continue;
    const found = await byPlans();
    if (found) return found;
  }
  return undefined;
}

const found = (known && (await again(known))) ?? (await hunt());
process.stdout.write(`${JSON.stringify(found ? { ...found, seconds: used() } : null)}\n`);
process.exit(0);
