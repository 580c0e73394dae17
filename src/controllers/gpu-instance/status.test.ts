import { describe, expect, test } from 'vitest';
import { type Given, given, NOW, row, time, withMachine } from '../../../test/builders/observed.ts';
import type { Machine } from '../../accounts/beliefs/machine.ts';
import { decide } from './decide.ts';
import type { RecordProof } from './record-proof.ts';
import { statusOf, withRow } from './status.ts';

const before = (type: string, reason: string) => ({
  type,
  status: 'True' as const,
  reason,
  message: 'm',
  lastTransitionTime: time(-90),
  observedGeneration: 1,
});

test('removes a condition of an earlier version when it writes the status', () => {
  const conditions = [before('WithinBudget', 'WithinLimits')];
  const { object } = given(withMachine({}, { status: { conditions } }));
  const step = decide(given(withMachine({}, { status: { conditions } })));
  if (step.type !== 'decision' || !step.status) throw new Error('no status');
  const types = statusOf(object, step.status, NOW).conditions?.map(({ type }) => type);
  expect(types).toEqual(['Ready', 'Rented', 'Running']);
});

test('a condition that is not true any more does not stand any more', () => {
  const conditions = [before('Stalled', 'InvalidSpec'), before('Reconciling', 'Loading')];
  const observed = given(withMachine({}, { status: { conditions } }));
  const step = decide(observed);
  if (step.type !== 'decision' || !step.status) throw new Error('no status');
  const status = statusOf(observed.object, step.status, NOW);
  expect(status.phase).toBe('Running');
  expect(status.conditions?.map(({ type }) => type)).toEqual(['Ready', 'Rented', 'Running']);
});

test.each([
  [true, 'Paused'],
  [false, 'Running'],
])('F13: an object with paused: %s whose machine runs shows %s', (paused, phase) => {
  const observed = given(withMachine({}, { spec: { paused } }));
  const step = decide(observed);
  if (step.type !== 'decision' || !step.status) throw new Error('no status');
  expect(statusOf(observed.object, step.status, NOW).phase).toBe(phase);
});

describe('the fields of a listed machine', () => {
  const fieldsOf = (change: Partial<Machine>, situation: Given = {}) =>
    withRow(given(withMachine(change, situation)), row(change));

  test('say that the record is not confirmed until the label proves it', () => {
    const facts = given(withMachine());
    const by = (recordProof: RecordProof) => ({ ...facts, machine: { ...facts.machine, recordProof } });
    expect(withRow(by('confirmed'), row())).not.toHaveProperty('unconfirmed');
    expect(withRow(by('unseen'), row()).unconfirmed).toBe(true);
  });

  const priced = (pricing: string) => ({ field: 'pricing', value: pricing });

  test.each([
    [true, 'Interruptible'],
    [false, 'OnDemand'],
  ])('report the pricing of a found machine that is interruptible: %s', (interruptible, pricing) => {
    expect(fieldsOf({ interruptible }, { status: { facts: undefined } }).facts).toEqual(
      expect.arrayContaining([priced(pricing), { field: 'gpuName', value: 'RTX 4090' }]),
    );
  });

  test('report no pricing that the row does not show', () => {
    const found = fieldsOf({ interruptible: undefined }, { status: { facts: undefined } }).facts;
    expect(found?.map(({ field }) => field)).not.toContain('pricing');
  });

  test('report nothing of a found machine while one field is not agreed on', () => {
    const unsettled = new Set(['gpuName'] as const);
    expect(fieldsOf({ unsettled }, { status: { facts: undefined } }).facts).toBeUndefined();
  });

  test('keep what is on record of a machine that was rented', () => {
    const facts = [priced('OnDemand')];
    expect(fieldsOf({ gpuName: 'H100' }, { status: { facts } }).facts).toEqual(facts);
  });

  const reports = { pricePerHour: { value: 1e12, isAgreed: false, isImplausible: true } };
  const offered = { accrued: '0.00', since: time(-300), pricePerHour: '0.50', priceOffered: true };

  test('say that the price is that of the offer while lists contradict it', () => {
    expect(fieldsOf({ reports }, { status: { cost: offered } }).cost?.priceOffered).toBe(true);
    expect(fieldsOf({}, { status: { cost: offered } }).cost).not.toHaveProperty('priceOffered');
  });
});
