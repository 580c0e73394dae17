import { expect, test } from 'vitest';
import { waitAt, waitingChart } from '../../scripts/demo/waiting-chart.ts';

test('draws a bar for each tenth of the span of waits, the longest as long as all others', () => {
  const waits = [40_000, 40_010, 40_020, 40_900, 41_000];
  const lines = waitingChart(waits);
  expect(lines).toHaveLength(10);
  expect(lines[0]).toBe(` 40.00 – 40.10 s  ${'█'.repeat(40)} 3`);
  expect(lines[1]).toBe(' 40.10 – 40.20 s  0');
  expect(lines[9]).toBe(` 40.90 – 41.00 s  ${'█'.repeat(27)} 2`);
});

test('draws equal waits in one bar, and nothing without any', () => {
  expect(waitingChart([5_000, 5_000]).filter((line) => line.includes('█'))).toHaveLength(1);
  expect(waitingChart([])).toEqual([]);
});

test('finds the wait that a share of all waited at most', () => {
  const waits = Array.from({ length: 100 }, (_, at) => (100 - at) * 1000);
  expect([waitAt(0.5, waits), waitAt(0.99, waits), waitAt(1, waits)]).toEqual(['50.00', '99.00', '100.00']);
});
