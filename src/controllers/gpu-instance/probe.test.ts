import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createVirtualClock, type VirtualClock } from '../../../test/builders/virtual-clock.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { silentLogger } from '../../lib/logger.ts';
import { Secret } from '../../lib/secret.ts';
import { type CallerOf, ProbeSchedules, type ProbeTarget, probeTarget } from './probe.ts';

type Probe = NonNullable<GpuInstance['spec']['readinessProbe']>;

/** When the clock of each test begins. */
const BEGUN = new Date(createVirtualClock().now()).toISOString();
const SECOND = 1000;
const KEY = 'team/trainer';
const HTTP: Probe = {
  httpGet: { path: '/health', port: 'http', scheme: 'HTTP' },
  initialDelaySeconds: 0,
  periodSeconds: 10,
  timeoutSeconds: 2,
  successThreshold: 1,
  failureThreshold: 3,
};

let clock: VirtualClock;
beforeEach(() => {
  clock = createVirtualClock();
});

/** Returns a GpuInstance whose machine has run since the clock began, with port 8000 publicly mapped to 40001. */
function running(
  status: NonNullable<GpuInstance['status']> = {},
  spec: Partial<GpuInstance['spec']> = {},
): GpuInstance {
  return {
    metadata: { name: 'trainer', namespace: 'team', uid: 'uid-1' },
    spec: {
      readinessProbe: HTTP,
      ports: [{ name: 'http', containerPort: 8000, protocol: 'TCP' }],
      ...spec,
    },
    status: {
      instanceId: '7',
      actualStatus: 'running',
      runningAt: BEGUN,
      publicAddress: '203.0.113.5',
      ports: [{ containerPort: 8000, protocol: 'TCP', publicPort: 40001 }],
      ssh: { host: 'ssh.example', port: 22022 },
      ...status,
    },
    // A probe looks at these fields alone.
  } as unknown as GpuInstance;
}

/** Schedules over a prober that answers as the test says, one answer after the other, then the last one again. */
function scheduled(answers: readonly (string | undefined)[], callerOf?: CallerOf) {
  const asked: { readonly at: number; readonly target: ProbeTarget }[] = [];
  const changes: string[] = [];
  const begun = clock.monotonic();
  const schedules = new ProbeSchedules({
    clock,
    log: silentLogger,
    callerOf,
    onChange: (key) => changes.push(key),
    prober: async (target) => {
      asked.push({ at: (clock.monotonic() - begun) / SECOND, target });
      return answers[Math.min(asked.length, answers.length) - 1];
    },
  });
  return { schedules, asked, changes };
}

describe('a worker that is reached by TLS', () => {
  const tls = {
    ...{ certificate: 'c', key: new Secret('the-private-key'), authorities: 'a', serverName: 'u1.llm' },
  };

  test('is asked by the certificate of its gateway, which is read for each probe', async () => {
    let reads = 0;
    const { schedules, asked } = scheduled([undefined], async () => {
      reads++;
      return { type: 'tls', tls };
    });
    schedules.view(KEY, running());
    await clock.advance(25 * SECOND);
    expect(asked.map(({ target }) => target.tls)).toEqual([tls, tls, tls]);
    expect(reads).toBe(3);
  });

  test.each<[string, CallerOf]>([
    [
      'does not exist',
      async () => ({ type: 'problem', detail: 'Secret llm-gateway-client does not exist yet.' }),
    ],
    ['cannot be read', () => Promise.reject(new Error('Secret llm-gateway-client does not exist yet.'))],
  ])('is not ready while the Secret %s, and says so', async (_, callerOf) => {
    const { schedules, asked } = scheduled([undefined], callerOf);
    schedules.view(KEY, running());
    await clock.advance(SECOND);
    expect(schedules.view(KEY, running())).toEqual({
      ready: false,
      detail: 'The readiness probe cannot be sent: Secret llm-gateway-client does not exist yet.',
    });
    expect(asked).toEqual([]);
  });

  test('is asked by TCP without any certificate', async () => {
    const { schedules, asked } = scheduled([undefined], () => Promise.reject(new Error('not asked for')));
    const { httpGet: _, ...probe } = HTTP;
    const tcp = { ...probe, tcpSocket: { port: 'http' } };
    schedules.view(KEY, running({}, { readinessProbe: tcp }));
    await clock.advance(SECOND);
    expect(asked.map(({ target }) => target.tls)).toEqual([undefined]);
  });
});

