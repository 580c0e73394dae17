import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { wrapWords } from '../../scripts/demo/fit.ts';
import type { GroupMoment } from '../../scripts/demo/group-view.ts';
import { terminalGroupView } from '../../scripts/demo/group-view.ts';
import { plainView, terminalView } from '../../scripts/demo/live-view.ts';
import { alignColumns, fitColumns } from '../../scripts/demo/table.ts';
import type { Sighting } from '../../scripts/demo/watcher.ts';

const SEE =
  'https://github.com/gpu-rental-operator/gpu-rental-operator/blob/main/docs/reference/reasons-gpuinstance.md#hostoffline';

function terminal(columns: number) {
  let written = '';
  return {
    columns,
    write(text: string) {
      written += text;
    },
    lines: () => stripVTControlCharacters(written).split('\n'),
  };
}

const seen: Sighting = {
  name: 'trainer',
  phase: 'Provisioning',
  word: 'null',
  instanceId: '20000001',
  hostId: '50479',
  pricePerHour: '0.300333',
  isReady: false,
  endpoint: '203.0.113.219:20014',
  message: 'The machine is being provisioned. It has five minutes.',
};

const moment: GroupMoment = {
  group: {
    phase: 'Scaling',
    load: 208.2,
    hot: 14,
    ready: 12,
    cold: 6,
    total: 20,
    draining: 2,
    starting: 0,
    pricePerHour: '0.813702',
    because:
      'Target: 4 hot, 4 total, to clear waiting work. Load 208.207/s with 310.313 waiting needs 310.313/s.',
  },
  offered: 239.4,
  queued: 318,
  rejected: 1132,
  dollars: 0.0071,
};

describe('a line that is longer than the terminal', () => {
  test.each([
    ['one two three', 13, ['one two three']],
    ['one two three', 8, ['one two', '  three']],
    ['  9.1s  event told', 12, ['  9.1s', '  event told']],
    [`see ${SEE} there`, 20, ['see', `  ${SEE}`, '  there']],
  ])('%j in %d cells is %j', (text, width, lines) => {
    expect(wrapWords(text, width, 2)).toEqual(lines);
  });

  test('loses no word on the way', () => {
    const words = (text: string) => text.trim().split(/\s+/);
    for (let width = 1; width < 120; width += 1)
      expect(words(wrapWords(moment.group.because, width, 4).join('\n'))).toEqual(
        words(moment.group.because),
      );
  });
});

test('a table loses whole columns, the least wanted first, until it fits', () => {
  const rows = [
    ['NAME', 'READY', 'HOST'],
    ['trainer', 'True', '50479'],
  ];
  const shown = (width: number) => alignColumns(fitColumns(rows, ['READY', 'HOST'], width));
  expect(shown(21)).toEqual(['NAME     READY  HOST', 'trainer  True   50479']);
  expect(shown(20)).toEqual(['NAME     HOST', 'trainer  50479']);
  expect(shown(13)).toEqual(['NAME', 'trainer']);
});

describe.each([80, 120])('on a terminal of %d cells', (columns) => {
  test('the demo writes no line that is longer, but for commands', () => {
    const out = terminal(columns);
    const view = terminalView(out);
    const command = `kubectl --kubeconfig ${'/very/long'.repeat(20)} get gpui`;
    view.heading('All of it stays up for you to try: apply a sample in another terminal. Ctrl-C ends it');
    view.command(command);
    view.failed(
      'waited 60 s until one machine runs; seen: trainer Pending\nlogs in /tmp/gpu-rental-cluster/logs',
    );
    view.show(new Map(), new Map([['trainer', seen]]));
    const lines = out.lines().filter((line) => line.trim() !== command);
    expect(lines.length).toBeLessThan(out.lines().length);
    expect(lines.filter((line) => line.length > columns)).toEqual([]);
    expect(lines.join(' ')).toContain('203.0.113.219:20014');
  });

  test('the demo of a group writes no line that is longer, and all of its last decision', () => {
    const out = terminal(columns);
    terminalGroupView(out).show(moment);
    expect(out.lines().filter((line) => line.length > columns)).toEqual([]);
    const text = out.lines().join(' ').replaceAll(/\s+/g, ' ');
    expect(text).toContain(moment.group.because);
    expect(text).toContain('318 waiting, 1132 requests rejected');
    expect(text).toContain('$0.813702/h, $0.0071 spent');
  });
});

test('a price that is not known yet is left out', () => {
  let written = '';
  const view = plainView({ write: (text) => (written += text) });
  view.show(new Map(), new Map([['trainer', { ...seen, pricePerHour: '-' }]]));
  expect(written).toContain(
    'trainer: Provisioning (state null, machine 20000001 on host 50479). The machine is being provisioned.\n',
  );
});
