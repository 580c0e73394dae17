/** The thread of `watchdog.ts`: it hears nothing but beats and what is being run, and ends the process when beats stop. */
import { writeSync } from 'node:fs';
import { Session } from 'node:inspector';
import { parentPort, workerData } from 'node:worker_threads';
import { z } from 'zod';

const STDERR = 2;
const given = z.strictObject({
  beats: z.instanceof(SharedArrayBuffer),
  tickMs: z.number(),
  ticks: z.number(),
});
const { beats, tickMs, ticks } = given.parse(workerData);
const counter = new Int32Array(beats);
let running = 'nothing yet';
let last = 0;
let silent = 0;

parentPort?.on('message', (what) => {
  running = String(what);
});

/** Ticks are counted, not the time of day: a machine that slept has not hung. */
setInterval(() => {
  const now = Atomics.load(counter, 0);
  silent = now === last ? silent + 1 : 0;
  last = now;
  if (silent === ticks) endProcess();
}, tickMs);

/** Ends the process. A thread that never returns cannot answer; the inspector interrupts it. */
function endProcess(): void {
  const seconds = (ticks * tickMs) / 1000;
  writeSync(
    STDERR,
    `\nIt hangs: no step for ${seconds} s, in ${running}. Something there waits for nothing, for ever.\n`,
  );
  const session = new Session();
  session.connectToMainThread();
  session.post('Runtime.evaluate', { expression: 'process.reallyExit(1)' });
}
