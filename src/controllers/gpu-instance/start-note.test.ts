import { describe, expect, test } from 'vitest';
import { type Given, given, withMachine } from '../../../test/builders/observed.ts';
import { toyFacts } from '../../../test/builders/toy-market.ts';
import { labels } from '../../api/v1alpha1/names.ts';
import { vastFacts } from '../../markets/vast/facts.ts';
import { decide } from './decide.ts';

function notesOf(situation: Given, own: Readonly<Record<string, string>> = {}): readonly string[] {
  const facts = given(situation);
  const { object } = facts;
  const step = decide({ ...facts, object: { ...object, metadata: { ...object.metadata, labels: own } } });
  if (step.type !== 'decision') throw new Error(step.type);
  return step.events.flatMap(({ type, reason, note }) =>
    reason === 'InvalidSpec' ? [`${type}: ${note}`] : [],
  );
}

const STOPPED = { powerState: 'Stopped' } as const;
const { generation = 1 } = given().object.metadata;

describe('the event that nothing starts (B01)', () => {
  test('comes with the first status of a generation, and not again', () => {
    expect(notesOf({ spec: STOPPED })).toEqual([
      "Warning: In SSH mode the image's own program does not run. Write args: [] to run the image as built, or onStart.",
    ]);
    expect(notesOf({ spec: STOPPED, status: { observedGeneration: generation } })).toEqual([]);
    expect(notesOf({ spec: STOPPED, status: { observedGeneration: generation - 1 } })).toHaveLength(1);
  });

  test('is left out when a program runs', () => {
    expect(notesOf({ spec: { ...STOPPED, args: [] } })).toEqual([]);
  });

  test('is left to the group of a worker', () => {
    expect(notesOf({ spec: STOPPED }, { [labels.endpointGroup]: 'chat' })).toEqual([]);
  });
});

describe('the event that an idle time has no effect', () => {
  const rented = (market: typeof toyFacts, observedGeneration: number): Given =>
    withMachine(
      {},
      {
        spec: { args: [], idle: { after: '30m' } },
        status: { observedGeneration },
        facts: { market },
      },
    );

  test('comes for a rented machine at a market without utilization, once', () => {
    expect(notesOf(rented(toyFacts, generation - 1))).toEqual([
      'Warning: spec.idle: Toy shows no GPU utilization. Leave idle out, or use an account of another market.',
    ]);
    expect(notesOf(rented(toyFacts, generation))).toEqual([]);
  });

  test('is left out at a market with utilization', () => {
    expect(notesOf(rented(vastFacts, generation - 1))).toEqual([]);
  });
});