describe('what is asked', () => {
  test.each<[string, Partial<GpuInstance['spec']>, NonNullable<GpuInstance['status']>, string | undefined]>([
    ['is the public side of a port by its name', {}, {}, 'HTTP 203.0.113.5:40001/health in 2000 ms'],
    [
      'is the public side of a port by its number',
      { readinessProbe: { ...HTTP, httpGet: undefined, tcpSocket: { port: 8000 } } },
      {},
      'TCP 203.0.113.5:40001 in 2000 ms',
    ],
    [
      'is SSH, where the port is not declared',
      { readinessProbe: { ...HTTP, httpGet: undefined, tcpSocket: { port: 22 } } },
      {},
      'TCP ssh.example:22022 in 2000 ms',
    ],
    [
      'is the public side of an identity port by its name (B15)',
      { ports: [{ name: 'http', containerPort: 70_000, protocol: 'TCP' }] },
      { ports: [{ containerPort: 41_234, protocol: 'TCP', publicPort: 41_234 }] },
      'HTTP 203.0.113.5:41234/health in 2000 ms',
    ],
    ['is nothing without a probe', { readinessProbe: undefined }, {}, undefined],
    [
      'is nothing where the probe names no action',
      { readinessProbe: { ...HTTP, httpGet: undefined } },
      {},
      undefined,
    ],
    ['is nothing before the machine ran', {}, { runningAt: undefined }, undefined],
    ['is nothing before its port is known', {}, { ports: [] }, undefined],
    [
      'is nothing where only the other protocol has the port',
      {},
      { ports: [{ containerPort: 8000, protocol: 'UDP', publicPort: 40001 }] },
      undefined,
    ],
    ['is nothing before its address is known', {}, { publicAddress: undefined }, undefined],
  ])('%s', (_, spec, status, expected) => {
    const target = probeTarget(running(status, spec));
    const how = target?.http ? target.http.scheme : 'TCP';
    const told =
      target && `${how} ${target.host}:${target.port}${target.http?.path ?? ''} in ${target.timeoutMs} ms`;
    expect(told).toBe(expected);
  });
});

describe('a machine', () => {
  test('is asked at once, and again after each period', async () => {
    const { schedules, asked } = scheduled([undefined]);
    const object = running();
    for (let second = 0; second < 25; second += 5) {
      schedules.view(KEY, object);
      await clock.advance(5 * SECOND);
    }
    expect(asked.map(({ at }) => at)).toEqual([0, 10, 20]);
  });

  test('is not asked before its initial delay, counted from when it ran', async () => {
    const { schedules, asked } = scheduled([undefined]);
    const object = running({}, { readinessProbe: { ...HTTP, initialDelaySeconds: 30 } });
    await clock.advance(12 * SECOND);
    schedules.view(KEY, object);
    await clock.advance(60 * SECOND);
    expect(asked[0]?.at).toBe(30);
  });

  test('is ready when it answers, and that is news once', async () => {
    const { schedules, changes } = scheduled([undefined]);
    const object = running();
    expect(schedules.view(KEY, object)).toBeUndefined();
    await clock.advance(35 * SECOND);
    expect(schedules.view(KEY, object)).toEqual({ ready: true, detail: '' });
    expect(changes).toEqual([KEY]);
  });

  test('is not ready from its first refusal on, in the words of the probe', async () => {
    const { schedules, changes } = scheduled(['The probe answered 503.']);
    const object = running();
    schedules.view(KEY, object);
    await clock.advance(SECOND);
    expect(schedules.view(KEY, object)).toMatchObject({ ready: false, detail: 'The probe answered 503.' });
    expect(changes).toEqual([KEY]);
  });

  test('that was ready stays so until as many refusals in a row as the threshold says', async () => {
    const { schedules } = scheduled([undefined, 'no', 'no', undefined, 'no', 'no', 'no']);
    const object = running();
    const seen: (boolean | undefined)[] = [];
    for (let look = 0; look < 7; look += 1) {
      schedules.view(KEY, object);
      await clock.advance((look === 0 ? 1 : 10) * SECOND);
      seen.push(schedules.view(KEY, object)?.ready);
    }
    expect(seen).toEqual([true, true, true, true, true, true, false]);
  });

  test('that was not ready takes as many answers in a row as the threshold says', async () => {
    const { schedules } = scheduled(['no', undefined, 'no', undefined, undefined]);
    const object = running({}, { readinessProbe: { ...HTTP, successThreshold: 2 } });
    const seen: (boolean | undefined)[] = [];
    for (let look = 0; look < 5; look += 1) {
      schedules.view(KEY, object);
      await clock.advance((look === 0 ? 1 : 10) * SECOND);
      seen.push(schedules.view(KEY, object)?.ready);
    }
    expect(seen).toEqual([false, false, false, false, true]);
  });
});

