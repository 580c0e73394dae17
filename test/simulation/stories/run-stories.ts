import { formatTime } from '../../../src/lib/time.ts';
import type { JsonObject } from '../memory-kube/json.ts';
import { objectAt } from '../memory-kube/json.ts';
import type { Program } from '../programs.ts';
import { statusAt } from '../status-at.ts';
import { answered, type Stage } from './stage.ts';
import type { Story } from './story.ts';

const MINUTE = 60;

interface RunStory {
  readonly completion?: JsonObject;
  readonly seconds?: number;
  /** Programs by number of the machine; the last one is also that of later machines. */
  readonly programs: readonly Program[];
  /** Expected part of `status.run` at the end. */
  readonly ends: JsonObject;
}

/** Returns a story of one run, whose recorded end is part of it. */
function run(name: string, options: RunStory, then: (stage: Stage) => void = () => undefined): Story {
  const { completion = {}, seconds = 15 * MINUTE, programs, ends } = options;
  return {
    ...{ name, seconds, run: completion },
    programOf: (rental) => programs[Math.min(rental, programs.length) - 1] ?? {},
    plot: (stage) => {
      then(stage);
      stage.at(seconds - 1, () => expectEnd(stage, ends));
    },
  };
}

function expectEnd(stage: Stage, ends: JsonObject): void {
  const present = objectAt(statusAt(stage.users.backup('a')), 'run');
  for (const [field, value] of Object.entries(ends))
    if (present[field] !== value)
      stage.invariants.report(
        'R2',
        `run.${field} is ${JSON.stringify(present[field])}, not ${String(value)}`,
      );
}

const DONE: Program = { seconds: 2 * MINUTE, exitCode: 0 };
const FAILS: Program = { seconds: MINUTE, exitCode: 7 };
const COMPLETED = { outcome: 'Completed', exitCode: 0 };
const STOP_FAILS = answered({ success: false }, 403);

/** Stories of the ways in which runs end; each machine does what its start text says. */
export const RUN_STORIES: readonly Story[] = [
  run('a program ends with code 0', { programs: [DONE], ends: { ...COMPLETED, attempts: 1 } }),
  run(
    'a program ends with code 0 while the operator is down',
    { programs: [DONE], ends: { ...COMPLETED, attempts: 1 } },
    (stage) => {
      stage.at(2 * MINUTE, () => stage.world.away());
      stage.at(4 * MINUTE, () => stage.world.startProcess());
    },
  ),
  run('a program fails twice, and then succeeds', {
    ...{ programs: [FAILS, FAILS, DONE], seconds: 25 * MINUTE },
    ends: { ...COMPLETED, attempts: 3, failed: 2 },
  }),
  run('a program fails on every machine', {
    ...{ programs: [FAILS], completion: { backoffLimit: 1 }, seconds: 25 * MINUTE },
    ends: { outcome: 'BackoffLimit', exitCode: 7, attempts: 2 },
  }),
  run('a program ends with a code that is not retried', {
    ...{ programs: [FAILS], completion: { retryCodes: [1] } },
    ends: { outcome: 'BackoffLimit', attempts: 1 },
  }),
  run('a result is in the files only', {
    ...{ programs: [{ ...DONE, shows: 'files' }], seconds: 20 * MINUTE, ends: COMPLETED },
  }),
  run('a result is in the log only', { programs: [{ ...DONE, shows: 'log' }], ends: COMPLETED }),
  run('a machine that cannot stop itself shows its result', {
    ...{ programs: [{ ...DONE, runsOn: true }], seconds: 25 * MINUTE, ends: COMPLETED },
  }),
  run('a machine shows no result, and another one does', {
    ...{ programs: [{ ...DONE, shows: 'nothing' }, DONE], seconds: 35 * MINUTE },
    ends: { ...COMPLETED, attempts: 2, lost: 1 },
  }),
  run('a machine shows the result of another rental', {
    ...{
      programs: [
        { ...DONE, nonce: 'a0a0a0a0a0a0' },
        { seconds: MINUTE, exitCode: 3 },
      ],
    },
    ...{ seconds: 35 * MINUTE, completion: { backoffLimit: 0 } },
    ends: { outcome: 'BackoffLimit', exitCode: 3, attempts: 2, lost: 1 },
  }),
  run('no machine shows a result', {
    ...{ programs: [{ ...DONE, shows: 'nothing' }], completion: { lostLimit: 1 }, seconds: 50 * MINUTE },
    ends: { outcome: 'LostLimit', attempts: 2, lost: 2 },
  }),
  run(
    'the operator is killed every few seconds while a run ends',
    { programs: [DONE], seconds: 20 * MINUTE, ends: COMPLETED },
    (stage) => {
      for (let second = 170; second < 300; second += 7) stage.at(second, () => stage.killAll());
    },
  ),
  run(
    'the write of a result is lost once',
    { programs: [DONE], seconds: 20 * MINUTE, ends: { ...COMPLETED, attempts: 1 } },
    (stage) => {
      stage.at(3 * MINUTE, () => stage.cast({ call: 'status', seconds: 40, fate: { loseRequest: true } }));
    },
  ),
  run(
    'a person starts a machine again after its program has ended',
    { programs: [DONE], seconds: 20 * MINUTE, ends: { ...COMPLETED, attempts: 1 } },
    (stage) => {
      stage.at(190, () => {
        const id = stage.machineOf('a');
        void stage.users.console.call('PUT', `/api/v0/instances/${id}/`, { state: 'running' });
      });
    },
  ),
  run(
    'a run is stopped and started by its powerState',
    { programs: [{ seconds: 4 * MINUTE }], seconds: 25 * MINUTE, ends: { ...COMPLETED, attempts: 1 } },
    (stage) => {
      stage.at(3 * MINUTE, () => stage.users.setPowerState('a', 'Stopped'));
      stage.at(9 * MINUTE, () => stage.users.setPowerState('a', 'Running'));
    },
  ),
  run('a run is cancelled', { programs: [{}], ends: { outcome: 'Cancelled', attempts: 1 } }, (stage) =>
    stage.at(4 * MINUTE, () => stage.users.cancel('a', formatTime(stage.world.now))),
  ),
  run(
    'a run is cancelled, and its machine cannot be stopped',
    { programs: [{}], ends: { outcome: 'Cancelled', attempts: 1 } },
    (stage) => {
      stage.at(4 * MINUTE, () => stage.cast({ call: 'label', seconds: 300, fate: STOP_FAILS }));
      stage.at(4 * MINUTE, () => stage.users.cancel('a', formatTime(stage.world.now)));
    },
  ),
  run(
    'a program hangs until maxLifetime',
    { programs: [{}], seconds: 30 * MINUTE, ends: { outcome: 'DeadlineExceeded', attempts: 1 } },
    (stage) => stage.users.setPolicies('a', { maxLifetime: '10m' }),
  ),
];
