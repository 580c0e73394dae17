/**
 * Measures one hop of the runtime on a real API server, from the write of an object to the call of reconcile, and the
 * event-loop cost of a first list of many objects. `node bench/reconcile-hop.ts [objects]`.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { systemClock } from '../src/lib/clock.ts';
import { silentLogger } from '../src/lib/logger.ts';
import { systemRandom } from '../src/lib/random.ts';
import { createController, done } from '../src/runtime/controller.ts';
import { createInformer } from '../src/runtime/list-watch/informer.ts';
import {
  installWidgets,
  openWidgetClient,
  uniqueName,
  type Widget,
  widget,
  widgets,
} from '../test/builders/widgets.ts';
import { startCluster } from '../test/cluster/cluster.ts';

const objects = Number(process.argv[2] ?? 5000);
const HOPS = 300;
const env = { clock: systemClock, random: systemRandom, log: silentLogger };

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;

function summary(milliseconds: readonly number[]): Record<string, number> {
  const sorted = milliseconds.toSorted((a, b) => a - b);
  return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), max: sorted.at(-1) ?? Number.NaN };
}

const cluster = await startCluster();
try {
  await installWidgets(cluster);
  const namespace = await cluster.createNamespace('bench');
  const { client, close } = openWidgetClient(cluster);
  const padding = 'x'.repeat(3000);
  for (let at = 0; at < objects; at += 32) {
    const batch = Array.from({ length: Math.min(32, objects - at) }, (_, more) => ({
      ...widget(namespace, `w${at + more}`),
      status: { padding },
      spec: { size: 1, padding },
    }));
    await Promise.all(batch.map((one) => client.create(widgets, one)));
  }

  for (const initialState of ['auto', 'paged'] as const) {
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const begun = performance.now();
    const informer = createInformer<{ name: string }>({
      ...env,
      client,
      resource: widgets,
      initialState,
      project: (object) => ({ name: object.metadata.name }),
    });
    informer.start();
    await informer.synced;
    const syncMs = performance.now() - begun;
    delay.disable();
    const loop = { p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 };
    console.log(
      JSON.stringify({ measured: 'first state', initialState, objects, syncMs, loopDelayMs: loop }),
    );
    await informer.stop();
  }

  const informer = createInformer<Widget>({ ...env, client, resource: widgets });
  const sentAt = new Map<string, number>();
  const hops: number[] = [];
  const controller = createController({
    ...env,
    name: 'bench',
    reconcile: async (key) => {
      const sent = sentAt.get(key);
      if (sent !== undefined) hops.push(performance.now() - sent);
      return done;
    },
  });
  informer.start();
  await informer.synced;
  informer.onChange((change) => controller.queue.add(change.key));
  controller.start();
  for (let hop = 0; hop < HOPS; hop++) {
    const one = widget(namespace, uniqueName('hop'));
    sentAt.set(`${namespace}/${one.metadata.name}`, performance.now());
    await client.create(widgets, one);
    while (hops.length <= hop) await new Promise((resolve) => setImmediate(resolve));
  }
  console.log(JSON.stringify({ measured: 'create sent → reconcile called', hops: HOPS, ms: summary(hops) }));
  await controller.stop();
  await informer.stop();
  await close();
} finally {
  await cluster.stop();
}
