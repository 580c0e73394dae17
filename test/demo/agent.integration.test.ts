import { afterEach, expect, inject, test } from 'vitest';
import type { AgentOutcome } from '../../scripts/demo/agent-story.ts';
import type {} from '../cluster/provided-context.ts';
import { endPlaygrounds, READY_MS, remainsOf, startDemo } from './playground-process.ts';

afterEach(endPlaygrounds);

/** True for a borrowed cluster: its operator and this test's would be two with one identity. */
const isBorrowed = inject('cluster').source === 'existing-cluster';

test.skipIf(isBorrowed)(
  'a hostile caller of 200 calls costs money within the budget and ends no machine of others',
  async () => {
    const demo = startDemo('demo-agent', { DEMO_CALLS: '200', DEMO_SEED: '3' });
    const code = await demo.ended;
    const last = demo.output().trim().split('\n').at(-1) ?? '';
    const { dollars, ...counts } = JSON.parse(last) as AgentOutcome;
    expect(counts, demo.output()).toEqual({
      ...{ calls: 200, budget: '10', foreignEnded: 0, unreadableRefusals: 0 },
    });
    expect(Number(dollars)).toBeGreaterThan(0);
    expect(Number(dollars)).toBeLessThanOrEqual(14);
    expect(code).toBe(0);
    expect(await remainsOf(demo)).toEqual([]);
  },
  2 * READY_MS,
);
