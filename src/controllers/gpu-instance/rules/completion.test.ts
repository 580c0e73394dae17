import { describe } from 'vitest';
import { decisionTables } from '../../../../test/builders/decision-table.ts';
import { HOLD, lists, OPEN_BREAKER } from '../../../../test/builders/ending-machine.ts';
import {
  at,
  type Given,
  holding,
  intent,
  NOW,
  offer,
  readyCondition,
  time,
  withMachine,
} from '../../../../test/builders/observed.ts';
import type { Machine } from '../../../accounts/beliefs/machine.ts';
import type { GpuInstanceManifestSpec } from '../../../api/v1alpha1/gpu-instance.ts';
import { MACHINE_FINALIZER } from '../../../api/v1alpha1/names.ts';
import type { RunStatus } from '../../../instance/run.ts';
import { vastFacts } from '../../../markets/vast/facts.ts';
import type { RentedFacts, RunResultView } from '../types.ts';

const { table, close } = decisionTables('completion');

interface RunGiven extends Given {
  readonly machine?: Partial<Machine>;
  readonly completion?: GpuInstanceManifestSpec['completion'];
  readonly run?: RunStatus;
  readonly view?: RunResultView;
}

const specOf = ({ completion = {}, spec }: RunGiven): GpuInstanceManifestSpec => ({
  ...{ command: ['python', 'train.py'], completion },
  ...spec,
});

/** Returns a run with a running machine. */
function run(situation: RunGiven = {}): Given {
  const { machine, completion: _completion, run: recorded = {}, view, ...rest } = situation;
  return withMachine(machine, {
    ...rest,
    spec: specOf(situation),
    status: { run: { attempts: 1, startedAt: time(-240), ...recorded }, ...rest.status },
    observed: { runResult: view, ...rest.observed },
  });
}

/** Returns a run whose machine has stopped by itself. */
const stopped = (situation: RunGiven = {}): Given =>
  run({ ...situation, machine: { state: 'stopped', ...situation.machine } });

/** Returns a run without a machine. */
function unrented(situation: RunGiven = {}): Given {
  const { run: recorded, ...rest } = situation;
  const { instanceId: _id, claim: _claim, ...status } = holding();
  return {
    intent: intent(),
    machines: [],
    ...rest,
    spec: specOf(situation),
    status: { ...status, run: { attempts: 1, ...recorded }, ...rest.status },
    observed: { listsBegun: [at(-100), at(-1)], ...rest.observed },
  };
}

const withoutIntent = ({ intent: _intent, ...rest }: Given): Given => rest;

const found = (exitCode: number): RunResultView => ({
  ...{ type: 'found', exitCode, message: 'loss 0.2' },
  log: { secretRef: { name: 'job-log' }, bytes: 9, truncated: false },
});
const NONE: RunResultView = { type: 'none', isAnswered: true };
const settled = (reason: string, change: RunStatus = {}, seconds = -1): RunStatus => ({
  settled: { attempt: 1, reason, at: time(seconds) },
  ...change,
});
const over = (outcome: string, change: RunStatus = {}): RunStatus =>
  settled(outcome, { outcome, finishedAt: time(-1), ...change });
const RENTED: RentedFacts = {
  ...{ attempt: 2, instanceId: '2', answeredAt: at(-2), offer: undefined, offerIndex: undefined },
  ...{ pricePerHour: undefined, specHash: undefined, image: undefined },
};
const WITHOUT_STOP: Given['facts'] = { market: { ...vastFacts, hasStop: false } };
const CANCEL = { 'gpurental.dev/cancel-at': time(-1) };

const SETTLES = { rule: 'collect-result', record: 'status', phase: 'Stopping', afterMs: 0 };
const READS = { rule: 'collect-result', phase: 'Stopped', says: 'ResultUnknown', onList: true };
const RUNS = { rule: 'run', phase: 'Running', says: 'Ready', afterMs: 86_100_000 };
const RENTS = { rule: 'purchase', record: 'intent', actions: ['rent 100 as 2'] };
const ends = (reason: string) => ({
  ...{ rule: 'run-finished', record: 'status', phase: 'Stopping', says: `${reason}, Replacing` },
  ...{ actions: [`destroy 1 (${reason})`], afterMs: 1_000 },
});

