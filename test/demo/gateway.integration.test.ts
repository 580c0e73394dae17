import { afterEach, expect, inject, test } from 'vitest';
import type { GatewayOutcome } from '../../scripts/demo/gateway-story.ts';
import { until } from '../builders/until.ts';
import type {} from '../cluster/provided-context.ts';
import { endPlaygrounds, READY_MS, remainsOf, startDemo } from './playground-process.ts';

afterEach(endPlaygrounds);

const SMALL = { DEMO_REQUESTS: '30', DEMO_BOOT_SECONDS: '3' };
/** True for a borrowed cluster: its operator and this test's would be two with one identity. */
const isBorrowed = inject('cluster').source === 'existing-cluster';

test.skipIf(isBorrowed)(
  'all requests to a group at zero are served by one wake, no stream is cut by a scale-down, and nothing bills',
  async () => {
    const demo = startDemo('demo-gateway', SMALL);
    const code = await demo.ended;
    const outcome = JSON.parse(demo.output().trim().split('\n').at(-1) ?? '') as GatewayOutcome;
    // How fast the first byte comes depends on the machine; the demo judges it, this test does not.
    const { result, firstByteAfterReadyMs, ...counts } = outcome;
    expect(counts, demo.output()).toEqual({
      ...{ requests: 30, ok: 30, failed: 0, wakes: 1, cutStreams: 0, billing: 0 },
    });
    expect(firstByteAfterReadyMs).toEqual(expect.any(Number));
    expect(code).toBe(result === 'ok' ? 0 : 1);
    expect(await remainsOf(demo)).toEqual([]);
  },
  2 * READY_MS,
);

test.skipIf(isBorrowed)(
  'Ctrl-C while requests wait ends everything and leaves nothing',
  async () => {
    const demo = startDemo('demo-gateway', { ...SMALL, DEMO_BOOT_SECONDS: '600' });
    await until('requests wait', () => demo.output().includes('The first worker is decided'), READY_MS);
    demo.child.kill('SIGINT');
    expect(await demo.ended).toBe(130);
    expect(demo.output()).toContain('"result":"stopped by SIGINT"');
    expect(await remainsOf(demo)).toEqual([]);
  },
  2 * READY_MS,
);