describe('an answer', () => {
  /** Schedules over a prober whose answers come when the test gives them. */
  function pending() {
    const answers: ((problem: string | undefined) => void)[] = [];
    const changes: string[] = [];
    const schedules = new ProbeSchedules({
      clock,
      log: silentLogger,
      onChange: (key) => changes.push(key),
      prober: () => new Promise((resolve) => answers.push(resolve)),
    });
    return { schedules, answers, changes };
  }

  test('of a machine that was replaced meanwhile says nothing about the next one', async () => {
    const { schedules, answers, changes } = pending();
    schedules.view(KEY, running());
    await clock.advance(0);
    schedules.view(KEY, running({ instanceId: '8' }));
    await clock.advance(0);
    answers[0]?.(undefined);
    await clock.settle();
    expect(schedules.view(KEY, running({ instanceId: '8' }))).toBeUndefined();
    expect([answers.length, changes]).toEqual([2, []]);
  });

  test.each<[string, (schedules: ProbeSchedules) => unknown]>([
    ['was stopped', (schedules) => schedules.view(KEY, running({ actualStatus: 'stopped' }))],
    ['was forgotten', (schedules) => schedules.forget(KEY)],
    ['nobody watches any more', (schedules) => schedules.stop()],
  ])('of a machine that %s is no news, and it is not asked again', async (_, end) => {
    const { schedules, answers, changes } = pending();
    schedules.view(KEY, running());
    await clock.advance(0);
    end(schedules);
    answers[0]?.(undefined);
    await clock.advance(60 * SECOND);
    expect([answers.length, changes, clock.nextTimerMs()]).toEqual([1, [], undefined]);
  });
});

test('a machine that is forgotten before its first question is never asked', async () => {
  const { schedules, asked } = scheduled([undefined]);
  schedules.view(KEY, running());
  schedules.forget(KEY);
  await clock.advance(60 * SECOND);
  expect([asked, clock.nextTimerMs()]).toEqual([[], undefined]);
});

test.each<[string, GpuInstance]>([
  ['another machine', running({ instanceId: '8' })],
  ['another address', running({ publicAddress: '203.0.113.6' })],
  ['another probe', running({}, { readinessProbe: { ...HTTP, failureThreshold: 1 } })],
])('what one machine said does not hold for %s', async (_, next) => {
  const { schedules } = scheduled([undefined]);
  schedules.view(KEY, running());
  await clock.advance(SECOND);
  expect(schedules.view(KEY, running())?.ready).toBe(true);
  expect(schedules.view(KEY, next)).toBeUndefined();
});

describe('a prober that fails by itself', () => {
  /** Schedules over a prober that does this at its first call, and answers well at the later ones. */
  function failingFirst(first: () => Promise<string | undefined>) {
    const rejections: unknown[] = [];
    const onRejection = (error: unknown) => rejections.push(error);
    process.on('unhandledRejection', onRejection);
    onTestFinished(() => void process.off('unhandledRejection', onRejection));
    const changes: string[] = [];
    let calls = 0;
    const schedules = new ProbeSchedules({
      clock,
      log: silentLogger,
      onChange: (key) => changes.push(key),
      prober: () => (calls++ === 0 ? first() : Promise.resolve(undefined)),
    });
    return { schedules, changes, rejections, calls: () => calls };
  }

  test.each<[string, () => Promise<never>]>([
    ['rejects', () => Promise.reject(new TypeError('Invalid character in header content ["x"]'))],
    [
      'throws',
      () => {
        throw new TypeError('Invalid character in header content ["x"]');
      },
    ],
  ])('scenario 89: is a failed probe of its object, and is asked again when it %s (C1)', async (_, first) => {
    const { schedules, changes, rejections, calls } = failingFirst(first);
    schedules.view(KEY, running());
    await clock.advance(0);
    await clock.settle();
    expect(schedules.view(KEY, running())).toEqual({
      ready: false,
      detail: 'The readiness probe cannot be sent: Invalid character in header content ["x"]',
    });
    expect(changes).toEqual([KEY]);
    await clock.advance(10 * SECOND);
    await clock.settle();
    expect(calls()).toBe(2);
    expect(schedules.view(KEY, running())?.ready).toBe(true);
    await new Promise((resolve) => setImmediate(resolve));
    expect(rejections).toEqual([]);
  });

  test('scenario 90: is given up and asked again when it never settles (M8)', async () => {
    const { schedules, calls } = failingFirst(() => new Promise(() => {}));
    schedules.view(KEY, running());
    await clock.advance(7 * SECOND);
    await clock.settle();
    expect(schedules.view(KEY, running())).toMatchObject({
      ready: false,
      detail: 'The probe did not answer.',
    });
    await clock.advance(10 * SECOND);
    await clock.settle();
    expect(calls()).toBe(2);
    expect(schedules.view(KEY, running())?.ready).toBe(true);
  });
});
