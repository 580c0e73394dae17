import { expect, test } from 'vitest';
import { codeBlocks } from './code-blocks.ts';
import { shapeOf, shownAndPrinted } from './shown-output.ts';

test('the shape of an output ignores ages, ids and widths, and keeps words and precision', () => {
  expect(shapeOf('trainer   Running   0.300333   203.0.113.7:20007   10s\n')).toBe(
    shapeOf('trainer Running 0.1613 203.0.113.106:20014 1m30s'),
  );
  expect(shapeOf('$0.30')).not.toBe(shapeOf('$0.3003'));
  expect(shapeOf('True Running')).not.toBe(shapeOf('True Ready'));
});

const page = 'docs/tutorials/playground.md';
const commands = codeBlocks(page)
  .find(({ text }) => text.endsWith('kubectl get gpui\n'))
  ?.text.trim();

test('an output that a page shows and nothing prints is found', () => {
  const steps = [{ commands: commands ?? '', printed: 'NAME PHASE\ntrainer Running\n' }];
  expect(shownAndPrinted(page, steps)).toHaveLength(1);
});
