import { describe, expect, test } from 'vitest';
import { at, given, holding, NOW, row, time, withMachine } from '../../../test/builders/observed.ts';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import { withRow } from './machine-fields.ts';
import { ObjectMemory, SteadyClock } from './memory.ts';

describe('money', () => {
  test('of a stopped machine is that of its disk, from when the stop was answered', () => {
    const situation = withMachine({ state: 'stopped' }, { memory: { stopAnsweredAt: at(-100) } });
    const { cost } = withRow(given(situation), row({ state: 'stopped' }));
    expect(cost).toMatchObject({ pricePerHour: '0.01', since: time(-100), accrued: '0.027778' });
  });

  test('of a machine that runs again after hours is not that of the hours since it was asked to stop', () => {
    const disk = { pricePerHour: '0.01', accrued: '0.00', since: time(-250) };
    const stopped = { actualStatus: 'stopped', actualStatusSince: time(-250), cost: disk };
    const situation = withMachine({}, { status: stopped, memory: { stopAnsweredAt: at(-250) } });
    const { cost } = withRow(given(situation), row());
    expect(cost).toMatchObject({ pricePerHour: '0.50', since: time(-1) });
  });
});

describe('money after a restart', () => {
  const answer = (action: 'Destroy' | 'Stop' | 'Start', seconds: number) => ({
    answered: { action, at: time(seconds) },
  });
  const disk = { pricePerHour: '0.01', accrued: '0.00', since: time(-250), storagePricePerHour: '0.01' };
  const stopped = { actualStatus: 'stopped', actualStatusSince: time(-250), cost: disk };

  test('is that of the disk from the recorded answer to a stop on', () => {
    const situation = withMachine({ state: 'stopped' }, { status: answer('Stop', -100) });
    const facts = given(situation);
    const memory = new ObjectMemory();
    const { object, purchase, machine } = facts;
    const steady = new SteadyClock(createVirtualClock({ startMs: NOW }));
    const recorded = machine.list?.recorded;
    memory.note({ object, intent: purchase.intent, recorded, list: undefined, steady, serviceNow: NOW });
    const { cost, answered } = withRow({ ...facts, memory: memory.view() }, row({ state: 'stopped' }));
    expect(cost).toMatchObject({ pricePerHour: '0.01', since: time(-100), accrued: '0.027778' });
    expect(answered).toEqual({ action: 'Stop', at: time(-100) });
  });

  test('does not go back to a stop that its cost includes', () => {
    const status = { ...stopped, ...answer('Stop', -250) };
    const { object, purchase } = given(withMachine({}, { status }));
    const memory = new ObjectMemory();
    const steady = new SteadyClock(createVirtualClock({ startMs: NOW }));
    const seen = { object, intent: purchase.intent, recorded: undefined, list: undefined };
    memory.note({ ...seen, steady, serviceNow: NOW });
    expect(memory.fields.stopAnsweredAt).toBeUndefined();
  });

  test('is the whole one from the recorded answer to a start on, also while one list alone shows it', () => {
    const status = { ...stopped, ...answer('Start', -100) };
    const { cost } = withRow(given(withMachine({}, { status })), row());
    expect(cost).toMatchObject({ pricePerHour: '0.50', since: time(-100) });
    const unsettled = withRow(given(withMachine({}, { status })), row({ unsettled: new Set(['state']) }));
    expect(unsettled.cost).toMatchObject({
      pricePerHour: '0.01',
      reported: { pricePerHour: '0.50', since: time(-100) },
    });
  });

  test.each([
    ['of a start while a list begun after it shows the machine stopped', 'Start', -100, 'stopped', false],
    ['of a start by a list begun before it', 'Start', 0, 'stopped', true],
    ['of a start when the machine runs at its whole price', 'Start', -100, 'running', false],
    ['of a destroy while lists may lag', 'Destroy', -20, 'running', true],
    ['of a destroy that a later list contradicts', 'Destroy', -100, 'running', false],
  ] as const)('answer %s', (_, action, seconds, state, isKept) => {
    const cost = state === 'running' ? holding().cost : disk;
    const status = { ...(state === 'stopped' && stopped), ...answer(action, seconds), cost };
    const fields = withRow(given(withMachine({ state }, { status })), row({ state }));
    expect(fields.answered !== undefined).toBe(isKept);
  });
});

describe('the mark that the price is that of the offer', () => {
  const reports = { pricePerHour: { value: 900_000, isAgreed: false, isImplausible: true } };
  const cost = { accrued: '0.00', since: time(-300), pricePerHour: '0.50', storagePricePerHour: '0.01' };
  const markOf = (change: Parameters<typeof row>[0], status: object) =>
    withRow(given(withMachine(change, { status })), row(change)).cost?.priceOffered;

  test('stays while the machine is stopped, and is not set then', () => {
    expect(markOf({ state: 'stopped' }, { cost: { ...cost, priceOffered: true } })).toBe(true);
    expect(markOf({ state: 'stopped', reports }, { cost })).toBeUndefined();
  });

  test('is set by a report that contradicts the price, unless lists confirmed that price before', () => {
    expect(markOf({ reports }, { cost: { ...cost, priceOffered: true } })).toBe(true);
    expect(markOf({ reports }, { cost })).toBeUndefined();
    expect(markOf({ reports }, { cost: { ...cost, pricePerHour: '0.01' } })).toBe(true);
  });
});

test('a machine whose state is hidden bills its disk after a stop that is still desired', () => {
  const priceOf = (spec: object, status: object = {}) => {
    const situation = withMachine(
      { state: 'unseen' },
      { spec, status, memory: { stopAnsweredAt: at(-100) } },
    );
    return withRow(given(situation), row({ state: 'unseen' })).cost?.pricePerHour;
  };
  const idle = { idle: { after: '10m', below: 5, action: 'Stop' } };
  expect(priceOf({ powerState: 'Stopped' })).toBe('0.01');
  expect(priceOf(idle, { idleEndedAt: time(-120) })).toBe('0.01');
  expect(priceOf(idle)).toBe('0.50');
  expect(priceOf({})).toBe('0.50');
});
