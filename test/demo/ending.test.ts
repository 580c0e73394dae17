import { expect, test } from 'vitest';
import { earlyEnd, exitCodeOf, reasonOf } from '../../scripts/demo/ending.ts';
import { plainView } from '../../scripts/demo/live-view.ts';

/* What a person reads who ends a demo while it sets up, and what a script does. */

const stopped = (signal: string) =>
  reasonOf(
    new Error('the build of the control-plane was aborted'),
    AbortSignal.abort(new Error(`stopped by ${signal}`)),
  );

test.each([
  ['SIGINT', 'Ctrl-C', 130],
  ['SIGTERM', 'SIGTERM', 143],
  ['SIGHUP', 'SIGHUP', 129],
])(
  '%s is no failure: the text says who ended it and what stays, and the exit code is that of the signal',
  (signal, who, code) => {
    const result = stopped(signal);
    expect(earlyEnd(result)).toBe(
      `Stopped by ${who}. Nothing stays running; what was built is kept, and the next start goes on from there.`,
    );
    expect(exitCodeOf(result)).toBe(code);
  },
);

test('a failure keeps its words, each line of its own, and ends with 1', () => {
  const said: string[] = [];
  plainView({ write: (text) => said.push(text) }).failed('no etcd\nlogs in /tmp/logs');
  expect(said.map((line) => line.trim())).toEqual([
    expect.stringMatching(/s {2}It went no further: no etcd$/),
    expect.stringMatching(/s {2}logs in \/tmp\/logs$/),
  ]);
  expect(exitCodeOf('no etcd')).toBe(1);
  expect(exitCodeOf('ok')).toBe(0);
});