describe('the result of a machine of a run', () => {
  table([
    ['is not searched while it runs', run(), RUNS],
    ['is searched when the machine stops by itself', stopped(), { ...READS, afterMs: 30_000 }],
    [
      'is searched when its container ends by itself',
      run({ machine: { state: 'exited' } }),
      { ...READS, phase: 'Lost', afterMs: 30_000 },
    ],
    [
      'is searched for ten minutes',
      stopped({ run: { collectingSince: time(-590) }, view: NONE }),
      { ...READS, afterMs: 10_000 },
    ],
    [
      'is searched for ten minutes when its host goes offline meanwhile',
      run({
        ...{
          machine: { state: 'offline' },
          status: { actualStatus: 'offline', actualStatusSince: time(-90) },
        },
        ...{ run: { collectingSince: time(-300) }, view: NONE },
      }),
      { ...READS, phase: 'Lost', afterMs: 30_000 },
    ],
    [
      'is given up after ten minutes, and counts as lost',
      stopped({ run: { collectingSince: time(-600) }, view: NONE }),
      { ...SETTLES, says: 'ResultUnknown, Stopping' },
    ],
    [
      'is not given up by one list',
      stopped({
        ...{ machine: { unsettled: new Set(['state']) }, run: { collectingSince: time(-700) }, view: NONE },
      }),
      { ...READS, afterMs: 30_000 },
    ],
    [
      'is not given up before a round of reads is over',
      stopped({ run: { collectingSince: time(-700) } }),
      { ...READS, afterMs: 30_000 },
    ],
    [
      'is given up after an hour in which the marketplace refused every read',
      stopped({ run: { collectingSince: time(-3_600) } }),
      { ...SETTLES, says: 'ResultUnknown, Stopping' },
    ],
    [
      'is not given up while the marketplace answers no read',
      stopped({ run: { collectingSince: time(-700) }, view: { type: 'none', isAnswered: false } }),
      { ...READS, afterMs: 30_000 },
    ],
    [
      'is given up after an hour without an answer',
      stopped({ run: { collectingSince: time(-3_600) }, view: { type: 'none', isAnswered: false } }),
      { ...SETTLES, says: 'ResultUnknown, Stopping' },
    ],
    [
      'fails the run if it is unknown once too often',
      stopped({ completion: { lostLimit: 0 }, run: { collectingSince: time(-600) }, view: NONE }),
      { ...SETTLES, says: 'LostLimit, Stopping' },
    ],
    [
      'is not given up while a read does not show that the machine stopped',
      stopped({
        ...{ run: { collectingSince: time(-600) }, view: NONE },
        observed: { confirmed: { instanceId: '1', read: 'failed' } },
      }),
      { ...READS, afterMs: 30_000 },
    ],
    [
      'is given up only after a read of the machine',
      stopped({
        ...{ run: { collectingSince: time(-600) }, view: NONE, observed: { confirmed: undefined } },
        status: { cost: { pricePerHour: '0.01', storagePricePerHour: '0.01', accrued: '0.04' } },
      }),
      { reads: [{ type: 'confirm', instanceId: '1' }] },
    ],
    [
      'is not given up in the first reconcile that searches it',
      stopped({ view: NONE }),
      { ...READS, afterMs: 30_000 },
    ],
    [
      'is searched while the record of the run is empty',
      stopped({ status: { run: undefined }, view: NONE }),
      { ...READS, afterMs: 30_000 },
    ],
    [
      'is not searched when a host goes offline that showed no end of the program',
      run({
        machine: { state: 'offline' },
        status: { actualStatus: 'offline', actualStatusSince: time(-30) },
      }),
      { rule: 'tolerate', phase: 'Lost', says: 'HostOffline', afterMs: 30_000 },
    ],
    [
      'is no longer searched when the machine runs again',
      run({ run: { collectingSince: time(-60), stopped: true } }),
      RUNS,
    ],
    [
      'is recorded before the machine ends: code 0',
      stopped({ view: found(0) }),
      { ...SETTLES, says: 'Completed, Stopping' },
    ],
    [
      'is recorded of a running machine whose stop was refused',
      run({ view: found(0) }),
      { ...SETTLES, says: 'Completed, Stopping' },
    ],
    [
      'is recorded while the breaker is open',
      stopped({ view: found(0), facts: { breaker: OPEN_BREAKER } }),
      { ...SETTLES, says: 'Completed, Stopping' },
    ],
    ['is retried with code 7', stopped({ view: found(7) }), { ...SETTLES, says: 'RunFailed, Stopping' }],
    [
      'fails the run with code 7 after the last attempt',
      stopped({ view: found(7), run: { failed: 3 } }),
      { ...SETTLES, says: 'BackoffLimit, Stopping' },
    ],
    [
      'fails the run with a code that is not retried',
      stopped({ view: found(7), completion: { retryCodes: [1] } }),
      { ...SETTLES, says: 'BackoffLimit, Stopping' },
    ],
    [
      'fails the run with a code that is not retried, in the last attempt as well',
      stopped({ view: found(7), completion: { backoffLimit: 1, retryCodes: [1] } }),
      { ...SETTLES, says: 'BackoffLimit, Stopping' },
    ],
    [
      'is given up at the time of the cancellation',
      run({ annotations: { 'gpurental.dev/cancel-at': time(0) } }),
      { ...SETTLES, says: 'Cancelled, Stopping' },
    ],
    [
      'is awaited when the same cancellation without a time was reported',
      run({ annotations: { 'gpurental.dev/cancel-at': 'now' } }),
      RUNS,
    ],
    [
      'is given up when the run is cancelled',
      run({ annotations: CANCEL }),
      { ...SETTLES, says: 'Cancelled, Stopping' },
    ],
    [
      "is awaited while only the operator's wall clock has reached the time of the cancellation",
      run({
        annotations: { 'gpurental.dev/cancel-at': time(-1_800) },
        facts: { serviceTime: { type: 'known', at: at(-3_600), isConfirmed: true } },
      }),
      { ...RUNS, afterMs: 89_700_000 },
    ],
    [
      'is awaited when the cancellation is no time',
      run({ annotations: { 'gpurental.dev/cancel-at': 'now' }, status: { observedGeneration: 0 } }),
      RUNS,
    ],
    [
      'is given up when maxLifetime is over',
      run({ status: { firstRentedAt: time(-86_400) } }),
      { ...SETTLES, rule: 'limit-reached', says: 'DeadlineExceeded, Stopping' },
    ],
    [
      'is given up when maxTotalCost is spent',
      run({ spec: { maxTotalCost: '0.02' } }),
      { ...SETTLES, rule: 'limit-reached', says: 'DeadlineExceeded, Stopping' },
    ],
    [
      'is not given up at a limit while the breaker holds ends of many machines',
      run({
        status: { firstRentedAt: time(-86_400) },
        facts: {
          breaker: { type: 'open', since: at(-5), cause: 'massEnds', unhealthy: 4, message: 'm' },
        },
      }),
      { rule: 'limit-reached', phase: 'Running', says: 'BreakerOpen', afterMs: 60_000 },
    ],
    [
      'is given up at a limit only after the label of the machine is confirmed',
      run({
        status: { firstRentedAt: time(-86_400), unconfirmed: true },
        observed: { labelReads: new Map() },
      }),
      { reads: [{ type: 'confirmLabel', instanceId: '1' }] },
    ],
    [
      'is not given up at a limit while many machines reach theirs',
      run({ status: { firstRentedAt: time(-86_400) }, facts: { isEndJudged: false } }),
      { rule: 'run', phase: 'Running', says: 'Ready', onList: true },
    ],
    [
      'is searched before a limit ends the machine',
      stopped({ status: { firstRentedAt: time(-86_400) } }),
      { ...READS, afterMs: 30_000 },
    ],
  ]);
});

