/**
 * Process of `bench/job.ts` with the operator's log server and nothing else. Every machine runs and writes ten lines a
 * second. Its account is the part of its name before the first hyphen, so a bench decides how many machines one account
 * has. Until a line `begin` comes on stdin no object has a machine. Prints its URL as JSON, and then a line for each
 * line on stdin with the number of reads so far.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { MachineLogs } from '../../src/accounts/machine-logs.ts';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { Secret } from '../../src/lib/secret.ts';
import { makeClaim } from '../../src/ownership/claim.ts';
import type { KeyRing } from '../../src/ownership/key-ring.ts';
import { serveLogs } from '../../src/server/log-server.ts';

const LINES_PER_SECOND = 10;
const LINE = 'step of a training run with its loss, its learning rate and the time that it took';
const folder = process.argv[2] ?? '';
const keys: KeyRing = [new Secret('b'.repeat(64))];
const loginOf = (account: string) => ({ url: 'https://market.example', userId: account });
const begun = performance.now();
let reads = 0;
let hasBegun = false;

/** Returns the last lines of a log that grows with time. */
async function readLog(_id: string, count: number): Promise<string> {
  reads += 1;
  const last = 100 + Math.floor(((performance.now() - begun) / 1_000) * LINES_PER_SECOND);
  const lines: string[] = [];
  for (let at = Math.max(1, last - count + 1); at <= last; at += 1) lines.push(`${at} ${LINE}\n`);
  return lines.join('');
}

/** Returns the object of a name, with a machine of its own. */
function instanceOf(key: string): GpuInstance {
  const [namespace = '', name = ''] = key.split('/');
  const [account = ''] = name.split('-');
  const [uid, instanceId] = [`uid-${name}`, name];
  const claim = makeClaim(keys, { login: loginOf(account), uid, attempt: 1, instanceId });
  const running = {
    actualStatus: 'running',
    runningAt: '2026-11-01T00:00:00Z',
    instanceId,
    claim,
    attempt: 1,
  };
  // The logs read these fields only.
  return {
    metadata: { namespace, name, uid },
    spec: { accountRef: { name: account } },
    ...(hasBegun && { status: running }),
  } as unknown as GpuInstance;
}

const objects = new Map<string, GpuInstance>();
const logs = new MachineLogs({
  clock: systemClock,
  instanceOf(key) {
    const known = objects.get(key) ?? instanceOf(key);
    objects.set(key, known);
    return known;
  },
  accounts: {
    get: ({ name }) => ({
      type: 'ready',
      // A session has more than logs need.
      session: {
        ...{ login: loginOf(name), identity: { keys } },
        market: { about: { name: 'Vast' }, readLog },
      } as never,
    }),
  },
  isLeading: () => true,
});
const server = await serveLogs(
  {
    ...{ open: logs.open, clock: systemClock, access: { refusal: async () => undefined } },
    certificate: async () => ({
      cert: readFileSync(join(folder, 'tls.crt')),
      key: readFileSync(join(folder, 'tls.key')),
    }),
  },
  { host: '127.0.0.1', port: 0 },
);
process.stdout.write(`${JSON.stringify({ url: server.url })}\n`);
createInterface({ input: process.stdin }).on('line', (line) => {
  if (line === 'begin') {
    hasBegun = true;
    objects.clear();
  }
  process.stdout.write(`${reads}\n`);
});
process.on('disconnect', () => process.exit(0));
