import { describe, expect, test } from 'vitest';
import { decisionTables } from '../../../../test/builders/decision-table.ts';
import { destroys, HOLD, lists, OPEN_BREAKER } from '../../../../test/builders/ending-machine.ts';
import {
  at,
  type Given,
  given,
  intent,
  movingRecord,
  readyCondition,
  row,
  time,
  UID,
  withMachine,
} from '../../../../test/builders/observed.ts';
import { toyFacts } from '../../../../test/builders/toy-market.ts';
import type { Machine } from '../../../accounts/beliefs/machine.ts';
import type { BreakerState } from '../../../accounts/breaker.ts';
import type { GpuInstanceManifestSpec } from '../../../api/v1alpha1/gpu-instance.ts';
import { decide } from '../decide.ts';
import type { IdleView } from '../types.ts';

const { table, close } = decisionTables('idle');

const MINUTE = 60;
const EXTEND = 'gpurental.dev/idle-extend-until';

interface IdleGiven extends Given {
  /** Minutes of idle time; undefined while the machine is in use. */
  readonly minutes?: number | undefined;
  readonly view?: Partial<IdleView>;
  /** Minutes since the warning came on record. */
  readonly warned?: number;
  readonly idle?: Partial<NonNullable<GpuInstanceManifestSpec['idle']>>;
  readonly machine?: Partial<Machine>;
}

/** Returns a running machine of an object that destroys it after half an hour; lists show it as idle all the time. */
function idle(situation: IdleGiven = {}): Given {
  const { minutes, view, warned, machine, idle: policy, ...rest } = situation;
  const since = minutes === undefined ? undefined : at(-minutes * MINUTE);
  const spec = { idle: { after: '30m', action: 'Destroy', ...policy } as const, ...rest.spec };
  const reported = since !== undefined && warned !== undefined;
  const endsAt = warned === undefined ? undefined : time((10 - warned) * MINUTE);
  return withMachine(
    { gpuUtilization: minutes === undefined ? 0.8 : 0, ...machine },
    {
      ...rest,
      spec,
      status: {
        ...(reported && { idle: { since: time(-(minutes ?? 0) * MINUTE), ...(endsAt && { endsAt }) } }),
        ...rest.status,
      },
      memory: { ...(warned !== undefined && { idleWarnedAt: at(-warned * MINUTE) }), ...rest.memory },
      observed: {
        idle: since === undefined ? undefined : { since, lists: 100, covered: 1, ...view },
        ...rest.observed,
      },
    },
  );
}

/** Returns a machine that has been idle for half an hour, with a warning ten minutes ago. */
const due = (situation: IdleGiven = {}): Given => idle({ minutes: 30, warned: 10, ...situation });

const WITHOUT_STOP = { ...toyFacts, hasUtilization: true };

const RUNS = { rule: 'run', phase: 'Running', says: 'Ready' };

