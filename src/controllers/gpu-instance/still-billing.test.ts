import { describe, expect, test } from 'vitest';
import { at, type Given, given, readyCondition, time, withMachine } from '../../../test/builders/observed.ts';
import { decide } from './decide.ts';

/** Messages of Ready, and of Stalled if present. */
function says(situation: Given): readonly (string | undefined)[] {
  const step = decide(given(situation));
  if (step.type !== 'decision' || !step.status) throw new Error('no status');
  const { Ready, Stalled } = step.status.verdict;
  return [Ready.message, Stalled?.message];
}

const exited = { state: 'exited' } as const;
const listsBegun = [at(-20), at(-10)];
const lost = {
  observed: { listsBegun },
  status: { actualStatus: 'exited', actualStatusSince: '2026-11-20T11:58:00Z' },
};

describe('P2: a machine that still bills', () => {
  test('is named with its price when a program ended and the policy is Never', () => {
    const [ready, stalled] = says(
      withMachine(exited, { ...lost, spec: { replacement: { policy: 'Never' } } }),
    );
    expect(ready).toBe(
      'The container ended; machine 1 is kept (policy Never) and bills $0.50/h until it is destroyed. Delete the object, or set spec.replacement.policy to Always to rent another.',
    );
    expect(stalled).toBe(ready);
  });

  test.each<[string, Given, string]>([
    [
      'stopped on request',
      withMachine(
        { state: 'stopped' },
        { spec: { powerState: 'Stopped' }, status: { actualStatus: 'stopped' } },
      ),
      'The disk of machine 1 bills $0.01/h.',
    ],
    [
      'lost and held by an annotation',
      withMachine(exited, { ...lost, annotations: { 'gpurental.dev/hold': '' } }),
      'Machine 1 bills $0.50/h.',
    ],
    ['lost and paused', withMachine(exited, { ...lost, spec: { paused: true } }), 'Machine 1 bills $0.50/h.'],
    [
      'kept beyond a limit by deletionPolicy Retain',
      withMachine({}, { spec: { maxLifetime: '1m', deletionPolicy: 'Retain' } }),
      'Machine 1 bills $0.50/h.',
    ],
    [
      'stopped beyond a limit by deletionPolicy Stop',
      withMachine(
        { state: 'stopped' },
        {
          spec: { maxLifetime: '1m', deletionPolicy: 'Stop' },
          status: { conditions: [readyCondition('LimitReached')] },
        },
      ),
      'The disk of machine 1 bills $0.01/h.',
    ],
    [
      'in a state that is not known',
      withMachine({ state: 'unrecognized', marketStatus: 'pondering' }),
      'Machine 1 bills $0.50/h.',
    ],
    [
      'not mapping its ports',
      withMachine({}, { spec: { ports: [{ containerPort: 8080 }] } }),
      'Machine 1 bills $0.50/h.',
    ],
  ])('is named with its price when it is %s', (_, situation, text) => {
    expect(says(situation)[0]).toContain(text);
  });

  test('is named with the price of its disk if it is stopped, and without one if that is not known', () => {
    const stopped = (cost: { storagePricePerHour?: string }, row = {}) =>
      withMachine(
        { state: 'stopped', ...row },
        {
          facts: { suspended: true },
          status: { cost: { pricePerHour: '0.50', accrued: '0.00', since: time(-300), ...cost } },
        },
      );
    expect(says(stopped({ storagePricePerHour: '0.01' }))[0]).toContain(
      'The disk of machine 1 bills $0.01/h.',
    );
    expect(says(stopped({}, { storagePricePerHour: undefined }))[0]).toMatch(
      /The disk of machine 1 bills\.$/,
    );
  });

  test.each<[string, Given]>([
    ['works', withMachine()],
    ['boots', withMachine({ state: 'loading', marketStatus: 'loading' })],
  ])('claims no bill when it %s', (_, situation) => {
    expect(says(situation)[0]).not.toContain('bills');
  });

  test('is named once where the message of a rule has its price', () => {
    const [ready = ''] = says(withMachine(exited, { ...lost, memory: { destroyFailures: 3 } }));
    expect(ready.match(/\$[\d.]+\/h/g)).toHaveLength(1);
  });
});
