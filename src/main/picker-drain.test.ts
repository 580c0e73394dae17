import { describe, expect, test } from 'vitest';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { drain } from './picker-drain.ts';

/** Returns a drain of 5 s within a minute, and its effects. */
function begun({ requests, admin }: { requests: number; admin?: () => Promise<void> }) {
  const clock = createVirtualClock();
  const state = { requests, isRefused: false, isOver: false };
  const drained = drain({
    ...{ clock, log: silentLogger, delayMs: 5_000, graceMs: 60_000 },
    admin: admin && { closeConnections: admin },
    begunRequests: () => state.requests,
    refuseHeld: () => {
      state.isRefused = true;
    },
  }).then(() => {
    state.isOver = true;
  });
  return { clock, state, drained };
}

describe('a picker that ends', () => {
  test('goes on for the delay, also without a request', async () => {
    const { clock, state } = begun({ requests: 0 });
    await clock.advance(4_999);
    expect(state).toMatchObject({ isRefused: false, isOver: false });
    await clock.advance(1_000);
    expect(state.isOver).toBe(true);
  });

  test('waits for requests that came within the delay', async () => {
    const { clock, state } = begun({ requests: 0 });
    await clock.advance(3_000);
    state.requests = 1;
    await clock.advance(40_000);
    expect(state).toMatchObject({ isRefused: false, isOver: false });
    state.requests = 0;
    await clock.advance(1_000);
    expect(state.isOver).toBe(true);
  });

  test('counts no moment as the end between two requests of one connection', async () => {
    const { clock, state } = begun({ requests: 0 });
    await clock.advance(5_300);
    state.requests = 1;
    await clock.advance(1_000);
    expect(state.isOver).toBe(false);
  });

  test('refuses what is held when the grace is over, and leaves time for the answers', async () => {
    const { clock, state } = begun({ requests: 3 });
    await clock.advance(59_900);
    expect(state.isRefused).toBe(false);
    await clock.advance(200);
    expect(state).toMatchObject({ isRefused: true, isOver: false });
    await clock.advance(1_000);
    expect(state.isOver).toBe(true);
  });

  test('has connections closed at once, and goes on where Envoy does not answer', async () => {
    let asked = 0;
    const { clock, state } = begun({
      requests: 0,
      admin: async () => {
        asked++;
        throw new Error('no such socket');
      },
    });
    await clock.settle();
    expect(asked).toBe(1);
    await clock.advance(6_000);
    expect(state.isOver).toBe(true);
  });
});
