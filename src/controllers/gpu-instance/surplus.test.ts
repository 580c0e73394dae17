import { describe, expect, test } from 'vitest';
import {
  at,
  type Given,
  given,
  holding,
  intent,
  labelOf,
  machineOf,
  time,
  withMachine,
} from '../../../test/builders/observed.ts';
import { decide } from './decide.ts';
import { confirmedByLabel, surplusMachines } from './surplus.ts';

/** Returns the object after its only machine ended for that reason. */
function afterOne(reason: string): Given {
  const ended = { attempt: 1, instanceId: '1', reason, endedAt: time(-60), rentedMinutes: 4, cost: '0.03' };
  return { status: { attempt: 1, history: [ended] } };
}

/** No machine is recorded any more, two purchases are over. */
const BETWEEN = { status: { attempt: 2 } };
const OPEN = intent({ attempt: 3, issuedAt: at(-20) });
const older = machineOf(1, { id: '4' });
const ANSWERED = { instanceId: '1', reason: 'HostOffline', answeredAt: at(-40), endedAt: at(-40) } as const;

describe('one too many is', () => {
  test.for<readonly [string, Given, readonly string[]]>([
    ['nothing beside the recorded machine alone', withMachine(), []],
    [
      'a second machine of the recorded purchase',
      withMachine({}, { machines: [machineOf(1), machineOf(1, { id: '2' })] }),
      ['2'],
    ],
    [
      'no machine of a newer purchase',
      withMachine({}, { machines: [machineOf(1), machineOf(2, { id: '2' })] }),
      [],
    ],
    ['a machine of an older purchase', { ...BETWEEN, machines: [older] }, ['4']],
    [
      'a machine of an older purchase, beside an open one',
      { ...BETWEEN, intent: OPEN, machines: [older] },
      ['4'],
    ],
    [
      'no machine of the recorded purchase while the recorded one is not listed',
      withMachine({}, { machines: [machineOf(1, { id: '2' })] }),
      [],
    ],
    [
      'no machine of the recorded purchase while another purchase is open',
      withMachine(
        {},
        {
          machines: [machineOf(1), machineOf(1, { id: '2' })],
          intent: intent({ attempt: 2, issuedAt: at(-20) }),
        },
      ),
      [],
    ],
    [
      'no machine of the last purchase without a record',
      { status: { attempt: 1 }, machines: [machineOf(1)] },
      [],
    ],
    [
      'a machine whose destroy was answered, once somebody wrote another into the status',
      { status: { attempt: 1, instanceId: '7' }, machines: [machineOf(1)], memory: { destroys: [ANSWERED] } },
      ['1'],
    ],
    [
      'a machine that was given up, and is listed again',
      { ...afterOne('SpecChanged'), machines: [machineOf(1)] },
      ['1'],
    ],
    [
      'a machine that was given up, and is listed again where none may follow it',
      { ...afterOne('LimitReached'), spec: { maxTotalCost: '0', paused: true }, machines: [machineOf(1)] },
      ['1'],
    ],
    [
      'no machine that vanished, and is listed again',
      { ...afterOne('Vanished'), machines: [machineOf(1)] },
      [],
    ],
    [
      'no machine that ended itself by its own fuse, and is listed again (C12)',
      { ...afterOne('EndedItself'), machines: [machineOf(1)] },
      [],
    ],
    [
      'no other machine of a purchase whose machine was given up',
      { ...afterOne('SpecChanged'), machines: [machineOf(1, { id: '2' })] },
      [],
    ],
    [
      'not the recorded machine whose destroy was answered',
      withMachine({}, { machines: [machineOf(1)], memory: { destroys: [ANSWERED] } }),
      [],
    ],
    [
      'no machine that the status names without a claim that verifies, as after somebody raised its attempt',
      { status: { ...holding(), attempt: 5 }, machines: [machineOf(1)] },
      [],
    ],
    [
      'no machine whose label does not fit its time',
      { ...BETWEEN, machines: [machineOf(1, { id: '4', label: labelOf(1, at(-90_000)) })] },
      [],
    ],
    ['nothing without a list', { status: holding(), list: 'none' }, []],
  ])('%s', ([, situation, ids]) => {
    expect(surplusMachines(given(situation)).map(({ row }) => row.id)).toEqual(ids);
  });
});

const ruleOf = (situation: Given): string => {
  const step = decide(given(situation));
  return step.type === 'decision' ? step.rule : step.type;
};

test('a machine of an older purchase is destroyed whether a rental is open, or none is', () => {
  expect(ruleOf({ ...BETWEEN, machines: [older] })).toBe('destroy-surplus');
  expect(ruleOf({ ...BETWEEN, intent: OPEN, machines: [older] })).toBe('destroy-surplus');
});

test('a result that is not saved yet comes before any tidying up', () => {
  const machines = [older, machineOf(3, { id: '9' })];
  expect(ruleOf({ ...BETWEEN, intent: OPEN, machines })).toBe('record-found-machine');
});

test('a guard that was taken away is restored for a machine that was found, and while one may come', () => {
  const found = { intent: intent(), machines: [machineOf(1)], finalizers: [] };
  expect(ruleOf(found)).toBe('restore-finalizer');
  expect(ruleOf({ intent: OPEN, finalizers: [] })).toBe('restore-finalizer');
  expect(ruleOf({ finalizers: [] })).not.toBe('restore-finalizer');
});

describe('a machine whose label is not agreed on', () => {
  const doubtful = machineOf(1, { id: '4', unsettled: new Set(['label']) });
  const idsOf = (situation: Given) =>
    confirmedByLabel(given({ ...situation, observed: { labelReads: new Map() } }), [doubtful]);

  test('may go without a read when this process destroyed it', () => {
    expect(idsOf({ memory: { destroys: [{ ...ANSWERED, instanceId: '4' }] } })).toEqual({ ids: ['4'] });
  });

  test('may go without a read when the history says that it was given up', () => {
    const ended = { attempt: 1, reason: 'Exited', endedAt: time(-60), rentedMinutes: 4, cost: '0.03' };
    expect(idsOf({ status: { attempt: 1, history: [{ ...ended, instanceId: '4' }] } })).toEqual({
      ids: ['4'],
    });
  });

  test('stays when another machine was destroyed', () => {
    expect(idsOf({ memory: { destroys: [ANSWERED] } })).toEqual({ ids: [] });
  });
});
