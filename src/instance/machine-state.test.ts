import { describe, expect, test } from 'vitest';
import type { MachineState } from '../market/machine.ts';
import {
  hasExited,
  hidesPower,
  isAtRest,
  isFailing,
  isLost,
  isRecorded,
  isSilent,
  isStopped,
  isUnseen,
  recordedState,
  stateClass,
  stateFields,
} from './machine-state.ts';

const PREDICATES = { isStopped, hasExited, isAtRest, isFailing, isUnseen, isLost };

describe.each([
  [undefined, 'pending', 'booting', []],
  ['provisioning', 'pending', 'booting', []],
  ['created', 'pending', 'booting', []],
  ['loading', 'loading', 'booting', []],
  ['rebooting', 'loading', 'booting', []],
  ['running', 'running', 'running', []],
  ['stopped', 'stopped', 'stopped', ['isStopped', 'isAtRest']],
  ['frozen', 'stopped', 'stopped', ['isStopped', 'isAtRest']],
  ['exited', 'exited', 'failing', ['hasExited', 'isAtRest', 'isFailing', 'isLost']],
  ['unknown', 'unseen', 'failing', ['isFailing', 'isUnseen', 'isLost']],
  ['offline', 'offline', 'failing', ['isFailing', 'isUnseen', 'isLost']],
  ['destroyed', 'ended', 'unrecognized', ['isLost']],
  ['scheduling', 'unrecognized', 'unrecognized', []],
  ['constructor', 'unrecognized', 'unrecognized', []],
  ['', 'unrecognized', 'unrecognized', []],
] as const)('a status with the word %j alone', (actualStatus, state, type, holding) => {
  const recorded = recordedState(actualStatus === undefined ? {} : { actualStatus });

  test(`records ${state}, which is ${type}`, () => {
    expect([recorded.state, stateClass(recorded)]).toEqual([state, type]);
  });

  test(`satisfies: ${holding.join(', ') || 'no predicate'}`, () => {
    const held = Object.entries(PREDICATES).filter(([, holds]) => holds(recorded));
    expect(held.map(([name]) => name)).toEqual(holding);
  });
});

describe('a recorded state', () => {
  test.each<[MachineState, string | null, object]>([
    ['running', 'running', { actualStatus: 'running' }],
    ['pending', null, { actualStatus: 'provisioning' }],
    ['unseen', 'unknown', { actualStatus: 'unknown' }],
    ['running', 'RUNNING', { actualStatus: 'RUNNING', machineState: 'running' }],
    ['loading', 'running', { actualStatus: 'running', machineState: 'loading' }],
  ])('names %s beside the status %j only if it differs from its own state', (state, marketStatus, fields) => {
    const shown = { state, marketStatus };
    expect(stateFields(shown)).toEqual(fields);
    expect(recordedState(fields)).toEqual(shown);
    expect(isRecorded(shown, fields)).toBe(true);
    expect(isRecorded({ ...shown, state: 'broken' }, fields)).toBe(false);
  });

  test('is another one with another word, and none without a status', () => {
    expect(isRecorded({ state: 'loading', marketStatus: 'rebooting' }, { actualStatus: 'loading' })).toBe(
      false,
    );
    expect(isRecorded({ state: 'pending', marketStatus: null }, undefined)).toBe(false);
  });

  test('is named beside a word of which no state is known', () => {
    expect(stateFields({ state: 'unrecognized', marketStatus: 'scheduling' })).toEqual({
      actualStatus: 'scheduling',
    });
  });

  test.each<[MachineState, string | null, boolean, { readonly silent: boolean; readonly hidden: boolean }]>([
    ['pending', null, true, { silent: true, hidden: true }],
    ['pending', null, false, { silent: false, hidden: false }],
    ['pending', 'created', true, { silent: false, hidden: false }],
    ['loading', null, true, { silent: false, hidden: false }],
    ['offline', 'offline', false, { silent: false, hidden: true }],
    ['unrecognized', 'scheduling', false, { silent: false, hidden: true }],
    ['running', 'running', true, { silent: false, hidden: false }],
  ])(
    'of %s with the word %j, of a machine that ran: %s, is judged %j',
    (state, marketStatus, hasRun, judged) => {
      const shown = { state, marketStatus };
      expect({ silent: isSilent(shown, hasRun), hidden: hidesPower(shown, hasRun) }).toEqual(judged);
    },
  );

  test('is broken like an ended container', () => {
    expect(stateClass({ state: 'broken' })).toBe('failing');
    expect(hasExited({ state: 'broken' })).toBe(true);
  });
});
