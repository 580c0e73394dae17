import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { linesAfter } from '../../src/reach/log-lines.ts';
import { type Desk, desk } from './desk.ts';

describe('lines of a log that are new', () => {
  test.each<[string, readonly string[], readonly string[], readonly string[], boolean]>([
    ['are those behind the ones that were read', ['a', 'b'], ['a', 'b', 'c'], ['c'], false],
    ['are those that came when old ones have left', ['a', 'b', 'c'], ['c', 'd', 'e'], ['d', 'e'], false],
    ['are none where nothing was written', ['a', 'b'], ['a', 'b'], [], false],
    ['are all of a log that was empty', [], ['a'], ['a'], false],
    ['count equal lines once each', ['x', 'x'], ['x', 'x', 'x'], ['x'], false],
    ['are all, and some may be missing, where none is known', ['a', 'b'], ['y', 'z'], ['y', 'z'], true],
    ['are none of a log that was emptied', ['a'], [], [], false],
  ])('%s', (_, before, now, added, isCut) => {
    expect(linesAfter(before, now)).toEqual({ added, isCut });
  });
});

describe('logs --follow', () => {
  let here: Desk;
  beforeAll(async () => {
    here = await desk();
  });
  afterAll(() => here.close());

  test('shows what is there and what comes, each line once, and ends with Ctrl-C', async () => {
    const id = String(await here.labelledMachine('11111111-2222-3333-4444-555555555555'));
    here.market.service.advance(600);
    const terminal = here.cluster.cli.atTerminal(['logs', id, '--follow', '--interval', '100ms']);
    await terminal.until('simulated container is up');
    for (const minutes of [20, 5]) {
      here.market.service.advance(minutes * 60);
      const { stdout } = await here.cluster.cli.run(['logs', id, '--tail', '1']);
      await terminal.until(stdout.trim());
    }
    terminal.interrupt();
    expect(await terminal.ended).toBe(130);
    const lines = terminal.shown().match(/up for \d+ min/g) ?? [];
    expect(lines.length).toBeGreaterThan(25);
    expect(new Set(lines).size).toBe(lines.length);
    expect(terminal.shown()).not.toContain('missing');
  });

  test('begins with the last lines that are asked for', async () => {
    const id = String(await here.labelledMachine('21111111-2222-3333-4444-555555555555'));
    here.market.service.advance(6000);
    const terminal = here.cluster.cli.atTerminal(['logs', id, '--follow', '--tail', '3']);
    await terminal.until('up for');
    terminal.interrupt();
    await terminal.ended;
    expect(terminal.shown().match(/up for \d+ min/g)).toHaveLength(3);
  });

  test('fails at once for a machine that is not there', async () => {
    const { exitCode, stderr } = await here.cluster.cli.run(['logs', '99', '--follow']);
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain('Error:');
  });

  test('writes text alone', async () => {
    const { exitCode, stderr } = await here.cluster.cli.run(['logs', '99', '--follow', '-o', 'json']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--follow writes text');
  });
});