describe('a stop of a run that was requested', () => {
  const SAVES = {
    ...{ rule: 'save-result', record: 'status', phase: 'Provisioning', says: 'Provisioning' },
    onList: true,
  };
  table([
    [
      'is no end of its program',
      stopped({ spec: { powerState: 'Stopped' }, run: { stopped: true }, view: NONE }),
      { rule: 'stopped-as-desired', phase: 'Stopped', says: 'Ready', afterMs: 86_100_000 },
    ],
    [
      'is recorded with the stop',
      run({ spec: { powerState: 'Stopped' } }),
      {
        ...{ rule: 'stop', record: 'status', actions: ['stop 1'], phase: 'Stopping', says: 'Stopping' },
        afterMs: 30_000,
      },
    ],
    [
      'is not recorded of a machine that had stopped by itself',
      stopped({ spec: { powerState: 'Stopped' }, view: NONE }),
      { rule: 'stopped-as-desired', phase: 'Stopped', says: 'Ready', afterMs: 86_100_000 },
    ],
    [
      'does not end a search that had begun',
      stopped({ spec: { powerState: 'Stopped' }, run: { collectingSince: time(-60) }, view: NONE }),
      { ...READS, afterMs: 30_000 },
    ],
    [
      'is not recorded without a machine',
      unrented({ spec: { powerState: 'Stopped' } }),
      { rule: 'stopped-and-unrented', phase: 'Stopped', says: 'Ready' },
    ],
    [
      'is not recorded of a machine that is rented now',
      unrented({
        ...{ spec: { powerState: 'Stopped' }, intent: intent({ attempt: 2 }) },
        ...{ annotations: { 'gpurental.dev/cancel-at': 'now' }, memory: { rented: RENTED } },
      }),
      SAVES,
    ],
    [
      'is not recorded of the first machine of an object without a status',
      {
        ...{ spec: specOf({ spec: { powerState: 'Stopped' } }), intent: intent() },
        memory: { rented: { ...RENTED, attempt: 1 } },
      },
      SAVES,
    ],
    [
      'is ended by a start after the files were read',
      stopped({ run: { stopped: true }, view: NONE }),
      {
        ...{ rule: 'start', record: 'status', actions: ['start 1'], phase: 'Starting', says: 'Starting' },
        afterMs: 120_000,
      },
    ],
    [
      'is not ended by a start before the files were read',
      stopped({ run: { stopped: true } }),
      { ...READS, afterMs: 30_000 },
    ],
    [
      'does not hide that the program ended before',
      stopped({ spec: { powerState: 'Stopped' }, run: { stopped: true }, view: found(0) }),
      { ...SETTLES, says: 'Completed, Stopping' },
    ],
  ]);
});

