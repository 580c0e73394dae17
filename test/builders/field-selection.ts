import { expect, onTestFinished } from 'vitest';
import { sleep, systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemRandom } from '../../src/lib/random.ts';
import type { KubeClient } from '../../src/runtime/kube/kube-client.ts';
import { createInformer, type InformerOptions } from '../../src/runtime/list-watch/informer.ts';
import { silentMetrics } from '../../src/runtime/metrics-ports.ts';
import { eventually, hastyClock, type Widget, widget, widgets } from './widgets.ts';

/** An API server that serves widgets, and a namespace of it without any. */
export interface WidgetNamespace {
  readonly client: KubeClient;
  readonly namespace: string;
}

const names = (objects: readonly Widget[]): string[] => objects.map(({ metadata }) => metadata.name).sort();

function followed({ client, namespace }: WidgetNamespace, options: Partial<InformerOptions<Widget>>) {
  const informer = createInformer<Widget>({
    ...{ client, resource: widgets, namespace, clock: systemClock },
    ...{ random: systemRandom, log: silentLogger },
    ...options,
  });
  const changes: string[] = [];
  informer.onChange(({ type, object }) => changes.push(`${type} ${object.metadata.name}`));
  onTestFinished(() => informer.stop());
  informer.start();
  return { informer, changes };
}

/** Checks that an informer with a field selector sees an object enter and leave its selection, in either order. */
export async function followsSelectedField(
  where: WidgetNamespace,
  initialState: 'auto' | 'paged',
): Promise<void> {
  const { client, namespace } = where;
  const small = await client.create(widgets, widget(namespace, 'small', 1));
  const large = await client.create(widgets, widget(namespace, 'large', 2));
  const { informer, changes } = followed(where, { initialState, fieldSelector: 'spec.size=2' });
  await informer.synced;
  expect(names(informer.list())).toEqual(['large']);
  await client.replace(widgets, { ...small, spec: { size: 2 } });
  await client.replace(widgets, { ...large, spec: { size: 3 } });
  await client.create(widgets, widget(namespace, 'other', 3));
  await client.delete(widgets, { namespace, name: 'small' });
  await client.create(widgets, widget(namespace, 'last', 2));
  await eventually('the last change is reported', () => changes.at(-1) === 'added last');
  expect(changes).toEqual(['added large', 'added small', 'deleted large', 'deleted small', 'added last']);
}

/** Checks that an informer of one object by name reports no other object, and that its audit finds no divergence. */
export async function followsOneName(where: WidgetNamespace): Promise<void> {
  const { client, namespace } = where;
  let one = await client.create(widgets, widget(namespace, 'one'));
  await client.create(widgets, widget(namespace, 'two'));
  const audits: number[] = [];
  const { informer, changes } = followed(where, {
    ...{ fieldSelector: 'metadata.name=one', clock: hastyClock(100), auditIntervalMs: 60_000 },
    metrics: { ...silentMetrics, diverged: (_kind, count) => audits.push(count) },
  });
  await informer.synced;
  // An audit waits for the copy to reach its list, which the next write of the object brings about.
  while (audits.length === 0) {
    one = await client.replace(widgets, { ...one, spec: { size: (one.spec?.size ?? 0) + 1 } });
    const { resourceVersion } = one.metadata;
    const isSeen = () => informer.list()[0]?.metadata.resourceVersion === resourceVersion;
    await eventually('the write is seen', isSeen);
    await sleep(systemClock, 50);
  }
  expect(audits).toEqual([0]);
  expect(new Set(changes)).toEqual(new Set(['added one', 'updated one']));
}

/** Checks that an informer with an unsupported field selector reports the refusal in its health. */
export async function reportsRefusedField(where: WidgetNamespace): Promise<void> {
  const { informer } = followed(where, { fieldSelector: 'spec.colour=red' });
  await eventually('the refusal', () => informer.health().failure !== undefined);
  expect(informer.health().failure).toContain('field label not supported');
  expect(informer.hasSynced()).toBe(false);
}
