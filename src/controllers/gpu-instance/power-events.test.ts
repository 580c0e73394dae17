import { describe, expect, test } from 'vitest';
import { at, type Given, given, readyCondition, time, withMachine } from '../../../test/builders/observed.ts';
import { decide } from './decide.ts';

/* M9 and P4: each start and stop of a machine is one event, whoever caused it. */

function notes(situation: Given): readonly string[] {
  const step = decide(given(situation));
  if (step.type !== 'decision') throw new Error(`not a decision: ${step.type}`);
  return step.events.map(({ type, reason, note }) => `${type} ${reason}: ${note}`);
}
const wanted = { powerState: 'Stopped' } as const;
const said = (reason: string, actualStatus = 'running') => ({
  ...{ actualStatus, conditions: [readyCondition(reason)] },
});

describe('M9: powerState', () => {
  test('reports once that the machine is being stopped', () => {
    const running = withMachine({}, { spec: wanted, status: said('Ready') });
    expect(notes(running)).toEqual(['Normal InstanceStopping: Stopping machine 1: powerState is Stopped.']);
    expect(notes(withMachine({}, { spec: wanted, status: said('Stopping') }))).toEqual([]);
  });

  test('reports once that the machine is stopped, with what its disk bills', () => {
    const stopped = (reason: string) =>
      withMachine({ state: 'stopped' }, { spec: wanted, status: said(reason) });
    expect(notes(stopped('Stopping'))).toEqual([
      'Normal InstanceStopped: Machine 1 stopped as requested. Its disk bills $0.01/h.',
    ]);
    expect(notes(stopped('Stopped'))).toEqual([]);
  });

  test('reports once that the machine is being started', () => {
    const starts = (reason: string) => withMachine({ state: 'stopped' }, { status: said(reason, 'stopped') });
    expect(notes(starts('Stopped'))).toEqual([
      'Normal InstanceStarting: Starting machine 1: powerState is Running.',
    ]);
    expect(notes(starts('Starting'))).toEqual([]);
  });

  test('reports the price of a running machine when one list shows that it runs and its disk is on record', () => {
    const cost = { pricePerHour: '0.01', storagePricePerHour: '0.01', accrued: '0.00', since: time(-100) };
    const row = { unsettled: new Set(['state'] as const) };
    expect(notes(withMachine(row, { status: { ...said('Starting', 'stopped'), cost } }))).toContain(
      'Normal InstanceStarted: Machine 1 runs again. It bills $0.50/h.',
    );
  });

  test('reports that a started machine runs again, with its price', () => {
    expect(notes(withMachine({}, { status: said('Starting', 'stopped') }))).toContain(
      'Normal InstanceStarted: Machine 1 runs again. It bills $0.50/h.',
    );
    expect(notes(withMachine({}, { status: said('Ready') })).join()).not.toContain('InstanceStarted');
  });
});

describe('P4: a machine that the marketplace stopped', () => {
  const stoppedByItself = (situation: Given = {}, row = {}) =>
    notes(withMachine({ state: 'stopped', ...row }, { status: said('Ready'), ...situation }));

  test('is an event that names the used up credit', () => {
    expect(stoppedByItself({ facts: { creditUsedUp: true } })).toContain(
      'Warning StoppedByMarketplace: Machine 1 was stopped by the marketplace, not on request. The credit of the account is used up: add credit. Its disk bills $0.01/h.',
    );
  });

  test('is an event that names a higher bid as the possible cause of an interruptible one', () => {
    expect(stoppedByItself({}, { interruptible: true }).join()).toContain('others may have bid more');
  });

  test('scenario 121: is an event that names the end of its contract, and neither credit nor bids', () => {
    const contractEnd = { at: time(-60), isReported: true };
    const status = { ...said('Ready'), contractEnd };
    const facts = { creditUsedUp: true };
    const spec = { onContractEnd: 'Keep' } as const;
    const events = stoppedByItself({ facts, spec, status }, { endsAt: at(-60), interruptible: true });
    expect(events).toContain(
      'Warning ContractEnd: Machine 1 was stopped by the marketplace: its rental contract has ended. Its disk bills $0.01/h.',
    );
    expect(events.join()).not.toMatch(/StoppedByMarketplace|credit|bid/);
    const later = { at: time(60), isReported: true };
    const early = stoppedByItself({ status: { ...status, contractEnd: later } }, { endsAt: at(60) });
    expect(early.join()).toContain('Warning StoppedByMarketplace: ');
  });

  test('is no event of the marketplace if powerState asked for the stop', () => {
    expect(stoppedByItself({ spec: wanted }).join()).not.toContain('StoppedByMarketplace');
    expect(stoppedByItself({ status: said('Stopping') }).join()).not.toContain('StoppedByMarketplace');
  });

  test('reports the credit as the reason if its start is refused for it', () => {
    const refusal = {
      reason: 'InsufficientCredit',
      detail: 'More than $0.00 of credit must remain.',
    } as const;
    const memory = { refusal, notBefore: Number.POSITIVE_INFINITY };
    const status = said('Starting', 'stopped');
    expect(notes(withMachine({ state: 'stopped' }, { memory, status }))).toEqual([
      expect.stringMatching(/^Warning InsufficientCredit: More than \$0\.00 of credit must remain\./),
    ]);
    const again = said('InsufficientCredit', 'stopped');
    expect(notes(withMachine({ state: 'stopped' }, { memory, status: again }))).toEqual([]);
  });
});