describe('the idle time of a machine', () => {
  table([
    [
      'is checked when it could be long enough, while the machine is in use',
      idle(),
      { ...RUNS, afterMs: 20 * MINUTE * 1000 },
    ],
    [
      'is checked when all of it could be over, while the machine is in use and nothing ends it',
      idle({ idle: { action: 'Report' } }),
      { ...RUNS, afterMs: 30 * MINUTE * 1000 },
    ],
    ['is checked when the warning is due', idle({ minutes: 12 }), { ...RUNS, afterMs: 8 * MINUTE * 1000 }],
    ['is warned of before its end', idle({ minutes: 20 }), { ...RUNS, afterMs: MINUTE * 1000 }],
    [
      'is warned of by the whole warning when it was not noticed in time',
      idle({ minutes: 300 }),
      { ...RUNS, afterMs: MINUTE * 1000 },
    ],
    [
      'is not warned of again, and keeps its end',
      idle({ minutes: 25, warned: 5 }),
      { ...RUNS, afterMs: MINUTE * 1000 },
    ],
    [
      'keeps the recorded begin and end when they differ by less than a minute',
      idle({ minutes: 25, warned: 5, status: { idle: { since: time(-1441), endsAt: time(359) } } }),
      { ...RUNS, afterMs: MINUTE * 1000 },
    ],
    [
      'is warned of again when it began or ends more than a minute later than recorded',
      idle({ minutes: 25, warned: 5, status: { idle: { since: time(-1561), endsAt: time(239) } } }),
      { ...RUNS, afterMs: MINUTE * 1000 },
    ],
    ['is checked at its end', idle({ minutes: 29.5, warned: 9.5 }), { ...RUNS, afterMs: 30 * 1000 }],
    [
      'is not long enough while lists speak for less than four fifths of it',
      idle({ minutes: 300, view: { covered: 0.79 } }),
      { ...RUNS, afterMs: MINUTE * 1000 },
    ],
    [
      'is long enough when lists speak for four fifths of it, and five lists show it',
      idle({ minutes: 20, view: { covered: 0.8, lists: 5 } }),
      { ...RUNS, afterMs: MINUTE * 1000 },
    ],
    [
      'is not long enough while fewer than five lists show it',
      idle({ minutes: 300, view: { lists: 4 } }),
      { ...RUNS, afterMs: MINUTE * 1000 },
    ],
    [
      'is over when the machine is used again',
      { ...idle({ warned: 5, status: { idle: { since: time(-1500), endsAt: time(300) } } }) },
      { ...RUNS, afterMs: 20 * MINUTE * 1000 },
    ],
    [
      'is not reported as over while the end that it led to is under way',
      idle({
        idle: { action: 'Stop' },
        status: { idleEndedAt: time(-30), idle: { since: time(-1830), endsAt: time(-30) } },
      }),
      { ...RUNS, afterMs: 20 * MINUTE * 1000 },
    ],
    [
      'is not reported of another machine when the record moves there',
      movingRecord(due()),
      { rule: 'move-record', record: 'status', phase: 'Provisioning', says: 'Provisioning', afterMs: 0 },
    ],
    [
      'is over when the machine stops',
      idle({
        minutes: 25,
        warned: 5,
        machine: { state: 'stopped' },
        status: { actualStatus: 'running' },
      }),
      {
        rule: 'start',
        phase: 'Starting',
        says: 'Starting',
        record: 'status',
        actions: ['start 1'],
        afterMs: 120_000,
      },
    ],
    ['is not judged of a worker of a group', withWorkerLabel(due()), RUNS],
    ['is not judged at a market without figures', due({ facts: { market: toyFacts } }), RUNS],
    [
      'is not judged of a machine that is to stop',
      due({ spec: { powerState: 'Stopped' } }),
      {
        rule: 'stop',
        phase: 'Stopping',
        says: 'Stopping',
        record: 'status',
        actions: ['stop 1'],
        afterMs: 30_000,
      },
    ],
  ]);
});

function withWorkerLabel(situation: Given): Given {
  return { ...situation, labels: { 'gpurental.dev/endpoint-group': 'llm' } };
}

describe('a machine that is due for idleness', () => {
  table([
    ['is destroyed', due(), destroys('idle', 'Idle')],
    [
      'is stopped with action Stop',
      due({ idle: { action: 'Stop' } }),
      {
        rule: 'idle',
        phase: 'Stopping',
        says: 'Stopping',
        record: 'status',
        actions: ['stop 1'],
        afterMs: 30_000,
      },
    ],
    [
      'is destroyed at a market that cannot stop machines',
      due({ facts: { market: WITHOUT_STOP } }),
      destroys('idle', 'Idle'),
    ],
    [
      'is read before it is stopped',
      due({ idle: { action: 'Stop' }, observed: { ...view(30), confirmed: undefined } }),
      { reads: [{ type: 'confirm', instanceId: '1' }] },
    ],
    [
      'is not stopped while lists disagree on its state',
      due({ idle: { action: 'Stop' }, machine: { unsettled: new Set(['state']) } }),
      { ...RUNS, onList: true, afterMs: MINUTE * 1000 },
    ],
    [
      'is not stopped when the read shows a use',
      due({ idle: { action: 'Stop' }, observed: seen({ gpuUtilization: 0.5 }) }),
      { ...RUNS, afterMs: MINUTE * 1000 },
    ],
    [
      'is reported with action Report',
      idle({ minutes: 30, idle: { action: 'Report' } }),
      { ...RUNS, afterMs: MINUTE * 1000 },
    ],
    [
      'is not reported early with action Report',
      idle({ minutes: 20, idle: { action: 'Report' } }),
      { ...RUNS, afterMs: 10 * MINUTE * 1000 },
    ],
    ['is kept before the warning is over', due({ warned: 9.9 }), { ...RUNS, afterMs: 6000 }],
    [
      'is kept when the warning was of an earlier idle time',
      idle({ minutes: 30, warned: 31, status: { idle: { since: time(-3600), endsAt: time(-1260) } } }),
      { ...RUNS, afterMs: MINUTE * 1000 },
    ],
    [
      'is kept while lists speak for too little of the time',
      due({ view: { covered: 0.5 } }),
      { ...RUNS, afterMs: MINUTE * 1000 },
    ],
    [
      'is kept until the breaker has judged a list',
      due({ facts: { isEndJudged: false } }),
      { ...RUNS, onList: true, afterMs: MINUTE * 1000 },
    ],
    [
      'is kept when the read shows a use',
      due({ observed: seen({ gpuUtilization: 0.5 }) }),
      { ...RUNS, afterMs: MINUTE * 1000 },
    ],
    [
      'is kept when the read shows no figure',
      due({ observed: seen({ gpuUtilization: undefined }) }),
      { ...RUNS, afterMs: MINUTE * 1000 },
    ],
    [
      'is kept when the read fails',
      due({ observed: { ...view(30), confirmed: { instanceId: '1', read: 'failed' } } }),
      { ...RUNS, onList: true, afterMs: MINUTE * 1000 },
    ],
    [
      'is read before it ends',
      due({ observed: { ...view(30), confirmed: undefined } }),
      { reads: [{ type: 'confirm', instanceId: '1' }] },
    ],
    [
      'is kept while lists disagree on its state',
      due({ machine: { unsettled: new Set(['state']) } }),
      { ...RUNS, onList: true, afterMs: MINUTE * 1000 },
    ],
    [
      'is kept when the market cannot stop machines',
      due({ idle: { action: 'Stop' }, facts: { market: WITHOUT_STOP } }),
      { ...RUNS, afterMs: MINUTE * 1000 },
    ],
  ]);
});

