import { describe, expect, test } from 'vitest';
import { facts, type Given, given, time, withMachine } from '../../../test/builders/observed.ts';
import { decide } from './decide.ts';
import type { Observed } from './types.ts';

function decided(situation: Given) {
  const step = decide(given(situation));
  if (step.type !== 'decision' || !step.status) throw new Error('no status');
  return { ...step, status: step.status };
}

describe('the order of additions', () => {
  const taken = {
    published: { type: 'nameTaken', detail: 'The Service job is not of this object.' },
  } as const;

  test('adds the price to the message of a taken name', () => {
    const { Ready } = decided(withMachine({}, { observed: taken })).status.verdict;
    expect(Ready).toMatchObject({ status: 'False', reason: 'NameTaken' });
    expect(Ready.message).toMatch(/Machine 1 bills \$0\.50\/h\.$/);
  });

  test('records the outage of the account of an object that is not ready because of a taken name', () => {
    const outage = { since: time(-90), reason: 'Unreachable' };
    const account: Observed['account'] = {
      ...({ state: 'notReady', reason: 'Unreachable', message: 'No answer.' } as const),
      ...{ outage, facts: facts() },
    };
    expect(decided(withMachine({}, { account })).status.fields.outage).toBeUndefined();
    expect(decided(withMachine({}, { account, observed: taken })).status.fields.outage).toEqual(outage);
  });

  test('reports a stop by powerState, and no idle end that is over', () => {
    const spec = { powerState: 'Stopped', idle: { after: '10m', below: 5, action: 'Stop' } } as const;
    const { events } = decided(withMachine({}, { spec, status: { idleEndedAt: time(-600) } }));
    expect(events.map(({ reason }) => reason)).toEqual(['InstanceStopping']);
  });
});
