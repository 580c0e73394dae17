import { describe, expect, test } from 'vitest';
import { OUTDATED } from '../../../../test/builders/ending-machine.ts';
import {
  at,
  type Given,
  given,
  type ObservedParts,
  time,
  withMachine,
} from '../../../../test/builders/observed.ts';
import { decide } from '../decide.ts';
import { decision } from '../decision.ts';
import type { Decision, RetryView, Step } from '../types.ts';
import type { PlannedEnd } from './ending.ts';
import { withEndOfBlock, withKeptMachine } from './kept.ts';

const PLANNED: PlannedEnd = {
  ...{ machine: { instanceId: '1', attempt: 1 }, reason: 'SpecChanged', kind: 'unwanted' },
  finding: { type: 'stopped', origin: 'Rented', reason: 'Stopped' },
};
const READ: Step = { type: 'read', requests: [{ type: 'confirm', instanceId: '1' }] };
const QUEUED: ObservedParts = { offers: new Map([[0, { type: 'queued', place: undefined }]]) };

const condition = (type: string, reason: string, status: 'True' | 'False' = 'True') => ({
  ...{ type, reason, status, message: `${type} on record`, lastTransitionTime: time(-30) },
});
const BLOCKED = condition('ReplacementBlocked', 'ReplacementBlocked');

/** Returns a machine of an old spec whose object has these conditions on record. */
function outdated(conditions: readonly ReturnType<typeof condition>[], situation: Given = {}): Given {
  return withMachine({}, { ...situation, status: { ...OUTDATED, conditions: [...conditions] } });
}

function decisionOf(situation: Given): Decision {
  const step = decide(given(situation));
  if (step.type !== 'decision') throw new Error(`a ${step.type} instead of a decision`);
  return step;
}

describe('a machine that is kept while the next search waits', () => {
  const readyMessage = (...conditions: readonly ReturnType<typeof condition>[]) =>
    decisionOf(outdated(conditions, { observed: QUEUED })).status?.verdict.Ready.message;
  const usual = readyMessage();

  test('keeps the Ready message that is on record', () => {
    expect(readyMessage(BLOCKED, condition('Ready', 'Ready'))).toBe('Ready on record');
  });

  test('keeps no message of a machine that was not Ready', () => {
    expect(readyMessage(BLOCKED, condition('Ready', 'NotReachable', 'False'))).toBe(usual);
  });

  test('has the usual message if no Ready is on record', () => {
    expect(readyMessage(BLOCKED)).toBe(usual);
  });

  test('has the usual message if no block is on record', () => {
    expect(readyMessage(condition('Ready', 'Ready'))).toBe(usual);
  });

  test('keeps the block that is on record, with its status', () => {
    expect(decisionOf(outdated([BLOCKED], { observed: QUEUED })).status?.verdict.ReplacementBlocked).toEqual({
      ...{ status: 'True', reason: 'ReplacementBlocked', message: 'ReplacementBlocked on record' },
    });
  });
});

test('a block by a person is a condition that is True', () => {
  const { status } = decisionOf(outdated([], { annotations: { 'gpurental.dev/hold': '' } }));
  expect(status?.verdict.ReplacementBlocked).toMatchObject({ status: 'True', reason: 'Paused' });
});

describe('a step without a verdict', () => {
  const facts = given(outdated([BLOCKED], { annotations: { 'gpurental.dev/hold': '' } }));

  test.each([
    ['a read', READ],
    ['a decision without a status', decision({ requeue: { afterMs: 7 } })],
  ])('stays as it is while another machine is due: %s', (_, step) => {
    expect(withKeptMachine(facts, PLANNED, step)).toBe(step);
  });

  test.each([
    ['a read', READ],
    ['a decision without a status', decision({ requeue: { afterMs: 7 } })],
  ])('gets no event of the end of a block: %s', (_, step) => {
    expect(withEndOfBlock(facts, step, 'how')).toBe(step);
  });
});

describe('a decision on a kept machine', () => {
  const kept = decision({
    fields: {},
    finding: {
      ...{ phase: 'Running', reason: 'Ready', ready: true },
      machine: { type: 'stopped', origin: 'Rented', reason: 'Stopped' },
    },
    requeue: { onList: true },
  });

  test('has the time of the search as its own when it had none', () => {
    const replacement: RetryView = {
      refusal: { reason: 'NoOffers', detail: 'No offer matches.' },
      explained: undefined,
      failures: 1,
      notBefore: at(9),
    };
    const step = withKeptMachine(given(outdated([], { memory: { replacement } })), PLANNED, kept);
    expect(step).toMatchObject({ requeue: { onList: true, afterMs: 9_000 } });
  });

  test('is as it was with an offer in hand, without a condition or a time', () => {
    expect(withKeptMachine(given(outdated([])), PLANNED, kept)).toEqual(kept);
  });

  test('is as it was while the admission of the offer is read', () => {
    const facts = given(outdated([], { observed: { room: undefined } }));
    expect(withKeptMachine(facts, PLANNED, kept)).toEqual(kept);
  });
});