test('an end for idleness is planned before it begins, so that the breaker counts all of them', () => {
  const plans = (situation: Given) => {
    const step = decide(given(situation));
    return step.type === 'decision' && step.plansEnd === true;
  };
  expect(plans(due({ facts: { isEndJudged: false } }))).toBe(true);
  expect(plans(due({ facts: { breaker: OPEN_BREAKER } }))).toBe(true);
  expect(plans(due({ idle: { action: 'Stop' }, facts: { isEndJudged: false } }))).toBe(true);
  expect(plans(due({ annotations: HOLD }))).toBe(false);
  expect(plans(due({ spec: { paused: true } }))).toBe(false);
  expect(plans(due({ warned: 9 }))).toBe(false);
  expect(plans(idle({ minutes: 90, idle: { action: 'Report' } }))).toBe(false);
});

test('a warned end is announced until it is kept, so that the breaker counts it with one that is due', () => {
  const announces = (situation: Given) => {
    const step = decide(given(situation));
    return step.type === 'decision' && step.announcesEnd === true;
  };
  expect(announces(idle({ minutes: 22, warned: 2 }))).toBe(true);
  expect(announces(due())).toBe(true);
  expect(announces(due({ facts: { breaker: OPEN_BREAKER } }))).toBe(true);
  expect(announces(idle({ minutes: 20 }))).toBe(false);
  expect(announces(due({ annotations: HOLD }))).toBe(false);
  expect(announces(idle({ minutes: 90, warned: 5, idle: { action: 'Report' } }))).toBe(false);
});

function view(minutes: number) {
  return { idle: { since: at(-minutes * MINUTE), lists: 100, covered: 1 } };
}

function seen(change: Partial<Machine>): NonNullable<Given['observed']> {
  return { ...view(30), confirmed: { instanceId: '1', read: row(change) } };
}

const released = (releasedBy: 'person' | 'hold', turn: string | undefined): BreakerState => ({
  ...{ type: 'slow', since: at(-3600), releasedAt: at(-60), releasedBy },
  ...{ unhealthy: 9, message: '9 of 9 machines were to end.', turn },
});

