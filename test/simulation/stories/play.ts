import { seededRandom } from '../../../src/lib/random.ts';
import { Invariants } from '../invariants.ts';
import type { Fate } from '../network.ts';
import { minding } from '../oracle/faults.ts';
import type { Violation } from '../oracle/scene.ts';
import { Programs } from '../programs.ts';
import type { Capability, MarketName } from '../simulated-market.ts';
import { Users } from '../users.ts';
import { type FateOf, SimulatedWorld } from '../world.ts';
import { Stage } from './stage.ts';
import type { Story } from './story.ts';

export interface Played {
  /** Capabilities that the story needs and its market lacks: the story was not completed and proves nothing. */
  readonly lacking: readonly Capability[];
  readonly violations: readonly Violation[];
  /** Calls that were to be struck and never came: such a story shows nothing. */
  readonly unstruck: readonly string[];
  readonly trace: readonly string[];
  readonly virtualSeconds: number;
}

const SECOND = 1000;
const QUIET: Fate = { requestMs: 2, responseMs: 2 };

export interface PlayOptions {
  readonly keepTrace?: boolean;
  /** The market that is rented at. */
  readonly market?: MarketName | undefined;
}

/** Plays one story. Ends at the first promise that is broken. */
export async function play(story: Story, { keepTrace = false, market }: PlayOptions = {}): Promise<Played> {
  const sweeps = story.sweeps ?? false;
  let stage: Stage | undefined;
  const fate = (call: Parameters<FateOf>[0]): Fate => {
    const met = stage?.fateOf(call) ?? QUIET;
    stage?.invariants.sent(call, met);
    return met;
  };
  const { maxRentalsPerHour, pacing } = story.flags ?? {};
  const flags = {
    ...(maxRentalsPerHour !== undefined && { maxRentalsPerHour: String(maxRentalsPerHour) }),
    ...(pacing && { pacing }),
  };
  const { fleet = 1, hasReports, hasGateway } = story;
  const offers = Math.max(24, 2 * fleet);
  const load = { hasReports, hasGateway, startMs: story.startsAt, containers: story.containers };
  const world = new SimulatedWorld({
    seed: story.seed ?? 1,
    offers,
    keepTrace,
    fate,
    flags,
    market,
    ...load,
  });
  const users = new Users(world, seededRandom(1));
  const invariants = new Invariants(world, { strict: !sweeps });
  stage = new Stage(world, users, invariants);
  users.account.create(sweeps ? 'Destroy' : 'Report');
  if (story.group) users.groups.create('group', story.group.load, story.group.spec);
  else users.createInstance('a', story.run && { command: ['python', 'train.py'], completion: story.run });
  const programs = new Programs(world, users.console, {
    programOf: story.programOf ?? (() => ({})),
    onEnd: (id) => stage?.programEnded(id),
  });
  for (let number = 2; number <= fleet; number += 1) users.createInstance(`m-${number}`);
  // The machine of a run ends itself.
  if (story.run) world.has('selfEnd');
  story.plot(stage);
  world.startProcess();
  await minding(invariants, () =>
    world.scheduler.runUntil(world.now + story.seconds * SECOND, () => {
      programs.follow();
      invariants.check();
      return invariants.violations.length === 0 && world.lacking.size === 0;
    }),
  );
  const lacking = [...world.lacking];
  if (lacking.length > 0)
    return { lacking, violations: [], unstruck: [], trace: world.trace.lines, virtualSeconds: world.second };
  if (invariants.violations.length === 0 && story.mayLeave !== true) invariants.checkConverged();
  if (invariants.violations.length === 0 && story.asksMemory === true) await invariants.checkMemory();
  return {
    lacking,
    violations: invariants.violations,
    unstruck: stage.unstruck(),
    trace: world.trace.lines,
    virtualSeconds: world.second,
  };
}
