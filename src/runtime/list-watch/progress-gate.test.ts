import { expect, test, vi } from 'vitest';
import { ProgressGate } from './progress-gate.ts';

test('a write is not current until its version is reached', () => {
  const gate = new ProgressGate();
  gate.wrote('a', '10');
  gate.reached('9');
  expect(gate.isCurrent('a')).toBe(false);
  gate.reached('10');
  expect(gate.isCurrent('a')).toBe(true);
});

test('a write that was reached before it is reported is current, and not remembered', () => {
  const remembering = vi.spyOn(Map.prototype, 'set');
  const gate = new ProgressGate();
  gate.reached('10');
  gate.wrote('a', '10');
  const calls = remembering.mock.calls.length;
  remembering.mockRestore();
  expect([gate.isCurrent('a'), calls]).toEqual([true, 0]);
});

test('writes that were reached are removed even if no caller asks about them again', () => {
  const clearing = vi.spyOn(Map.prototype, 'delete');
  const gate = new ProgressGate();
  for (let index = 1; index <= 1_000; index++) gate.wrote(`object-${index}`, String(1_000 + index));
  gate.reached('2000');
  for (let index = 1; index <= 25; index++) gate.wrote(`later-${index}`, String(3_000 + index));
  const cleared = new Set(clearing.mock.calls.map(([key]) => key));
  clearing.mockRestore();
  expect(cleared.size).toBe(1_000);
  expect(gate.isCurrent('later-1')).toBe(false);
});

test('of several writes of one object the newest counts', () => {
  const gate = new ProgressGate();
  gate.wrote('a', '10');
  gate.wrote('a', '12');
  gate.reached('11');
  expect(gate.isCurrent('a')).toBe(false);
  gate.reached('12');
  expect(gate.isCurrent('a')).toBe(true);
});