describe('an end for idleness', () => {
  table([
    ['is prevented by a hold', due({ annotations: HOLD }), { ...RUNS, afterMs: MINUTE * 1000 }],
    ['is prevented by a pause', due({ spec: { paused: true } }), { ...RUNS, afterMs: MINUTE * 1000 }],
    [
      'is delayed by an extension',
      due({ annotations: { [EXTEND]: time(3600) } }),
      { ...RUNS, afterMs: MINUTE * 1000 },
    ],
    [
      'is warned of before the end of an extension',
      idle({
        minutes: 90,
        annotations: { [EXTEND]: time(540) },
        status: { idle: { since: time(-5400) } },
      }),
      { ...RUNS, afterMs: MINUTE * 1000 },
    ],
    [
      'follows the end of an extension',
      due({ annotations: { [EXTEND]: time(-1) } }),
      destroys('idle', 'Idle'),
    ],
    [
      'does not follow the end of an extension that only one list dates',
      due({
        annotations: { [EXTEND]: time(-1) },
        facts: { serviceTime: { type: 'known', at: at(0), isConfirmed: false } },
      }),
      { ...RUNS, afterMs: MINUTE * 1000 },
    ],
    [
      'is prevented by an extension that is no time',
      due({ annotations: { [EXTEND]: 'tomorrow' } }),
      { ...RUNS, afterMs: MINUTE * 1000 },
    ],
    [
      'is prevented by an extension that is no time before its warning',
      idle({ minutes: 20, annotations: { [EXTEND]: 'tomorrow' } }),
      { ...RUNS, afterMs: MINUTE * 1000 },
    ],
    [
      'is delayed by an extension while only the jumped clock of the operator says that it is over',
      due({
        annotations: { [EXTEND]: time(1_800) },
        facts: { serviceTime: { type: 'known', at: at(0), isConfirmed: false } },
        observed: { ...view(30), now: at(3_600) },
      }),
      { ...RUNS, afterMs: MINUTE * 1000 },
    ],
    [
      'is prevented by an extension that is no time, which is said once',
      due({
        annotations: { [EXTEND]: 'tomorrow' },
        status: { idle: { since: time(-1800) }, idleExtended: '"tomorrow"' },
      }),
      { ...RUNS, afterMs: MINUTE * 1000 },
    ],
    [
      'is prevented by a long extension that is no time, which is said in part',
      due({ annotations: { [EXTEND]: 'tomorrow '.repeat(100) } }),
      { ...RUNS, afterMs: MINUTE * 1000 },
    ],
    [
      'is no longer prevented by an extension that was no time and was removed',
      due({ status: { idleExtended: '"tomorrow"' } }),
      destroys('idle', 'Idle'),
    ],
    [
      'is held while the breaker is open',
      due({ facts: { breaker: OPEN_BREAKER } }),
      { ...RUNS, afterMs: MINUTE * 1000 },
    ],
    [
      'is held for a person after the maximum hold of the breaker',
      due({ facts: { breaker: released('hold', UID) } }),
      { ...RUNS, afterMs: MINUTE * 1000 },
    ],
    [
      'waits for its turn after a person released the breaker',
      due({ facts: { breaker: released('person', 'other') } }),
      { ...RUNS, afterMs: MINUTE * 1000 },
    ],
    [
      'comes in its turn after a person released the breaker',
      due({ facts: { breaker: released('person', UID) } }),
      destroys('idle', 'Idle'),
    ],
    [
      'comes at a suspended account, too: nothing is rented for it',
      due({ facts: { suspended: true } }),
      destroys('idle', 'Idle'),
    ],
  ]);
});

const ENDED = { idleEndedAt: time(-600) };
const ENDING = {
  ...ENDED,
  conditions: [
    readyCondition('Idle'),
    { ...readyCondition('Replacing'), type: 'Reconciling', status: 'True' as const },
  ],
};
const destroyed = (instanceId: string) => ({
  ...{ instanceId, reason: 'Idle' as const },
  ...{ answeredAt: at(-590), endedAt: at(-590) },
});
const PAST = {
  ...{ attempt: 1, instanceId: '1', reason: 'Idle', endedAt: time(-590) },
  ...{ rentedMinutes: 60, cost: '0.5' },
};
const unrented = (situation: Given = {}): Given => ({
  intent: intent(),
  ...situation,
  spec: { idle: { after: '30m', action: 'Destroy' }, ...situation.spec },
  status: { attempt: 1, ...ENDED, history: [PAST], ...situation.status },
});
const SEARCHES = { reads: [expect.objectContaining({ type: 'offers' })] };
const ended = { rule: 'ended-as-idle', phase: 'Stopped', says: 'stalled: Idle' };

