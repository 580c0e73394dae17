import { beforeEach, describe, expect, test } from 'vitest';
import { type MemoryCluster, memoryCluster, refusedBy } from '../../../test/builders/memory-cluster.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { annotations, gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import type { Clock } from '../../lib/clock.ts';
import { seededRandom } from '../../lib/random.ts';
import { namespaceResource } from '../../runtime/kube/core-resources.ts';
import { Interrupted } from '../command-error.ts';
import { noLog } from '../logs/run-log.ts';
import { type Attended, attend, deletedLine } from './attended-run.ts';

/* A person's run against a Kubernetes API in memory. No operator works: the test reports what happens. */

const NAMESPACE = 'team';
const REF = { namespace: NAMESPACE, name: 'train' };

let cluster: MemoryCluster;
let object: GpuInstance;
beforeEach(async () => {
  cluster = memoryCluster();
  await cluster.kube.create(namespaceResource, {
    ...{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
  });
  object = await cluster.kube.create<GpuInstance>(gpuInstanceResource, {
    ...{ apiVersion: 'gpurental.dev/v1alpha1', kind: 'GpuInstance', metadata: REF },
    spec: {
      ...{ image: 'ubuntu:24.04', command: ['true'], completion: {} },
      offers: [{ gpuNames: ['RTX 4090'], maxPricePerHour: '0.60' }],
    },
  } as unknown as GpuInstance);
});

type Status = NonNullable<GpuInstance['status']>;

/** Writes a status, as the operator does. */
async function report(status: object): Promise<void> {
  const current = await cluster.kube.get<GpuInstance>(gpuInstanceResource, REF);
  if (!current) throw new Error('no object');
  const changed = { ...current, status: { observedGeneration: 1, ...status } as Status };
  await cluster.kube.replace(gpuInstanceResource, changed, { subresource: 'status' });
}

const RUNNING = {
  ...{ phase: 'Running', instanceId: '4711', attempt: 1 },
  cost: { accrued: '0.10', pricePerHour: '0.31', since: '2026-11-20T12:00:00Z' },
};

const ended = (reason: string, exitCode?: number) => ({
  conditions: [
    {
      ...{ type: 'Succeeded', status: reason === 'Completed' ? 'True' : 'False', reason },
      ...{ message: 'It ended.', lastTransitionTime: '2026-11-20T12:41:00Z' },
    },
  ],
  cost: { accrued: '0.41' },
  run: {
    ...(exitCode !== undefined && { exitCode }),
    ...{ attempts: 2, startedAt: '2026-11-20T12:00:00Z', finishedAt: '2026-11-20T12:41:00Z' },
  },
});

interface Following {
  readonly result: Promise<Attended | Error>;
  readonly lines: string[];
  readonly questions: string[];
  interrupt(exitCode?: number): void;
}

/**
 * `answer`: that of a person at a terminal; undefined without a terminal. `aheadMs`: milliseconds by which the clock of
 * the person is ahead.
 */
function follow(answer?: () => Promise<string>, isCreator = true, aheadMs = 0): Following {
  const { kube } = cluster;
  const clock: Clock = { ...cluster.clock, now: () => cluster.clock.now() + aheadMs };
  const abort = new AbortController();
  const [lines, questions]: [string[], string[]] = [[], []];
  const ask = (question: string): Promise<string> => {
    questions.push(question);
    return answer?.() ?? Promise.reject(new Error('no terminal'));
  };
  const result = attend(object, {
    ...{ kube, clock, random: seededRandom(7), namespace: NAMESPACE, signal: abort.signal, followLog: noLog },
    print: (line) => lines.push(line),
    ...{ ask: answer && ask, isCreator },
  }).catch((error: Error) => error);
  return { result, lines, questions, interrupt: (code) => abort.abort(new Interrupted(code)) };
}

const annotationsNow = async () =>
  (await cluster.kube.get<GpuInstance>(gpuInstanceResource, REF))?.metadata.annotations ?? {};

describe('a run that a person follows', () => {
  test.each([
    ['Completed', 0, 0],
    ['BackoffLimit', 3, 3],
    ['BackoffLimit', 75, 75],
    ['BackoffLimit', 137, 137],
    ['LostLimit', undefined, 1],
    ['DeadlineExceeded', undefined, 1],
    ['Cancelled', undefined, 143],
  ])('%s with code %s exits with %s', async (reason, code, exitCode) => {
    const { result, lines } = follow();
    await cluster.clock.advance(1_000);
    await report(ended(reason, code));
    await cluster.clock.advance(1_000);
    expect(await result).toEqual({ exitCode, isLeft: false });
    expect(lines.slice(-2)).toEqual([`gpui/train ${reason}: It ended.`, '2 machines, 41m, $0.41.']);
  });

  test('prints each state with the price per hour', async () => {
    const { lines } = follow();
    await report(RUNNING);
    await cluster.clock.advance(1_000);
    expect(lines.at(-1)).toMatch(/^gpui\/train Running, machine 4711, \$0\.31\/h, \$0\.10\d* so far/);
  });

  test.each([[undefined], [143]])(
    'goes on after signal %s without a terminal, and names how to follow and end it',
    async (code) => {
      const { result, lines, interrupt } = follow();
      await report(RUNNING);
      await cluster.clock.advance(1_000);
      interrupt(code);
      await cluster.clock.advance(6_000);
      expect(await result).toEqual({ exitCode: code ?? 130, isLeft: true });
      expect(lines.slice(-3)).toEqual([
        'gpui/train goes on: machine 4711 bills $0.31/h until its program ends, at most 24h.',
        'Follow it: gpu-rent run --follow --name train -n team',
        'End it and its bill: kubectl delete gpui train -n team',
      ]);
      expect(await annotationsNow()).not.toHaveProperty([annotations.cancelAt]);
    },
  );

  test.each([['leave'], [''], ['n']])('goes on after Ctrl-C when the answer is "%s"', async (answer) => {
    const { result, questions, interrupt } = follow(async () => answer);
    await report(RUNNING);
    await cluster.clock.advance(1_000);
    interrupt();
    await cluster.clock.advance(6_000);
    expect(await result).toEqual({ exitCode: 130, isLeft: true });
    expect(questions).toEqual(['Leave it running ($0.31/h), or end it? [leave/end]']);
    expect(await annotationsNow()).not.toHaveProperty([annotations.cancelAt]);
  });

  test('prints what goes on before it asks, so that a second Ctrl-C hides nothing', async () => {
    const { lines, questions, interrupt } = follow(() => new Promise<never>(() => {}));
    await report(RUNNING);
    await cluster.clock.advance(1_000);
    interrupt();
    await cluster.clock.advance(6_000);
    expect(questions).toHaveLength(1);
    expect(lines.at(-1)).toContain('kubectl delete gpui train -n team');
  });

  test('is cancelled after Ctrl-C when the answer is "end", and followed to its end', async () => {
    const { result, interrupt } = follow(async () => 'end');
    await report(RUNNING);
    await cluster.clock.advance(1_000);
    interrupt();
    await cluster.clock.advance(1_000);
    expect(await annotationsNow()).toMatchObject({
      [annotations.cancelAt]: expect.stringMatching(/^2026-11-20T12:00:0\dZ$/),
    });
    await report(ended('Cancelled'));
    await cluster.clock.advance(1_000);
    expect(await result).toEqual({ exitCode: 130, isLeft: false });
  });

  test('is cancelled at once when the clock of the person is an hour ahead', async () => {
    const { interrupt } = follow(async () => 'end', true, 3_600_000);
    await report(RUNNING);
    await cluster.clock.advance(1_000);
    interrupt();
    await cluster.clock.advance(1_000);
    const { [annotations.cancelAt]: at = '' } = await annotationsNow();
    expect(Date.parse(at)).toBeLessThanOrEqual(cluster.clock.now());
  });

  test('goes on when the terminal is gone at the question', async () => {
    const { result, interrupt } = follow(() => Promise.reject(new Error('stdin has ended')));
    await report(RUNNING);
    await cluster.clock.advance(1_000);
    interrupt();
    await cluster.clock.advance(6_000);
    expect(await result).toMatchObject({ isLeft: true });
  });

  test('names how to end it after Ctrl-C while the API server does not answer', async () => {
    const { result, lines, interrupt } = follow();
    await report(RUNNING);
    await cluster.clock.advance(1_000);
    cluster.intercept = () => new Promise<never>(() => {});
    interrupt();
    await cluster.clock.advance(6_000);
    expect(await result).toEqual({ exitCode: 130, isLeft: true });
    expect(lines.slice(-3)).toEqual([
      'gpui/train keeps running and billing; API server unreachable.',
      'Follow it: gpu-rent run --follow --name train -n team',
      'End it and its bill: kubectl delete gpui train -n team',
    ]);
  });

  test('names that the operator still rents after Ctrl-C before it has a machine', async () => {
    const { result, lines, interrupt } = follow();
    await cluster.clock.advance(1_000);
    interrupt();
    await cluster.clock.advance(6_000);
    expect(await result).toMatchObject({ isLeft: true });
    expect(lines).toContain('gpui/train goes on: it has no machine now, and the operator rents one.');
  });

  test('goes on to follow after the API server was away, and ends with the code of the program', async () => {
    const { result } = follow();
    await report(RUNNING);
    await cluster.clock.advance(1_000);
    const { intercept } = cluster;
    cluster.intercept = () => Promise.reject(new Error('no route'));
    cluster.memory.closeWatches();
    await cluster.clock.advance(300_000);
    cluster.intercept = intercept;
    await report(ended('BackoffLimit', 4));
    await cluster.clock.advance(60_000);
    expect(await result).toEqual({ exitCode: 4, isLeft: false });
  });

  const INVALID = {
    conditions: [
      {
        ...{ type: 'Stalled', status: 'True', reason: 'InvalidSpec', message: 'No price limit.' },
        lastTransitionTime: '2026-11-20T12:00:00Z',
      },
    ],
  };

  test('is deleted, and the failure names the reason, when the operator refuses to rent', async () => {
    const { result } = follow();
    await report(INVALID);
    await cluster.clock.advance(1_000);
    expect(await result).toMatchObject({ exitCode: 1, refusal: { message: 'gpui/train: No price limit.' } });
    expect(await cluster.kube.get(gpuInstanceResource, REF)).toBeUndefined();
  });

  test('stays when the operator refuses it and another process created it', async () => {
    const { result } = follow(undefined, false);
    await report(INVALID);
    await cluster.clock.advance(1_000);
    expect(await result).toMatchObject({ exitCode: 1, refusal: { message: 'gpui/train: No price limit.' } });
    expect(await cluster.kube.get(gpuInstanceResource, REF)).toBeDefined();
  });

  test('goes on when its author corrects the spec before the operator reads it', async () => {
    await report(INVALID);
    await cluster.kube.patch(gpuInstanceResource, REF, {
      ...{ type: 'merge', body: { spec: { image: 'ubuntu:25.10' } } },
    });
    const { result } = follow();
    await cluster.clock.advance(1_000);
    expect(await cluster.kube.get(gpuInstanceResource, REF)).toBeDefined();
    await report({ ...ended('Completed', 0), observedGeneration: 2 });
    await cluster.clock.advance(1_000);
    expect(await result).toEqual({ exitCode: 0, isLeft: false });
  });

  test('stays when it changes between the refusal and its deletion', async () => {
    cluster.intercept = ({ method }) =>
      method === 'DELETE' ? refusedBy(409, 'Conflict', 'the object has been modified') : undefined;
    const { result, lines } = follow();
    await report(INVALID);
    await cluster.clock.advance(1_000);
    expect(await result).toMatchObject({ exitCode: 1, isLeft: false });
    expect(lines.at(-1)).toContain('gpui/train was refused and stays');
  });

  test.each([
    ['Destroy', 'the operator destroys its machine.'],
    ['Stop', 'the operator stops its machine, and the disk is still billed.'],
    ['Retain', 'its machine keeps running and billing.'],
  ])('names what its deletion does when deletionPolicy is %s', (deletionPolicy, effect) => {
    const { spec } = object;
    const line = deletedLine({ ...object, spec: { ...spec, deletionPolicy } } as GpuInstance);
    expect(line).toBe(`gpui/train is deleted; ${effect}`);
  });

  test('ends with 143 when its object is deleted by another person', async () => {
    const { result, lines } = follow();
    await cluster.clock.advance(1_000);
    await cluster.kube.delete(gpuInstanceResource, REF);
    await cluster.clock.advance(1_000);
    expect(await result).toEqual({ exitCode: 143, isLeft: false });
    expect(lines).toContain('gpui/train was deleted before its run ended.');
  });
});
