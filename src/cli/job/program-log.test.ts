import { expect, test } from 'vitest';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import { type LogEvent, logEventLine } from '../../reach/log-stream.ts';
import { logFollower } from '../logs/run-log.ts';
import { programLog } from './program-log.ts';

/** Returns the output of the program in a stream of the operator. */
async function outputOf(events: readonly LogEvent[]): Promise<string> {
  const clock = createVirtualClock();
  let output = '';
  const body = events.map(logEventLine).join('');
  const open = async () => ({
    ...{ status: 200, headers: {}, destroy() {} },
    body: (async function* () {
      yield new TextEncoder().encode(body);
    })(),
  });
  const write = (text: string) => {
    output += text;
  };
  const follow = programLog(write, (receiver) =>
    logFollower({ open, clock, namespace: 'team', print: () => {}, ...receiver }),
  );
  const log = follow('train', new AbortController().signal);
  await clock.advance(1_000);
  expect(await log.finish(1_000)).toBe(true);
  return output;
}

const text = (machine: string, written: string): LogEvent => ({
  ...{ type: 'text', text: written, position: machine },
});
const line = (nonce: string, event: string) => `\ngpurental ${nonce} ${event}\n`;
const [FIRST, SECOND] = ['aaaaaaaaaaaa', 'bbbbbbbbbbbb'];
const END: LogEvent = { type: 'end', reason: 'Complete', message: 'The log is complete.' };

test('writes the output of the program on each machine when a lost one is replaced', async () => {
  const output = await outputOf([
    text('7', `sshd is up\n${line(FIRST, 'start 1')}one\n`),
    { type: 'note', reason: 'Replaced', message: 'train runs on machine 8 now.' },
    text('8', `sshd is up\n${line(SECOND, 'start 1')}two\n${line(SECOND, 'exit 0')}sshd ends\n`),
    END,
  ]);
  expect(output).toBe('one\ntwo\n');
});

test('writes what follows the log of another run that the program prints', async () => {
  const printed = `${line(SECOND, 'start 1')}theirs\n${line(SECOND, 'exit 0')}`;
  const output = await outputOf([
    text('7', `${line(FIRST, 'start 1')}one\n${printed}two\n${line(FIRST, 'exit 0')}`),
    END,
  ]);
  expect(output).toBe(`one\n${printed}two\n`);
});