describe('after an end for idleness', () => {
  table([
    ['nothing is rented', unrented(), ended],
    [
      'nothing is rented by an extension that was over before',
      unrented({ annotations: { [EXTEND]: time(-700) } }),
      ended,
    ],
    [
      'nothing is rented by an extension that is no time',
      unrented({ annotations: { [EXTEND]: 'now' } }),
      ended,
    ],
    ['nothing is rented before the first list', unrented({ list: 'none' }), ended],
    [
      'another machine is rented by a later extension',
      unrented({ annotations: { [EXTEND]: time(3600) } }),
      SEARCHES,
    ],
    [
      'another machine is rented when the policy no longer asks for an end',
      unrented({ spec: { idle: { after: '30m' } } }),
      SEARCHES,
    ],
    [
      'a stopped machine stays so',
      idle({
        machine: { state: 'stopped' },
        idle: { action: 'Stop' },
        status: { ...ENDED, actualStatus: 'stopped' },
      }),
      { rule: 'stopped-as-desired', phase: 'Stopped', says: 'stalled: Idle' },
    ],
    [
      'a stopped machine starts by a later extension',
      idle({
        ...{ machine: { state: 'stopped' }, idle: { action: 'Stop' } },
        ...{ status: { ...ENDED, actualStatus: 'stopped' }, annotations: { [EXTEND]: time(3600) } },
      }),
      {
        rule: 'start',
        phase: 'Starting',
        says: 'Starting',
        record: 'status',
        actions: ['start 1'],
        afterMs: 120_000,
      },
    ],
    [
      'a machine that still runs is stopped again while it is idle',
      due({ idle: { action: 'Stop' }, status: ENDED }),
      {
        rule: 'stop',
        phase: 'Stopping',
        says: 'Stopping',
        record: 'status',
        actions: ['stop 1'],
        afterMs: 30_000,
      },
    ],
    [
      'a machine that still runs is destroyed again while it is idle',
      due({ status: ENDED }),
      destroys('idle', 'Idle'),
    ],
    [
      'a machine that is used after all is kept, and the end is no longer on record',
      idle({ idle: { action: 'Stop' }, status: ENDED }),
      { ...RUNS, afterMs: 20 * MINUTE * 1000 },
    ],
    [
      'a machine on whose state lists disagree is neither kept nor stopped for good',
      idle({ idle: { action: 'Stop' }, status: ENDED, machine: { unsettled: new Set(['state']) } }),
      { ...RUNS, onList: true, afterMs: 20 * MINUTE * 1000 },
    ],
    [
      'a machine is not kept while a list still shows it after its destroy was answered',
      idle({ status: ENDING, memory: { destroys: [destroyed('1')] } }),
      destroys('carry-through-destroy', 'Idle', 'OldMachineNotGone'),
    ],
    [
      'a machine that is used after all is kept, although another machine was destroyed',
      idle({ idle: { action: 'Stop' }, status: ENDED, memory: { destroys: [destroyed('2')] } }),
      { ...RUNS, afterMs: 20 * MINUTE * 1000 },
    ],
    [
      'a machine of a list that may lag behind is neither kept nor stopped for good',
      idle({ idle: { action: 'Stop' }, status: { idleEndedAt: time(-30) } }),
      { ...RUNS, afterMs: 20 * MINUTE * 1000 },
    ],
    [
      'a machine that is gone is not replaced',
      {
        ...idle({ status: ENDING, machine: {} }),
        machines: [],
        list: { recorded: undefined },
        observed: {
          absences: new Map([['1', { lists: lists(-120, -60), read: 'absent' }]]),
          loginProven: true,
        },
      },
      {
        rule: 'machine-missing',
        phase: 'Stopped',
        record: 'status',
        says: 'stalled: Idle',
        settled: ['1'],
        afterMs: 0,
      },
    ],
    [
      'no spec change replaces the stopped machine',
      idle({
        ...{ machine: { state: 'stopped' }, idle: { action: 'Stop' } },
        status: { ...ENDED, actualStatus: 'stopped', specHash: 'v2:0000000000000000' },
      }),
      { rule: 'stopped-as-desired', phase: 'Stopped', says: 'stalled: Idle', kept: true, afterMs: 60_000 },
    ],
  ]);
});

test('an extension that is no time is reported before the first machine, too', () => {
  const spec = { powerState: 'Stopped', idle: { after: '30m', action: 'Destroy' } } as const;
  const step = decide(given({ spec, annotations: { [EXTEND]: 'soon' } }));
  const notes = step.type === 'decision' ? step.events.map(({ reason }) => reason) : [];
  expect(notes).toContain('InvalidIdleExtend');
});

close();
