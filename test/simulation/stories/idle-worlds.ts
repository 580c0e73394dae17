import { seededRandom } from '../../../src/lib/random.ts';
import { formatTime } from '../../../src/lib/time.ts';
import { Chance } from '../chance.ts';
import type { JsonObject } from '../memory-kube/json.ts';
import type { Stage } from './stage.ts';
import type { Story } from './story.ts';

const MINUTE = 60;
/** Machines boot, and warm up. */
const BEGINS = 10 * MINUTE;
/** From then on nothing is wrong, and no machine is used. */
const CALM = 80 * MINUTE;
/** The longest warm-up, idle time and warning together, with the time in which they are noticed. */
const RECOVERS = 55 * MINUTE;
const FLEETS = [1, 2, 3] as const;

const LISTS_FAIL = { refusal: { status: 502, body: 'Bad Gateway' } };

/**
 * Returns the life of one to three objects with an idle time, drawn by the seed: machines are used and idle in turns, lists
 * lack figures, show old or wrong ones, or fail, processes restart and their clocks jump, and people hold, extend, pause,
 * stop and start. In the end no machine is used, so that each one ends that nothing keeps. Reads always tell the truth.
 */
export function idleWorld(seed: number): Story {
  const chance = new Chance(seededRandom(seed));
  const fleet = chance.oneOf(FLEETS);
  const names = Array.from({ length: fleet }, (_, index) => (index === 0 ? 'a' : `m-${index + 1}`));
  return {
    ...{ name: `the idle world of seed ${seed}`, seed, fleet, seconds: CALM + RECOVERS },
    plot: (stage) => {
      for (const name of names) {
        stage.users.setPolicies(name, policy(chance));
        planUse(stage, name, chance);
      }
      for (let number = chance.below(6); number > 0; number -= 1) planFault(stage, names, chance);
      for (let number = chance.below(4); number > 0; number -= 1) planWhim(stage, names, chance);
      stage.at(CALM, () => stopFaults(stage, names));
    },
  };
}

function policy(chance: Chance): JsonObject {
  const action = chance.oneOf(['Destroy', 'Destroy', 'Stop', 'Report'] as const);
  const after = chance.oneOf(['15m', '16m30s', '20m'] as const);
  const warning = chance.oneOf(['1m', '5m', '10m', '14m'] as const);
  return { idle: { after, action, warning, below: chance.oneOf([1, 5, 50] as const) } };
}

/** Plans idle spans of a minute to half an hour, with uses of some seconds to half an hour between them. */
function planUse(stage: Stage, name: string, chance: Chance): void {
  let second = BEGINS;
  while (second < CALM) {
    second += chance.isWithin(0.4) ? chance.upTo(60) : chance.upTo(30 * MINUTE);
    const seconds = MINUTE + chance.upTo(30 * MINUTE);
    stage.at(second, () => stopUse(stage, name, seconds));
    second += seconds;
  }
}

/** Ends the use of an object's machine, if it has one, for so many seconds or for good. */
function stopUse(stage: Stage, name: string, seconds?: number): void {
  const instance = stage.machineOf(name);
  if (!Number.isNaN(instance))
    stage.cause({ name: 'idle', instance, ...(seconds !== undefined && { seconds }) });
}

function planFault(stage: Stage, names: readonly string[], chance: Chance): void {
  const second = BEGINS + chance.below(CALM - BEGINS - 15 * MINUTE);
  const seconds = chance.upTo(14 * MINUTE);
  const name = names[chance.below(names.length)] ?? 'a';
  const figure = (wrong: JsonObject) => {
    const instance = stage.machineOf(name);
    if (Number.isNaN(instance)) return;
    stage.cause({ name: 'wrong-field', endpoint: 'list', field: 'gpu_util', instance, seconds, ...wrong });
  };
  const hours = chance.oneOf([-2, 1, 48] as const);
  chance.doOneOf([
    [3, () => stage.at(second, () => figure({ change: 'set', value: null }))],
    [2, () => stage.at(second, () => figure({ change: 'remove' }))],
    [3, () => stage.at(second, () => figure({ change: 'stale' }))],
    [3, () => stage.at(second, () => figure({ change: 'set', value: 0 }))],
    [3, () => stage.at(second, () => stage.cast({ call: 'list', seconds, fate: LISTS_FAIL }))],
    [2, () => stage.at(second, () => stage.killAll())],
    [1, () => stage.at(second, () => jump(stage, hours))],
    [1, () => stage.at(second, () => stage.cast({ call: 'destroy', seconds, fate: LISTS_FAIL }))],
    [1, () => stage.at(second, () => stage.cast({ call: 'label', seconds, fate: LISTS_FAIL }))],
    [
      1,
      () => stage.at(second, () => stage.cast({ call: 'status', seconds: 20, fate: { loseResponse: true } })),
    ],
  ]);
}

function jump(stage: Stage, hours: number): void {
  for (const { machine } of stage.world.processes) machine.wallSkewMs += hours * 3_600_000;
  stage.invariants.clockJumped();
}

function planWhim(stage: Stage, names: readonly string[], chance: Chance): void {
  const second = BEGINS + chance.below(CALM - BEGINS);
  const name = names[chance.below(names.length)] ?? 'a';
  const minutes = chance.below(60) - 15;
  const until = () => formatTime(stage.world.now + minutes * MINUTE * 1000);
  const power = chance.oneOf(['Stopped', 'Running'] as const);
  chance.doOneOf([
    [2, () => stage.at(second, () => stage.users.hold(name))],
    [4, () => stage.at(second, () => stage.users.extendIdle(name, until()))],
    [1, () => stage.at(second, () => stage.users.extendIdle(name, 'soon'))],
    [1, () => stage.at(second, () => stage.users.setPolicies(name, { paused: true }))],
    [2, () => stage.at(second, () => stage.users.setPowerState(name, power))],
    [1, () => stage.at(second, () => stage.users.setPolicies(name, policy(chance)))],
  ]);
}

/** Ends every wrong figure and every use. A machine that begins later is not used either. */
function stopFaults(stage: Stage, names: readonly string[]): void {
  const { store } = stage.world.market;
  for (const { id, name } of Object.values(store.current().tables.faults))
    if (name === 'wrong-field') store.remove('faults', id);
  for (const name of names) stopUse(stage, name);
}
