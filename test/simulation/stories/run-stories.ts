import { formatTime } from '../../../src/lib/time.ts';
import type { JsonObject } from '../memory-kube/json.ts';
import { objectAt } from '../memory-kube/json.ts';
import type { Program } from '../programs.ts';
import { BY_BID, MACHINE } from '../specs.ts';
import { statusAt } from '../status-at.ts';
import type { ContainerOptions } from '../world.ts';
import { payIn, slowPulls } from './acts.ts';
import { answered, type Stage } from './stage.ts';
import type { Story } from './story.ts';

const MINUTE = 60;

interface RunStory {
  readonly completion?: JsonObject;
  readonly seconds?: number;
  readonly containers?: ContainerOptions;
  /** Programs by number of the machine; the last one is also that of later machines. */
  readonly programs: readonly Program[];
  /** Expected part of `status.run` at the end. */
  readonly ends: JsonObject;
}

/** Returns a story of one run, whose recorded end is part of it. */
function run(name: string, options: RunStory, then: (stage: Stage) => void = () => undefined): Story {
  const { completion = {}, seconds = 15 * MINUTE, programs, ends, containers } = options;
  return {
    ...{ name, seconds, run: completion, ...(containers && { containers }) },
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
        'R8',
        `run.${field} is ${JSON.stringify(present[field])}, not ${String(value)}`,
      );
}

/** Makes the service start a running container again. */
function restartContainer(stage: Stage, name: string): void {
  const { store } = stage.world.market;
  const contract = store.current().tables.contracts[stage.machineOf(name)];
  if (contract?.actualStatus !== 'running') throw new Error(`${name} has no running machine`);
  store.put('contracts', { ...contract, statusSince: stage.world.now });
  stage.world.note(`the service starts the container of machine ${contract.id} again`);
}

/** Checks that a machine was stopped before it was destroyed. */
function expectStopBefore({ world, invariants }: Stage, id: number): void {
  const ended = world.market.store.current().tables.endedContracts[id];
  if (ended?.last.intendedStatus !== 'stopped')
    invariants.report('R8', `machine ${id} was ${ended ? 'destroyed without a stop' : 'not destroyed'}`);
}

const JOB = 'train-1';
const JOB_SPEC: JsonObject = { ...MACHINE, command: ['python', 'train.py'], completion: { backoffLimit: 0 } };

/** Starts two Pods of the Job. Both relays decide before either creates an object or attaches to one. */
function startRelays({ jobs }: Stage['users']): void {
  const relays = [jobs.startPod(JOB), jobs.startPod(JOB)];
  for (const relay of relays) if (relay) jobs.carryOut(relay, JOB_SPEC);
}

