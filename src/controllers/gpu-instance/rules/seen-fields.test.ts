import { expect, test } from 'vitest';
import { given, row, time, withMachine } from '../../../../test/builders/observed.ts';
import type { WatchedField } from '../../../accounts/beliefs/sightings.ts';
import { annotations } from '../../../api/v1alpha1/names.ts';
import { seenFields } from './machine-finding.ts';

const running = row({ state: 'running' });
const asked = (text: string) => ({ annotations: { [annotations.replaceAt]: text } });

test('a machine that runs is seen to run since the list that shows it, and its start is over', () => {
  const status = { runningAt: undefined, startRequestedAt: time(-20), progressAt: time(-10) };
  const fields = seenFields(given(withMachine(running, { status })), running);
  expect(fields).toMatchObject({ runningAt: time(-1) });
  expect(fields).not.toHaveProperty('startRequestedAt');
  expect(fields).not.toHaveProperty('progressAt');
});

test.each<[string, WatchedField[], string]>([
  ['whole price while one list shows it stopped', ['state'], '0.50'],
  ['disk when two lists agree that it is stopped', [], '0.01'],
])('a machine costs its %s (A1)', (_, unsettled, pricePerHour) => {
  const stopped = row({ state: 'stopped', unsettled: new Set(unsettled) });
  const cost = { pricePerHour: '0.50', accrued: '0.00', since: time(-300) };
  expect(seenFields(given(withMachine(stopped, { status: { cost } })), stopped).cost).toMatchObject({
    pricePerHour,
  });
});

test('a machine that a read shows where no list does is seen to run now', () => {
  const observed = given({ ...withMachine(running, { status: { runningAt: undefined } }), list: 'none' });
  expect(seenFields(observed, running)).toMatchObject({ runningAt: time(0) });
});

test('one that does not run is not, and keeps the start that was asked for', () => {
  const loading = row({ state: 'loading' });
  const status = { runningAt: undefined, startRequestedAt: time(-20) };
  const fields = seenFields(given(withMachine(loading, { status })), loading);
  expect(fields).toMatchObject({ runningAt: undefined, startRequestedAt: time(-20) });
});

test.each<[string, Parameters<typeof withMachine>[1], string | undefined]>([
  ['that nobody made', {}, undefined],
  ['for a time before its rental', asked(time(-400)), time(-400)],
  ['for a time to come', asked(time(600)), undefined],
  ['that is no time', asked('soon'), 'soon'],
])('a request to replace it %s is noted as it was met', (_, situation, replacedAt) => {
  expect(seenFields(given(withMachine(running, situation)), running).replacedAt).toBe(replacedAt);
});

test('of an object without annotations as well', () => {
  const observed = given(withMachine(running));
  const { annotations: _none, ...metadata } = observed.object.metadata;
  const bare = { ...observed, object: { ...observed.object, metadata } };
  expect(seenFields(bare, running)).not.toHaveProperty('replacedAt');
});

test('and is noted as far as a status can hold it', () => {
  const long = `2026-11-20T11:00:00.${'0'.repeat(300)}Z`;
  const { replacedAt } = seenFields(given(withMachine(running, asked(long))), running);
  expect(replacedAt).toBe(long.slice(0, 253));
});
