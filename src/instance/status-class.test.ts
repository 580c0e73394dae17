import { describe, expect, test } from 'vitest';
import { isAtRest, isFailing, isLost, isStopped, isUnseen, statusClass } from './status-class.ts';

const PREDICATES = { isStopped, isAtRest, isFailing, isUnseen, isLost };

describe.each([
  [null, 'provisioning', []],
  [undefined, 'provisioning', []],
  ['provisioning', 'provisioning', []],
  ['created', 'booting', []],
  ['loading', 'booting', []],
  ['rebooting', 'booting', []],
  ['running', 'running', []],
  ['stopped', 'stopped', ['isStopped', 'isAtRest']],
  ['frozen', 'stopped', ['isStopped', 'isAtRest']],
  ['exited', 'failing', ['isAtRest', 'isFailing', 'isLost']],
  ['unknown', 'failing', ['isFailing', 'isUnseen', 'isLost']],
  ['offline', 'failing', ['isFailing', 'isUnseen', 'isLost']],
  ['destroyed', 'unrecognized', ['isLost']],
  ['scheduling', 'unrecognized', []],
  ['constructor', 'unrecognized', []],
  ['', 'unrecognized', []],
])('a machine with status %j', (word, expected, holding) => {
  test(`is ${expected}`, () => {
    expect(statusClass(word)).toBe(expected);
  });

  test(`is: ${holding.join(', ') || 'none of the predicates'}`, () => {
    const held = Object.entries(PREDICATES).filter(([, holds]) => holds(word));
    expect(held.map(([name]) => name)).toEqual(holding);
  });
});