/** Returns a story of a Job beside a run, with an action while its program runs. */
function job(name: string, act: (stage: Stage) => void): Story {
  return {
    ...{ name, seconds: 12 * MINUTE, run: {}, programOf: () => ({ seconds: 4 * MINUTE }) },
    plot: (stage) => {
      stage.users.jobs.create(JOB);
      stage.at(1, () => startRelays(stage.users));
      stage.at(2 * MINUTE, () => act(stage));
      stage.at(3 * MINUTE, () => startRelays(stage.users));
    },
  };
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
    { programs: [DONE], seconds: 40 * MINUTE, ends: { ...COMPLETED, attempts: 1 } },
    (stage) => {
      // No list dates the stop: the machine counts as running until the first one after the return.
      stage.awayAt(2 * MINUTE, 20 * MINUTE);
    },
  ),
  run(
    'a program ends with code 0 while the operator is down for longer than maxLifetime',
    { programs: [DONE], seconds: 50 * MINUTE, ends: { ...COMPLETED, attempts: 1 } },
    (stage) => {
      stage.users.setPolicies('a', { maxLifetime: '15m', maxTotalCost: '0.05' });
      stage.awayAt(2 * MINUTE, 30 * MINUTE);
    },
  ),
  run(
    'another customer outbids the machine of a run while the operator is down',
    { programs: [{}, DONE], seconds: 50 * MINUTE, ends: { ...COMPLETED, attempts: 2, lost: 1 } },
    (stage) => {
      stage.users.setPolicies('a', { offers: BY_BID });
      stage.at(3 * MINUTE, () => stage.befall({ name: 'outbid', instance: stage.machineOf('a') }));
      stage.awayAt(1.5 * MINUTE, 20 * MINUTE);
    },
  ),
  run(
    'credit runs out while the operator is down, and stops the machine of a run',
    { programs: [{ seconds: 5 * MINUTE }], seconds: 60 * MINUTE, ends: COMPLETED },
    (stage) => {
      stage.awayAt(1.5 * MINUTE, 20 * MINUTE);
      stage.at(3 * MINUTE, () => stage.befall({ name: 'credit-out' }));
      stage.at(21 * MINUTE, () => payIn(stage.world));
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
      for (let second = 1; second < 120; second += 7) stage.afterProgram(second, () => stage.killAll());
    },
  ),
  run(
    'the write of a result is lost once',
    { programs: [DONE], seconds: 20 * MINUTE, ends: { ...COMPLETED, attempts: 1 } },
    (stage) => {
      stage.afterProgram(1, () => stage.cast({ call: 'status', seconds: 40, fate: { loseRequest: true } }));
    },
  ),
  run(
    'a program ends with code 0, and its machine cannot be destroyed for three minutes',
    { programs: [DONE], seconds: 20 * MINUTE, ends: { ...COMPLETED, attempts: 1 } },
    (stage) => {
      stage.afterProgram(1, () => stage.cast({ call: 'destroy', seconds: 3 * MINUTE, fate: STOP_FAILS }));
    },
  ),
  run(
    'a person starts a machine again after its program has ended',
    { programs: [DONE], seconds: 20 * MINUTE, ends: { ...COMPLETED, attempts: 1 } },
    (stage) => {
      stage.afterProgram(5, (id) => {
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
    'the image of a run loads on no machine for 20 minutes (3)',
    { programs: [DONE], seconds: 60 * MINUTE, ends: COMPLETED },
    (stage) => {
      slowPulls(stage, true);
      stage.at(20 * MINUTE, () => slowPulls(stage, false));
    },
  ),
  run('the service shows only the begin of a log (6)', {
    ...{ programs: [{ ...DONE, lines: 900 }], seconds: 20 * MINUTE },
    containers: { logTruncated: 'end' },
    ends: COMPLETED,
  }),
  run('the service shows only the end of a log (6)', {
    ...{ programs: [{ ...DONE, lines: 900 }], seconds: 20 * MINUTE },
    containers: { logTruncated: 'begin' },
    ends: COMPLETED,
  }),
  run('the log of a stopped machine cannot be read', {
    ...{ programs: [DONE], seconds: 20 * MINUTE, containers: { logsWhenStopped: false }, ends: COMPLETED },
  }),
  run(
    'a host goes offline after the program of a run has ended (7)',
    { programs: [DONE], seconds: 60 * MINUTE, ends: { ...COMPLETED, attempts: 2, lost: 1 } },
    (stage) => {
      stage.afterProgram(4, (instance) => stage.befall({ name: 'offline', instance, seconds: 45 * MINUTE }));
    },
  ),
  run(
    'the service starts the container of a run again, before and after the end of its program (9)',
    { programs: [{ ...DONE, runsOn: true }], seconds: 30 * MINUTE, ends: { ...COMPLETED, attempts: 1 } },
    (stage) => {
      stage.at(1.5 * MINUTE, () => restartContainer(stage, 'a'));
      stage.afterProgram(2 * MINUTE, () => restartContainer(stage, 'a'));
    },
  ),
  {
    name: 'a run is deleted while its program runs (10)',
    ...{ seconds: 10 * MINUTE, run: {}, programOf: () => ({}) },
    plot: (stage) => {
      let id = Number.NaN;
      stage.at(4 * MINUTE, () => {
        id = stage.machineOf('a');
        stage.users.delete('a');
      });
      stage.at(10 * MINUTE - 1, () => expectStopBefore(stage, id));
    },
  },
  run(
    'one list shows the machine of a run as stopped, and the next ones as running (12)',
    { programs: [{ seconds: 6 * MINUTE }], seconds: 30 * MINUTE, ends: { ...COMPLETED, attempts: 1 } },
    (stage) => {
      stage.at(3 * MINUTE, () => {
        const instance = stage.machineOf('a');
        stage.wrong({ endpoint: 'list', field: 'actual_status', change: 'set', value: 'stopped', instance });
      });
    },
  ),
  run(
    'lists show the machine of a run as stopped for 13 minutes, and a read shows it running (12)',
    { programs: [{ seconds: 20 * MINUTE }], seconds: 40 * MINUTE, ends: { ...COMPLETED, attempts: 1 } },
    (stage) => {
      stage.at(3 * MINUTE, () => {
        const instance = stage.machineOf('a');
        const lie = { field: 'actual_status', change: 'set', value: 'stopped' } as const;
        stage.wrong({ endpoint: 'list', ...lie, instance, count: 78 });
      });
    },
  ),
  run(
    'another customer outbids the machine of a run (14)',
    { programs: [{}, DONE], seconds: 30 * MINUTE, ends: { ...COMPLETED, attempts: 2, lost: 1 } },
    (stage) => {
      stage.users.setPolicies('a', { offers: BY_BID });
      stage.at(3 * MINUTE, () => stage.befall({ name: 'outbid', instance: stage.machineOf('a') }));
    },
  ),
  run(
    'another customer outbids a machine whose program has ended, and whose result cannot be read yet (15)',
    { programs: [DONE], seconds: 30 * MINUTE, ends: { ...COMPLETED, attempts: 1 } },
    (stage) => {
      stage.users.setPolicies('a', { offers: BY_BID });
      stage.afterProgram(1, (instance) => {
        stage.after(30, () => stage.befall({ name: 'outbid', instance }));
        for (const call of ['readLog', 'listFiles'] as const)
          stage.cast({ call, seconds: 100, fate: { refusal: { status: 503, body: '', headers: {} } } });
      });
    },
  ),
  run(
    'a program hangs until maxLifetime',
    { programs: [{}], seconds: 30 * MINUTE, ends: { outcome: 'DeadlineExceeded', attempts: 1 } },
    (stage) => {
      stage.users.setPolicies('a', { maxLifetime: '10m' });
      stage.allow({ call: 'readLog', seconds: 9 * MINUTE, max: 0, invariant: 'R9' });
      // The files are also listed to prove that the machine can end itself.
      stage.allow({ call: 'listFiles', seconds: 9 * MINUTE, max: 10, invariant: 'R9' });
    },
  ),
  job('two relays of a Job create its object at once', () => undefined),
  job('the Pod of a Job is evicted, and its relay learns nothing of the Job', ({ users }) => {
    users.jobs.evict(JOB);
    users.jobs.terminate(JOB, { isAnswered: false });
    startRelays(users);
  }),
  job('a Job is deleted while its program runs', ({ users }) => users.jobs.delete(JOB)),
];
