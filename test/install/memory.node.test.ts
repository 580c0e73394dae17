import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import * as z from 'zod';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { API_VERSION } from '../../src/api/v1alpha1/names.ts';
import { until } from '../builders/until.ts';
import { readContainerMemory } from '../cluster/node/container-memory.ts';
import { describeWithNode } from '../cluster/node/describe-with-node.ts';
import { operatorImage } from '../image/operator-image.ts';
import { readStrictly } from '../settings/reader.ts';

const INSTANCES = readStrictly(process.env, (reader) => reader.whole('MEMORY_INSTANCES', 1, 5000) ?? 60);
const NAMESPACE = 'gpu-rental-system';
const QUICK_START = join(REPOSITORY, 'deploy/quickstart.yaml');
const MADE_HERE = { 'test.gpurental.dev/memory': 'true' };
const LABEL = 'test.gpurental.dev/memory=true';
const SELECTOR = `-l=${LABEL}`;
const MIB = 2 ** 20;
const LONG_MS = 60_000 + INSTANCES * 600;

/** Arguments that remove the marketplace's limits and the client's pacing. */
const MORE_ARGS: Readonly<Record<string, readonly string[]>> = {
  simulator: [`--offers=${INSTANCES * 6 + 500}`, '--no-rate-limits'],
  operator: [
    '--pacing=off',
    '--max-rentals-per-hour=100000',
    '--max-live-machines=100000',
    '--max-dollars-per-hour=1000000',
  ],
};

const quickStartObject = z.looseObject({ kind: z.string(), spec: z.unknown().optional() });
const deploymentSpec = z.looseObject({
  template: z.looseObject({
    spec: z.looseObject({
      containers: z.array(
        z.looseObject({
          name: z.string(),
          args: z.array(z.string()),
          resources: z.looseObject({
            requests: z.looseObject({ memory: z.string() }),
            limits: z.looseObject({ memory: z.string() }),
          }),
        }),
      ),
    }),
  }),
});

/** Returns the objects of the quick start for that many machines, before any exists. */
function quickStart() {
  const objects = parseAllDocuments(readFileSync(QUICK_START, 'utf8'))
    .map((document) => quickStartObject.parse(document.toJS()))
    .filter(({ kind }) => kind !== 'GpuInstance');
  const deployment = objects.find(({ kind }) => kind === 'Deployment');
  const spec = deploymentSpec.parse(deployment?.spec);
  const { containers } = spec.template.spec;
  for (const container of containers) container.args.push(...(MORE_ARGS[container.name] ?? []));
  if (deployment !== undefined) deployment.spec = spec;
  const isAccount = ({ kind }: { kind: string }) => kind === 'MarketplaceAccount';
  const manifest = (wanted: typeof objects) => wanted.map((one) => stringify(one)).join('---\n');
  return {
    definitions: manifest(objects.filter((one) => !isAccount(one))),
    account: manifest(objects.filter(isAccount)),
    containers,
  };
}

const instance = (_: unknown, index: number) => ({
  apiVersion: 'gpurental.dev/v1alpha1',
  kind: 'GpuInstance',
  metadata: { name: `memory-${index}`, namespace: 'default', labels: MADE_HERE },
  spec: { image: 'ubuntu:24.04', offers: [{ maxPricePerHour: '100.00' }] },
});

const sharesProcesses = inject('nodeCluster')?.node?.sharesProcesses ?? false;

describeWithNode(`the memory of the operator's container with ${INSTANCES} GpuInstances`, (cluster) => {
  const { definitions, account, containers } = quickStart();
  const limits = containers.find(({ name }) => name === 'operator')?.resources;
  const kubectl = (...args: readonly string[]) => cluster().kubectl(args);
  const apply = (stdin: string) => cluster().kubectl(['apply', '--server-side', '-f', '-'], { stdin });
  let pod = '';

  beforeAll(async () => {
    if (!sharesProcesses) return;
    await cluster().node.importImage(await operatorImage());
    await apply(definitions);
    await until('the kinds are served', () =>
      apply(account).then(
        () => true,
        () => false,
      ),
    );
    await kubectl('wait', 'gpuacct/default', '--for=condition=Ready', '--timeout=90s');
    const name = '-o=jsonpath={.items[0].metadata.name}';
    pod = await kubectl(
      'get',
      'pods',
      '-n',
      NAMESPACE,
      '-l=app.kubernetes.io/name=gpu-rental-operator',
      name,
    );
  }, 15 * 60_000);
  afterAll(async () => {
    if (!sharesProcesses) return;
    await deleteInstances().catch(() => {});
    await kubectl('delete', 'gpuacct/default', '--timeout=60s').catch(() => {});
    await kubectl('delete', '-f', QUICK_START, '--ignore-not-found');
  }, LONG_MS + 120_000);

  /** Deletes all instances in one request, and checks them in one: kubectl would delete them and wait one by one. */
  async function deleteInstances(): Promise<void> {
    const path = `/apis/${API_VERSION}/namespaces/default/gpuinstances?labelSelector=${LABEL}`;
    await cluster().admin.request({ method: 'DELETE', path });
    const left = () => kubectl('get', 'gpui', SELECTOR, '-o=name');
    await until('all are gone', async () => (await left()) === '', LONG_MS);
  }

  async function measure(what: string): Promise<number> {
    // What the last replies left is collected by then.
    await new Promise((resolve) => setTimeout(resolve, 5000));
    const { usage, peak } = await readContainerMemory(cluster().node, {
      namespace: NAMESPACE,
      pod,
      container: 'operator',
    });
    const mebibytes = (bytes: number): string => (bytes / MIB).toFixed(1);
    process.stderr.write(`${what}: ${mebibytes(usage)} MiB, ${mebibytes(peak)} MiB at the peak\n`);
    expect(usage / MIB).toBeLessThan(Number.parseInt(limits?.limits.memory ?? '0', 10));
    return usage / MIB;
  }

  test.skipIf(!sharesProcesses)('stays below its request while there is none', async () => {
    const request = Number.parseInt(limits?.requests.memory ?? '0', 10);
    expect(await measure('no GpuInstance')).toBeLessThan(request);
  });

  test.skipIf(!sharesProcesses)(
    'stays below its limit when all are ready, and no container was restarted',
    async () => {
      const items = Array.from({ length: INSTANCES }, instance);
      await apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
      // One question about all: kubectl wait asks for each, and is slowed down by its own limits.
      const ready = '-o=jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}';
      const countReady = async () =>
        (await kubectl('get', 'gpui', SELECTOR, ready)).split(' ').filter((one) => one === 'True').length;
      await until('all are ready', async () => (await countReady()) === INSTANCES, LONG_MS);
      await measure(`${INSTANCES} GpuInstances`);
      const restarts = '-o=jsonpath={.status.containerStatuses[*].restartCount}';
      expect(await kubectl('get', 'pod', pod, '-n', NAMESPACE, restarts)).toBe('0 0');
    },
    LONG_MS + 60_000,
  );
});
