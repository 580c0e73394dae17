import { describe, expect, test } from 'vitest';
import { facts, type Given, given, NOW, time, withMachine } from '../../../test/builders/observed.ts';
import { decide } from './decide.ts';
import type { Decision, Observed } from './types.ts';

/* P3: an outage of the account is an event on each object that it stops: once at its start, once at its end. */

const OUTAGE = { reason: 'Unreachable', since: time(-12), httpStatus: 503 } as const;
const message = `Marketplace returned HTTP 503, no complete list since ${OUTAGE.since}; retrying.`;
const down: Observed['account'] = {
  ...{ state: 'notReady', reason: 'Unreachable', message },
  ...{ outage: OUTAGE, facts: facts() },
};
const connecting: Observed['account'] = { ...down, outage: undefined, message: 'The key is being checked.' };

function decided(situation: Given): Decision {
  const step = decide(given({ ...situation, spec: { args: [], ...situation.spec } }));
  if (step.type !== 'decision') throw new Error(`not a decision: ${step.type}`);
  return step;
}
const eventsOf = (situation: Given) => decided(situation).events.filter(({ action }) => action === 'Waiting');
const notes = (situation: Given) =>
  eventsOf(situation).map(({ type, reason, note }) => `${type} ${reason}: ${note}`);

describe('P3: an object that waits for a machine', () => {
  test('scenario 120: reports the outage with cause and duration, and keeps it in its status', () => {
    expect(notes({ account: down })).toEqual([
      'Warning Unreachable: Marketplace returned HTTP 503 for 12s; retrying. This object waits for it.',
    ]);
    const { status } = decided({ account: down });
    expect(status?.fields.outage).toEqual(OUTAGE);
    expect(status?.verdict.Ready.message).toContain(message);
  });

  test('reports it once, and again if another outage begins', () => {
    expect(notes({ account: down, status: { outage: OUTAGE } })).toEqual([]);
    const earlier = { ...OUTAGE, since: time(-900) };
    expect(notes({ account: down, status: { outage: earlier } })).toHaveLength(1);
  });

  test('keeps it while an operator that has just started connects', () => {
    const situation = { account: connecting, status: { outage: OUTAGE } };
    expect(decided(situation).status?.fields.outage).toEqual(OUTAGE);
    expect(notes(situation)).toEqual([]);
  });

  test('reports its end with its duration, and drops it from the status', () => {
    const over = { spec: { paused: true }, status: { outage: { ...OUTAGE, since: time(-73) } } };
    expect(notes(over)).toContain(
      'Normal ServiceRestored: Service restored after 73s. Cause: Marketplace returned HTTP 503.',
    );
    expect(decided(over).status?.fields).not.toHaveProperty('outage');
  });

  test('emits no event of it for an outsider', () => {
    const outsider: Observed['account'] = {
      ...{ state: 'notReady', reason: 'NotAllowedByAccount', message: 'No.' },
      ...{ facts: facts(), outsider: 'refused' },
    };
    expect(notes({ account: outsider }).join()).not.toContain('503');
  });
});

test('P3: a machine that runs is not stopped by an outage of its marketplace', () => {
  const { status, events } = decided(withMachine({}, { account: down }));
  expect(status?.verdict.Ready.status).toBe('True');
  expect(status?.fields.outage).toBeUndefined();
  expect(events.map(({ reason }) => reason)).not.toContain('Unreachable');
});

test('P3: an object whose replacement waits for the marketplace reports the outage', () => {
  const lost = withMachine(
    { state: 'offline' },
    {
      account: down,
      status: { actualStatus: 'offline', actualStatusSince: new Date(NOW - 90_000).toISOString() },
    },
  );
  expect(notes(lost)).toContainEqual(expect.stringContaining('Warning Unreachable: '));
});
