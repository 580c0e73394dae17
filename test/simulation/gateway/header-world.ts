import { createHash } from 'node:crypto';
import { callerKeys } from '../../../src/gateway/caller-keys.ts';
import type { ReadHeader } from '../../../src/gateway/request-notes.ts';
import { ServedGroup } from '../../../src/gateway/served-group.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { createGatewayMetrics } from '../../../src/server/gateway-metrics.ts';
import { createMetricRegistry } from '../../../src/server/metric-registry.ts';
import { createVirtualClock } from '../../builders/virtual-clock.ts';
import { Chance } from '../chance.ts';
import { BrokenPromise } from './watched-queue.ts';

const REQUESTS = 30;
const CALLERS = ['router', 'batch', 'forger'] as const;
const FORGED = [undefined, '', '0', '0.0', '00', '-1', '1e9', 'NaN', ' 3', '+5', '0x10', '0.000001'] as const;
const MIN_WORK = 0.01;
const MAX_WORK = 1e9;

/**
 * Plays a group that reads work from a header, and callers that forge it. A trusted caller's value counts, but at
 * least the floor; every other request counts 1.
 */
export function playHeaders(seed: number): void {
  const chance = new Chance(seededRandom(seed));
  const trusted: readonly string[] = chance.oneOf([[], ['router'], ['router', 'batch'], ['*']]);
  const group = servedGroup(trusted);
  let before = 0;
  for (let count = 0; count < REQUESTS; count += 1) {
    const caller = chance.oneOf(CALLERS);
    const header = chance.isWithin(0.5) ? String(chance.below(2_000_000_000)) : chance.oneOf(FORGED);
    const headers = new Map<ReadHeader, string>([['authorization', `Bearer ${caller}`]]);
    if (header !== undefined) headers.set('x-gpurental-work', header);
    const { signal: left } = new AbortController();
    const head = { headers, contentLength: 0, left, readBody: () => new Promise<never>(() => {}) };
    void group.answer({ id: `r${count}`, head, path: '/' });
    const { arrivedWork } = group.report();
    const own = arrivedWork - before;
    before = arrivedWork;
    const isTrusted = trusted.includes('*') || trusted.includes(caller);
    const right = isTrusted ? workBy(header) : 1;
    if (Math.abs(own - right) > 1e-4)
      throw new BrokenPromise('workFloor', `${caller} counts ${own} with ${header}, and not ${right}`);
  }
}

/** Returns the work of a header: a plain decimal number within bounds, else 1. */
function workBy(header: string | undefined): number {
  const isNumber =
    header !== undefined && header !== '' && [...header].every((each) => '0123456789.'.includes(each));
  return isNumber ? Math.min(MAX_WORK, Math.max(MIN_WORK, Number(header))) : 1;
}

function servedGroup(trustedCallers: readonly string[]): ServedGroup {
  const group = new ServedGroup({
    key: 'default/llm',
    settings: {
      ...{ namespace: 'default', name: 'llm', work: 'Header', link: 'Plain', keysSecret: 'keys' },
      ...{ routing: 'LeastWait', retries: 'Idempotent', trustedCallers, quietPaths: [], cors: undefined },
      ...{ maxHeldPerClient: undefined, maxHeldBytes: Number.POSITIVE_INFINITY },
      ...{ holdMs: 600_000, maxHeld: REQUESTS, maxQueueTimeMs: 30_000, expectedPerf: undefined },
    },
    clock: createVirtualClock(),
    metrics: createGatewayMetrics(createMetricRegistry()),
    wake: () => {},
    trustedHops: 0,
  });
  const keys = callerKeys(
    new Map(CALLERS.map((caller) => [caller, createHash('sha256').update(caller).digest('hex')])),
  );
  group.setAccess({ type: 'keys', keys });
  return group;
}