describe('the machine of a run', () => {
  const OUTBID: RunGiven = {
    machine: { interruptible: true },
    run: { collectingSince: time(-120) },
    view: NONE,
  };
  table([
    [
      'is lost two minutes after it was outbid',
      stopped(OUTBID),
      {
        ...{ rule: 'collect-result', record: 'status', actions: ['destroy 1 (SoldToOther)'] },
        ...{ phase: 'Replacing', says: 'SoldToOther, Replacing', afterMs: 1_000 },
      },
    ],
    [
      'is not lost before that',
      stopped({ ...OUTBID, run: { collectingSince: time(-110) } }),
      { ...READS, afterMs: 10_000 },
    ],
    [
      'is not lost to another customer when its container ended by itself',
      run({ ...OUTBID, machine: { interruptible: true, state: 'exited' } }),
      { ...READS, phase: 'Lost', afterMs: 30_000 },
    ],
    [
      'is not shown as kept by a person after one list that shows it outbid',
      stopped({
        ...{ ...OUTBID, annotations: HOLD },
        machine: { interruptible: true, unsettled: new Set(['state']) },
      }),
      { ...READS, afterMs: 30_000 },
    ],
    [
      'ends when the run is over, although its own result is in its files',
      stopped({ run: { outcome: 'Cancelled', finishedAt: time(-1) }, view: found(0) }),
      ends('Cancelled'),
    ],
    ['goes on after a record that names no result', run({ run: settled('Vanished') }), RUNS],
    [
      'goes on with a result on record if the object is no run',
      run({ run: over('Completed'), spec: { completion: undefined } }),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    ['ends after its success is on record', stopped({ run: over('Completed') }), ends('Completed')],
    [
      'ends after its success while the account cannot rent',
      stopped({ run: over('Completed'), facts: { suspended: true, breaker: OPEN_BREAKER } }),
      ends('Completed'),
    ],
    ['ends after its success although it runs again', run({ run: over('Completed') }), ends('Completed')],
    [
      'is awaited as finished when its destroy was answered',
      stopped({
        run: over('Completed'),
        memory: {
          destroys: [{ instanceId: '1', reason: 'Completed', answeredAt: at(-15), endedAt: at(-15) }],
        },
      }),
      {
        ...{ rule: 'carry-through-destroy', phase: 'Stopping', says: 'Completed, Replacing' },
        ...{ onList: true, afterMs: 15_000 },
      },
    ],
    [
      'is kept by a person after its success',
      stopped({ run: over('Completed'), annotations: HOLD }),
      { rule: 'run-finished', phase: 'Stopped', says: 'Paused', afterMs: 60_000 },
    ],
    [
      'is kept by onSuccess',
      stopped({ run: over('Completed'), completion: { onSuccess: 'Keep' } }),
      { rule: 'run-finished', record: 'status', phase: 'Succeeded', says: 'Ready', afterMs: 86_100_000 },
    ],
    [
      'is kept by onSuccess without a known price',
      stopped({
        ...{ run: over('Completed'), completion: { onSuccess: 'Keep' } },
        machine: { pricePerHour: undefined, storagePricePerHour: undefined },
        status: { cost: undefined, offerPricePerHour: undefined },
      }),
      { rule: 'run-finished', record: 'status', phase: 'Succeeded', says: 'Ready', afterMs: 86_100_000 },
    ],
    [
      'is kept until ttlAfterFinished deletes its object',
      stopped({ run: over('Completed'), completion: { onSuccess: 'Keep', ttlAfterFinished: '1h' } }),
      { rule: 'run-finished', record: 'status', phase: 'Succeeded', says: 'Ready', afterMs: 3_599_000 },
    ],
    [
      'is kept until its limit, before ttlAfterFinished',
      stopped({ run: over('Completed'), completion: { onSuccess: 'Keep', ttlAfterFinished: '48h' } }),
      { rule: 'run-finished', record: 'status', phase: 'Succeeded', says: 'Ready', afterMs: 86_100_000 },
    ],
    [
      'is kept by onSuccess, stopped',
      stopped({ run: over('Completed'), completion: { onSuccess: 'Stop' } }),
      { rule: 'run-finished', record: 'status', phase: 'Succeeded', says: 'Ready', afterMs: 86_100_000 },
    ],
    [
      'is not asked again to stop when its host has no contact and the marketplace accepted the stop',
      run({
        ...{ run: over('Completed'), completion: { onSuccess: 'Stop' } },
        machine: { state: 'offline', intendedPower: 'stopped' },
      }),
      { rule: 'run-finished', record: 'status', phase: 'Succeeded', says: 'Ready', afterMs: 86_100_000 },
    ],
    [
      'is asked again to stop when its host has no contact and it may still run',
      run({
        ...{ run: over('Completed'), completion: { onSuccess: 'Stop' } },
        machine: { state: 'offline', intendedPower: 'running' },
      }),
      {
        ...{ rule: 'run-finished', record: 'status', actions: ['stop 1'], phase: 'Stopping' },
        ...{ says: 'Completed, Stopping', onList: true, afterMs: 30_000 },
      },
    ],
    [
      'is kept running by onSuccess Stop if its market cannot stop it',
      run({ run: over('Completed'), completion: { onSuccess: 'Stop' }, facts: WITHOUT_STOP }),
      { rule: 'run-finished', record: 'status', phase: 'Succeeded', says: 'Ready', afterMs: 86_100_000 },
    ],
    [
      'is stopped by onSuccess',
      run({ run: over('Completed'), completion: { onSuccess: 'Stop' } }),
      {
        ...{ rule: 'run-finished', record: 'status', actions: ['stop 1'], phase: 'Stopping' },
        ...{ says: 'Completed, Stopping', onList: true, afterMs: 30_000 },
      },
    ],
    [
      'ends at its limit although onSuccess keeps it',
      stopped({
        ...{ run: over('Completed'), completion: { onSuccess: 'Keep' } },
        status: { firstRentedAt: time(-86_400) },
      }),
      {
        ...{ rule: 'limit-reached', record: 'status', actions: ['destroy 1 (LimitReached)'] },
        ...{ phase: 'Replacing', says: 'LimitReached, Replacing', afterMs: 1_000 },
      },
    ],
    [
      'ends at its limit, and its success stays on record',
      stopped({
        ...{ run: over('Completed'), completion: { onSuccess: 'Keep' } },
        status: {
          firstRentedAt: time(-86_400),
          conditions: [{ ...readyCondition('Completed'), type: 'Succeeded', status: 'True' }],
        },
      }),
      {
        ...{ rule: 'limit-reached', record: 'status', actions: ['destroy 1 (LimitReached)'] },
        ...{ phase: 'Replacing', says: 'LimitReached, Replacing', afterMs: 1_000 },
      },
    ],
    ['ends before another attempt', stopped({ run: settled('RunFailed', { failed: 1 }) }), ends('RunFailed')],
    [
      'ends before another attempt although onFailure keeps the last one',
      stopped({ run: settled('RunFailed', { failed: 1 }), completion: { onFailure: 'Keep' } }),
      ends('RunFailed'),
    ],
    [
      'is kept by onFailure after the last attempt',
      stopped({ run: over('BackoffLimit', { failed: 4, exitCode: 7 }), completion: { onFailure: 'Keep' } }),
      {
        ...{ rule: 'run-finished', record: 'status', phase: 'Failed', says: 'stalled: BackoffLimit' },
        afterMs: 86_100_000,
      },
    ],
    [
      'is kept by onFailure after too many lost machines',
      stopped({ run: over('LostLimit', { lost: 21 }), completion: { onFailure: 'Keep' } }),
      {
        ...{ rule: 'run-finished', record: 'status', phase: 'Failed', says: 'stalled: LostLimit' },
        afterMs: 86_100_000,
      },
    ],
    [
      'is stopped after a cancellation, so that its program saves its work',
      run({ run: over('Cancelled'), annotations: CANCEL }),
      {
        ...{ rule: 'run-finished', record: 'status', actions: ['stop 1'], phase: 'Stopping' },
        ...{ says: 'Cancelled, Stopping', onList: true, afterMs: 30_000 },
      },
    ],
    [
      'is stopped at a deadline, so that its program saves its work',
      run({ run: over('DeadlineExceeded') }),
      {
        ...{ rule: 'run-finished', record: 'status', actions: ['stop 1'], phase: 'Stopping' },
        ...{ says: 'DeadlineExceeded, Stopping', onList: true, afterMs: 30_000 },
      },
    ],
    [
      'is given the rest of the grace after its stop',
      run({ run: over('Cancelled'), completion: { stopGrace: '15s' }, memory: { stopAskedAt: at(-5) } }),
      {
        ...{ rule: 'run-finished', record: 'status', phase: 'Stopping' },
        ...{ says: 'Cancelled, Stopping', onList: true, afterMs: 10_000 },
      },
    ],
    [
      'is asked again to stop within a longer grace',
      run({ run: over('Cancelled'), completion: { stopGrace: '10m' }, memory: { stopAskedAt: at(-5) } }),
      {
        ...{ rule: 'run-finished', record: 'status', phase: 'Stopping' },
        ...{ says: 'Cancelled, Stopping', onList: true, afterMs: 25_000 },
      },
    ],
    [
      'is destroyed after a cancellation at once without a grace',
      run({ run: over('Cancelled'), completion: { stopGrace: '0s' } }),
      ends('Cancelled'),
    ],
    [
      'is destroyed after a cancellation at once if its market cannot stop it',
      run({ run: over('Cancelled'), facts: WITHOUT_STOP }),
      ends('Cancelled'),
    ],
    [
      'is destroyed after a cancellation when the grace is over',
      run({ run: over('Cancelled'), memory: { stopAskedAt: at(-30) } }),
      ends('Cancelled'),
    ],
    [
      'is destroyed after a cancellation at once when it has stopped',
      stopped({ run: over('Cancelled'), memory: { stopAskedAt: at(-5) } }),
      ends('Cancelled'),
    ],
    [
      'is destroyed after a cancellation when its stop fails',
      run({ run: over('Cancelled'), memory: { failures: 1 } }),
      ends('Cancelled'),
    ],
    [
      'is kept at a deadline by the deletion policy',
      run({ run: over('DeadlineExceeded'), spec: { deletionPolicy: 'Retain' } }),
      {
        rule: 'run-finished',
        record: 'status',
        phase: 'Failed',
        says: 'stalled: DeadlineExceeded',
        afterMs: 86_100_000,
      },
    ],
    [
      'is kept at a deadline, whose cause stays the same while it bills',
      run({
        ...{ run: over('DeadlineExceeded', { finishedAt: time(-240) }) },
        spec: { deletionPolicy: 'Retain', maxTotalCost: '0.02' },
      }),
      { rule: 'run-finished', record: 'status', phase: 'Failed', says: 'stalled: DeadlineExceeded' },
    ],
    [
      'is not forgotten without its account',
      stopped({ run: over('Completed'), account: { state: 'missing' } }),
      { rule: 'keep-until-account-known' },
    ],
    ['is not replaced for a changed spec', run({ status: { specHash: 'v2:0000000000000000' } }), RUNS],
    [
      'is replaced by request of a person',
      run({ annotations: { 'gpurental.dev/replace-at': time(-1) } }),
      {
        ...{ rule: 'replace-requested', record: 'status', actions: ['destroy 1 (ReplaceRequested)'] },
        ...{ phase: 'Replacing', says: 'ReplaceRequested, Replacing', afterMs: 1_000 },
      },
    ],
    [
      'counts as lost when it vanished',
      run({
        machines: [],
        observed: {
          absences: new Map([['1', { lists: lists(-120, -30), read: 'absent' }]]),
          loginProven: true,
        },
      }),
      {
        ...{ rule: 'machine-missing', record: 'status', phase: 'Replacing', says: 'Vanished' },
        ...{ settled: ['1'], afterMs: 0 },
      },
    ],
    [
      'is stopped before it is destroyed with its object',
      run({ deleting: true }),
      {
        ...{ rule: 'stop-run', record: 'status', actions: ['stop 1'], phase: 'Deleting', says: 'Stopping' },
        ...{ onList: true, afterMs: 30_000 },
      },
    ],
    [
      'is destroyed with its object when the grace is over',
      run({ deleting: true, memory: { stopAskedAt: at(-30) } }),
      { rule: 'destroy-machines', actions: ['destroy 1 (Deleting)'], onList: true, afterMs: 5_000 },
    ],
    [
      'is destroyed with its object at once when it has stopped',
      stopped({ deleting: true }),
      { rule: 'destroy-machines', actions: ['destroy 1 (Deleting)'], onList: true, afterMs: 5_000 },
    ],
  ]);
});

describe('a run without a machine', () => {
  const OFFER: Given['observed'] = {
    listsBegun: [at(-100), at(-1)],
    offers: new Map([[0, { type: 'found', offers: [offer()] }]]),
  };
  const REFUSED: Given = {
    intent: intent({ attempt: 2 }),
    memory: { refused: { attempt: 2, issuedAt: at(-301) } },
  };
  const FINISHED = { rule: 'run-over', record: 'status' };
  const status = (reason: string) => ({ conditions: [readyCondition(reason)] });
  table([
    [
      'rents again after the wait of a failed attempt',
      unrented({ run: settled('RunFailed', { failed: 1 }, -11), observed: OFFER }),
      RENTS,
    ],
    [
      'rents again when the wait of a failed attempt is over',
      unrented({ run: settled('RunFailed', { failed: 1 }, -10), observed: OFFER }),
      RENTS,
    ],
    [
      'waits no longer after a failed attempt if the clock was set back',
      unrented({ run: settled('RunFailed', { failed: 1, exitCode: 7 }, 60), observed: OFFER }),
      { rule: 'run-retry', phase: 'Pending', says: 'RunFailed', afterMs: 10_000 },
    ],
    [
      'waits after a failed attempt',
      unrented({ run: settled('RunFailed', { failed: 3, exitCode: 7 }), observed: OFFER }),
      { rule: 'run-retry', phase: 'Pending', says: 'RunFailed', afterMs: 39_000 },
    ],
    ['rents again at once after a lost machine', unrented({ run: { lost: 20 }, observed: OFFER }), RENTS],
    [
      'succeeds when its machine is gone',
      unrented({ run: over('Completed', { exitCode: 0 }), observed: OFFER, status: status('Completed') }),
      { ...FINISHED, phase: 'Succeeded', says: 'Ready' },
    ],
    [
      'stays finished without its account',
      unrented({ run: over('Completed'), account: { state: 'missing' } }),
      { ...FINISHED, phase: 'Succeeded', says: 'Ready' },
    ],
    [
      'stays finished in a namespace that its account refuses',
      withoutIntent(unrented({ run: over('Completed'), account: { state: 'missing', outsider: 'refused' } })),
      { ...FINISHED, phase: 'Succeeded', says: 'Ready' },
    ],
    [
      'stays finished although another purchase has come to nothing',
      unrented({ run: over('Completed'), ...REFUSED }),
      { ...FINISHED, phase: 'Succeeded', says: 'Ready' },
    ],
    [
      'is not finished without its account while a purchase is open',
      unrented({ run: over('Completed'), intent: intent({ attempt: 2 }), account: { state: 'missing' } }),
      { rule: 'wait-for-account', phase: 'Pending', says: 'AccountMissing' },
    ],
    [
      'rents nothing after its end, although its record names a machine without proof',
      unrented({ run: over('Completed'), status: { instanceId: '1' }, observed: OFFER }),
      { ...FINISHED, phase: 'Succeeded', says: 'Ready' },
    ],
    [
      'is deleted after its end as any other object',
      withoutIntent(unrented({ run: over('Completed'), deleting: true, finalizers: [MACHINE_FINALIZER] })),
      { rule: 'never-rented', actions: ['release'] },
    ],
    [
      'fails when its machine is gone',
      unrented({ run: over('BackoffLimit', { exitCode: 7, failed: 4 }), observed: OFFER }),
      { ...FINISHED, phase: 'Failed', says: 'stalled: BackoffLimit' },
    ],
    [
      'fails after too many lost machines',
      unrented({ run: { lost: 21 }, observed: OFFER }),
      { ...FINISHED, phase: 'Failed', says: 'stalled: LostLimit', afterMs: 0 },
    ],
    [
      'fails when maxLifetime is over',
      unrented({ status: { firstRentedAt: time(-86_400) }, observed: OFFER }),
      { ...FINISHED, phase: 'Failed', says: 'stalled: DeadlineExceeded', afterMs: 0 },
    ],
    [
      'fails when maxTotalCost is spent',
      unrented({ spec: { maxTotalCost: '1.00' }, status: { cost: { accrued: '1.00' } }, observed: OFFER }),
      { ...FINISHED, phase: 'Failed', says: 'stalled: DeadlineExceeded', afterMs: 0 },
    ],
    [
      'does not fail by a time that only one list shows',
      unrented({
        ...{ status: { firstRentedAt: time(-86_400) }, observed: OFFER },
        facts: { serviceTime: { type: 'known', at: at(0), isConfirmed: false } },
      }),
      {
        rule: 'limit-reached',
        phase: 'Failed',
        says: 'stalled: LimitReached',
        onList: true,
        afterMs: 10_000,
      },
    ],
    [
      'is cancelled by the annotation',
      unrented({ annotations: CANCEL, observed: OFFER }),
      { ...FINISHED, phase: 'Failed', says: 'stalled: Cancelled', afterMs: 0 },
    ],
    [
      'is cancelled before its first purchase',
      { spec: specOf({}), annotations: CANCEL },
      { ...FINISHED, phase: 'Failed', says: 'stalled: Cancelled', afterMs: 0 },
    ],
    [
      'is cancelled after a purchase that came to nothing',
      unrented({ annotations: CANCEL, ...REFUSED }),
      { ...FINISHED, phase: 'Failed', says: 'stalled: Cancelled', afterMs: 0 },
    ],
    [
      'reports a cancellation that is no time before its first purchase',
      {
        spec: specOf({ spec: { paused: true } }),
        annotations: { 'gpurental.dev/cancel-at': 'now' },
        observed: OFFER,
      },
      { rule: 'paused', phase: 'Paused', says: 'Paused' },
    ],
    [
      'is not cancelled before the time of the annotation',
      unrented({ annotations: { 'gpurental.dev/cancel-at': time(1) }, observed: OFFER }),
      RENTS,
    ],
    [
      'rents again although onVanish is Hold',
      unrented({
        ...{ spec: { onVanish: 'Hold' }, observed: OFFER },
        status: {
          history: [
            ...[{ attempt: 1, instanceId: '1', reason: 'Vanished', endedAt: time(-60) }].map((past) => ({
              ...past,
              ...{ rentedMinutes: 1, cost: '0.01' },
            })),
          ],
        },
      }),
      RENTS,
    ],
    [
      'is deleted after ttlAfterFinished',
      unrented({
        ...{ run: over('Completed'), completion: { ttlAfterFinished: '1s' } },
        status: { phase: 'Succeeded' },
      }),
      { ...FINISHED, actions: ['expire'], phase: 'Succeeded', says: 'Ready', afterMs: 1_000 },
    ],
    [
      'is not deleted early by a clock that jumps ahead',
      unrented({
        ...{ run: over('Completed'), completion: { ttlAfterFinished: '30m' } },
        ...{ status: { phase: 'Succeeded' }, facts: { serviceTime: { type: 'unknown' } } },
        observed: { now: NOW + 3_600_000, steadyNow: NOW },
      }),
      { ...FINISHED, phase: 'Succeeded', says: 'Ready', afterMs: 1_799_000 },
    ],
    [
      'is deleted after ttlAfterFinished when it failed',
      unrented({
        ...{ run: over('BackoffLimit', { exitCode: 7, failed: 4 }), completion: { ttlAfterFinished: '1s' } },
        status: { phase: 'Failed' },
      }),
      { ...FINISHED, actions: ['expire'], phase: 'Failed', says: 'stalled: BackoffLimit', afterMs: 1_000 },
    ],
    [
      'is not deleted before ttlAfterFinished is over',
      unrented({
        ...{ run: over('Completed'), completion: { ttlAfterFinished: '10s' } },
        status: { phase: 'Succeeded' },
      }),
      { ...FINISHED, phase: 'Succeeded', says: 'Ready', afterMs: 9_000 },
    ],
    [
      'is not deleted without ttlAfterFinished',
      unrented({ run: over('Completed'), status: { phase: 'Succeeded' } }),
      { ...FINISHED, phase: 'Succeeded', says: 'Ready' },
    ],
    [
      'is not deleted before its end was shown',
      unrented({ run: over('Completed'), completion: { ttlAfterFinished: '0s' } }),
      { ...FINISHED, phase: 'Succeeded', says: 'Ready', afterMs: 1_000 },
    ],
  ]);
});

close();
