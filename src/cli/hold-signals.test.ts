import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const HELD = [`--import=${join(import.meta.dirname, 'hold-signals.ts')}`];

/** Returns the end and the output of a process that sends itself a signal before it listens. */
const lifeOf = (flags: readonly string[], signal: string, listeners: string) =>
  new Promise<{ code: unknown; signal: unknown; said: string }>((resolve) => {
    const program = `
      process.kill(process.pid, '${signal}');
      setTimeout(() => { console.log('loaded'); ${listeners} }, 20);
      setTimeout(() => process.exit(3), 2_000);
    `;
    execFile(process.execPath, [...flags, '--eval', program], (error, stdout) =>
      resolve({ code: error?.code ?? 0, signal: error?.signal ?? null, said: stdout.trim() }),
    );
  });

const ENDS_WELL = (signal: string) => `process.once('${signal}', () => process.exit(0));`;

test.for(['SIGTERM', 'SIGINT'])('%s is held until the program listens', async (signal) => {
  expect(await lifeOf(HELD, signal, ENDS_WELL(signal))).toEqual({ code: 0, signal: null, said: 'loaded' });
});

test('a signal ends a program at once that does not hold it', async () => {
  expect(await lifeOf([], 'SIGTERM', ENDS_WELL('SIGTERM'))).toMatchObject({ signal: 'SIGTERM', said: '' });
});

test('a second signal ends a program that listens once', async () => {
  const listeners = `process.once('SIGTERM', () => process.kill(process.pid, 'SIGTERM'));`;
  expect(await lifeOf(HELD, 'SIGTERM', listeners)).toMatchObject({ signal: 'SIGTERM', said: 'loaded' });
});
