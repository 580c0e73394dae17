import type { Clock } from '../../src/lib/clock.ts';
import { systemClock } from '../../src/lib/clock.ts';

/** Returns a clock that begins with the machine's own and passes that many seconds in each of its seconds. */
export function scaledClock(scale: number): Clock {
  const [wall, steady] = [systemClock.now(), systemClock.monotonic()];
  const passed = () => (systemClock.monotonic() - steady) * scale;
  return {
    now: () => Math.floor(wall + passed()),
    monotonic: () => steady + passed(),
    setTimer: (delayMs, run, options) => systemClock.setTimer(delayMs / scale, run, options),
  };
}
