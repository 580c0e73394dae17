import { expect, test } from 'vitest';
import type { Clock } from '../../lib/clock.ts';
import { ServiceClock } from './service-clock.ts';

const HOUR = 3_600_000;

function clocks() {
  const time = { wall: 1_000_000, monotonic: 5 };
  const clock: Clock = {
    now: () => time.wall,
    monotonic: () => time.monotonic,
    setTimer: () => ({ cancel() {} }),
  };
  return { time, clock };
}

const replyDated = (date: string | undefined) => async () => ({
  status: 200,
  headers: date === undefined ? {} : { date },
  body: (async function* () {})(),
  destroy() {},
});
const request = { method: 'GET', origin: 'https://market.example', path: '/', headers: {} };

test('the time is unknown until a reply names it, and stays so where none does', async () => {
  const { clock } = clocks();
  const service = new ServiceClock(clock);
  await service.listening(replyDated(undefined))(request);
  expect(service.now()).toEqual({ type: 'unknown' });
});

test('the time goes on from the last reply, however wrong our own clock is', async () => {
  const { time, clock } = clocks();
  const service = new ServiceClock(clock);
  await service.listening(replyDated('Fri, 20 Nov 2026 12:00:00 GMT'))(request);
  time.wall += 1_500;
  time.monotonic += 1_500;
  expect(service.now()).toEqual({ type: 'known', at: Date.UTC(2026, 10, 20, 12, 0, 1, 500) });
});

test.each([
  ['the wall clock was set ahead', HOUR, 0],
  ['the wall clock was set back', -HOUR, 0],
  ['the machine slept', HOUR, 100],
])('scenario 58: the time is stale where %s since, until the next reply', async (_, wall, monotonic) => {
  const { time, clock } = clocks();
  const service = new ServiceClock(clock);
  const ask = service.listening(replyDated('Fri, 20 Nov 2026 12:00:00 GMT'));
  await ask(request);
  time.wall += wall;
  time.monotonic += monotonic;
  expect(service.now()).toEqual({ type: 'stale' });
  await ask(request);
  expect(service.now()).toMatchObject({ type: 'known' });
});
