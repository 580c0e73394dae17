import { expect, test } from 'vitest';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import { DeadlineError } from '../../lib/deadline.ts';
import { seededRandom } from '../../lib/random.ts';
import { KubeError } from './kube-error.ts';
import { retryReads } from './retry-reads.ts';

const failure = (details: Partial<ConstructorParameters<typeof KubeError>[1]>) =>
  new KubeError('no', { kind: 'unavailable', status: 0, reason: '', outcome: 'unknown', ...details });

/** How often a read that fails like this is made within two minutes. */
async function timesRead(error: KubeError): Promise<number> {
  const clock = createVirtualClock();
  let times = 0;
  const reading = retryReads({ clock, random: seededRandom(1) }, async () => {
    times += 1;
    throw error;
  });
  const ended = expect(reading).rejects.toBe(error);
  await clock.advance(120_000);
  await ended;
  return times;
}

test.each([
  ['that was not answered is made four times', failure({}), 4],
  ['that was throttled is, too', failure({ kind: 'throttled', status: 429 }), 4],
  ['that has used its whole deadline has waited long enough', failure({ cause: new DeadlineError('') }), 1],
  [
    'that is to rest for longer than 30 s is left to who asked',
    failure({ kind: 'throttled', retryAfterMs: 30_001 }),
    1,
  ],
  ['that was refused is made once', failure({ kind: 'forbidden', status: 403, outcome: 'refused' }), 1],
])('a read %s', async (_, error, times) => {
  expect(await timesRead(error)).toBe(times);
});
