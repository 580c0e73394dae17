import { describe, expect, test } from 'vitest';
import { decisionTables } from '../../../test/builders/decision-table.ts';
import { facts, type Given, given, withMachine } from '../../../test/builders/observed.ts';
import { toyFacts } from '../../../test/builders/toy-market.ts';
import { vastFacts } from '../../markets/vast/facts.ts';
import { decide } from './decide.ts';
import { preflight } from './preflight.ts';
import { unsupportedFields } from './unsupported.ts';

const { table, close } = decisionTables('unsupported');

const OFFER = { gpuNames: ['RTX 4090'], maxPricePerHour: '1.00' };
const BY_BID = { ...OFFER, pricing: 'Interruptible', bid: '0.50' } as const;
const TOY: Given = { facts: { market: toyFacts, labelEcho: 'notEchoed' } };

describe('the fields of a spec that a market cannot satisfy', () => {
  test.for<readonly [string, Given['spec'], string | undefined]>([
    ['are none of an ordinary spec', { offers: [OFFER] }, undefined],
    [
      'are every alternative with a bid, by its index',
      { offers: [OFFER, BY_BID] },
      'spec.offers[1].pricing: Toy has no Interruptible machines. Set OnDemand, or use an account of another market.',
    ],
    [
      'are a deletion policy that stops the machine',
      { offers: [OFFER], deletionPolicy: 'Stop' },
      'spec.deletionPolicy: Toy cannot stop machines. Set Destroy or Retain, or use an account of another market.',
    ],
    [
      'are none of a deletion policy that keeps the machine',
      { offers: [OFFER], deletionPolicy: 'Retain' },
      undefined,
    ],
    [
      'are an idle time that nothing shows',
      { offers: [OFFER], idle: { after: '30m', action: 'Destroy' } },
      'spec.idle: Toy shows no GPU utilization. Leave idle out, or use an account of another market.',
    ],
    [
      'are a stop of an idle machine as well',
      { offers: [OFFER], idle: { after: '30m', action: 'Stop' } },
      'spec.idle: Toy shows no GPU utilization. Leave idle out, or use an account of another market. spec.idle.action: Toy cannot stop machines. Set Report or Destroy, or use an account of another market.',
    ],
  ])('%s', ([, spec, expected]) => {
    const { object } = given({ spec: spec ?? {} });
    expect(unsupportedFields(object.spec, toyFacts)).toBe(expected);
    expect(unsupportedFields(object.spec, vastFacts)).toBeUndefined();
  });

  test('are reported together, and before anything is read', () => {
    const { object, purchase } = given({ spec: { offers: [BY_BID], deletionPolicy: 'Stop' } });
    const unread = { object, purchase: { ...purchase, inputs: undefined } };
    expect(preflight(unread, facts({ market: toyFacts }))).toEqual({
      type: 'problem',
      reason: 'InvalidSpec',
      detail: unsupportedFields(object.spec, toyFacts),
    });
  });
});

const held = (spec: Given['spec'], more: Given = {}): Given =>
  withMachine({}, { ...TOY, ...more, spec: spec ?? {} });

describe('a machine at a market without stop', () => {
  table([
    [
      'is not rented with a deletion policy that stops it',
      { ...TOY, spec: { deletionPolicy: 'Stop' } },
      { rule: 'preflight', phase: 'Pending', says: 'stalled: InvalidSpec' },
    ],
    [
      'is not rented by a bid',
      { ...TOY, spec: { offers: [BY_BID] } },
      { rule: 'preflight', phase: 'Pending', says: 'stalled: InvalidSpec' },
    ],
    [
      'serves on with the reason when powerState becomes Stopped',
      held({ powerState: 'Stopped' }),
      { rule: 'run', phase: 'Running', says: 'stalled: InvalidSpec' },
    ],
    [
      'boots on when powerState becomes Stopped',
      withMachine({ state: 'loading' }, { ...TOY, spec: { powerState: 'Stopped' } }),
      { rule: 'boot', phase: 'Loading', says: 'Loading', afterMs: 1_199_000 },
    ],
    [
      'is not reported as stopped when its container ends',
      withMachine({ state: 'exited' }, { ...TOY, spec: { powerState: 'Stopped' } }),
      { rule: 'unseen-while-stopped-wanted', phase: 'Lost', says: 'Exited' },
    ],
    [
      'stays with its deleted object, which names the field, if the policy is to stop it',
      held({ deletionPolicy: 'Stop' }, { deleting: true }),
      { rule: 'stop-machine', phase: 'Deleting', says: 'stalled: InvalidSpec' },
    ],
    [
      'is kept beyond its limit, and not asked to stop, if the policy is to stop it',
      held({ deletionPolicy: 'Stop', maxTotalCost: '0.01' }, { facts: { ...TOY.facts, isEndJudged: true } }),
      { rule: 'limit-reached', record: 'status', phase: 'Failed', says: 'stalled: LimitReached' },
    ],
  ]);
});

test('a machine that a budget is to stop serves on, and names the budget and the market', () => {
  const step = decide({ ...given(held({})), budgetStop: 'The budget of namespace team is spent.' });
  expect(step).toMatchObject({
    actions: [],
    status: {
      verdict: {
        containerRuns: true,
        Ready: {
          reason: 'AtLimit',
          message: expect.stringMatching(
            /^The budget of namespace team is spent. Toy cannot stop machines: /,
          ),
        },
      },
    },
  });
});

describe('a machine at a market without labels', () => {
  table([
    [
      'is kept without a new label',
      held({ deletionPolicy: 'Retain' }, { deleting: true }),
      { rule: 'keep-machine', actions: ['retain 1 (Retain)', 'release'] },
    ],
    [
      'is not taken over',
      {
        ...TOY,
        spec: { adopt: { instanceId: '1', policy: 'Manage' } },
        facts: { ...TOY.facts, adoption: 'Unlabelled' },
      },
      { rule: 'refuse-adoption', phase: 'Failed', says: 'stalled: AdoptionTargetInvalid', afterMs: 60_000 },
    ],
  ]);
});

close();
