import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { readLedger } from '../../scripts/demo/simulator-control.ts';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { until } from '../builders/until.ts';
import type { Files } from './flux/artifact-server.ts';
import { type FluxBench, openFluxBench } from './flux/bench.ts';
import {
  gitRepositoryOf,
  type Kustomizations,
  kustomizationOf,
  kustomizationsOf,
  LIMIT_MS,
  type ObservedCondition,
  readyOf,
} from './flux/kustomizations.ts';
import { fileOf, loginOf, machineOf, RENTABLE, UNRENTABLE } from './flux/manifests.ts';
import { runLua } from './lua.ts';

const SAMPLE = join(REPOSITORY, 'deploy/gitops/flux/kustomization.yaml');
/** The namespace that the sample names. */
const SAMPLE_NAMESPACE = 'your-namespace';
const HEALTH = join(
  REPOSITORY,
  'deploy/gitops/argo-cd/resource_customizations/gpurental.dev/GpuInstance/health.lua',
);

let bench: FluxBench;
let flux: Kustomizations;
const eventually = <T>(what: string, look: () => T | Promise<T>) => until(what, look, LIMIT_MS);
const commits = new Map<string, Files>();

beforeAll(async () => {
  bench = await openFluxBench();
  flux = kustomizationsOf(bench);
  await bench.apply(gitRepositoryOf('your-repository'));
});
afterAll(() => bench?.close());

/** Commits a folder of the user's repository, whose other folders stay as they are; undefined removes a file. */
async function commit(folder: string, files: Readonly<Record<string, readonly object[]>>): Promise<string> {
  const texts = Object.entries(files).map(([name, objects]) => [`${folder}/${name}.yaml`, fileOf(objects)]);
  commits.set(folder, Object.fromEntries(texts) as Files);
  return bench.source.publish('your-repository', Object.assign({}, ...commits.values()) as Files);
}

const seen = z.looseObject({
  metadata: z.looseObject({ generation: z.number(), finalizers: z.array(z.string()).optional() }),
  spec: z.looseObject({ offers: z.array(z.looseObject({ maxPricePerHour: z.string() })) }),
  status: z
    .looseObject({
      instanceId: z.string().optional(),
      conditions: z
        .array(
          z.looseObject({
            ...{ type: z.string(), status: z.string(), reason: z.string(), lastTransitionTime: z.string() },
          }),
        )
        .default([]),
    })
    .optional(),
});
type Machine = z.output<typeof seen>;

async function readMachine(namespace: string, name: string): Promise<Machine> {
  const path = `/apis/gpurental.dev/v1alpha1/namespaces/${namespace}/gpuinstances/${name}`;
  return seen.parse((await bench.cluster.admin.request({ method: 'GET', path })).body);
}
const priceOf = ({ spec }: Machine) => spec.offers[0]?.maxPricePerHour;
const readyOfMachine = ({ status }: Machine) => status?.conditions.find(({ type }) => type === 'Ready');

async function untilMachineReady(namespace: string, name: string): Promise<Machine> {
  const look = async () => {
    const machine = await readMachine(namespace, name).catch(() => undefined);
    return machine !== undefined && readyOfMachine(machine)?.status === 'True' && machine;
  };
  return eventually(`GpuInstance ${name} is Ready`, look);
}

const argoHealthOf = (machine: Machine) =>
  z.object({ status: z.string() }).parse(runLua(readFileSync(HEALTH, 'utf8'), machine)).status;
const liveMachines = async () =>
  (await readLedger(bench.controlUrl)).contracts.filter(({ end }) => end === null).length;
const setPrice = (namespace: string, name: string, maxPricePerHour: string) => {
  const spec = { offers: [{ gpuNames: ['RTX 4090'], maxPricePerHour }] };
  const patch = `--patch=${JSON.stringify({ spec })}`;
  return bench.kubectl('patch', 'gpui', name, `-n=${namespace}`, '--type=merge', patch);
};
const objectsIn = (namespace: string) =>
  bench.kubectl('get', 'gpuacct,gpui,secret', `-n=${namespace}`, '-o=name', '--ignore-not-found');

/**
 * Writes what kubelet and the Deployment controller would once a Pod of the operator is available: no node runs one
 * here.
 */
async function reportDeploymentAvailable(): Promise<void> {
  const path = '/apis/apps/v1/namespaces/gpu-rental-system/deployments/gpu-rental-operator';
  const get = () => bench.cluster.admin.request({ method: 'GET', path, accept: [404] });
  const generation = await eventually('Flux applies the Deployment', async () => {
    const { status, body } = await get();
    return status === 200 && (body as { metadata: { generation: number } }).metadata.generation;
  });
  const now = new Date().toISOString();
  const conditions = ['Available', 'Progressing'].map((type) => ({
    ...{ type, status: 'True', reason: 'NewReplicaSetAvailable', message: 'One replica is available.' },
    ...{ lastTransitionTime: now, lastUpdateTime: now },
  }));
  const one = { replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 };
  const status = { observedGeneration: generation, ...one, conditions };
  await bench.cluster.admin.request({ method: 'PATCH', path: `${path}/status`, body: { status } });
}

describe('the sample for Flux, byte for byte', { timeout: 900_000 }, () => {
  test('installs the operator from this repository, and takes machines only when it runs', async () => {
    await bench.kubectl('apply', '-f', SAMPLE);
    const own = globSync('deploy/**/*.yaml', { cwd: REPOSITORY }).map((path) => [
      path,
      readFileSync(join(REPOSITORY, path), 'utf8'),
    ]);
    const login = loginOf(SAMPLE_NAMESPACE, bench.apiKey);
    await commit('machines', { login, trainer: [machineOf(SAMPLE_NAMESPACE, 'trainer')] });
    const release = await bench.source.publish('gpu-rental-operator', Object.fromEntries(own) as Files);
    await eventually('the machines wait for the operator', async () => {
      return readyOf(await flux.read('machines'))?.reason === 'DependencyNotReady';
    });
    await reportDeploymentAvailable();
    await flux.applied('gpu-rental-operator', release);
    await bench.startOperator();
    await untilMachineReady(SAMPLE_NAMESPACE, 'trainer');
  });

  test('applies a commit while a machine of the one before waits for an offer', async () => {
    const login = loginOf(SAMPLE_NAMESPACE, bench.apiKey);
    const trainer = [machineOf(SAMPLE_NAMESPACE, 'trainer')];
    const scarce = [machineOf(SAMPLE_NAMESPACE, 'scarce', UNRENTABLE)];
    await flux.applied('machines', await commit('machines', { login, trainer, scarce }));
    const waiting = await eventually('the operator finds no offer', async () => {
      const machine = await readMachine(SAMPLE_NAMESPACE, 'scarce');
      return readyOfMachine(machine)?.reason === 'NoOffers' && machine;
    });
    expect(argoHealthOf(waiting)).toBe('Progressing');
    const second = [machineOf(SAMPLE_NAMESPACE, 'second')];
    await flux.applied('machines', await commit('machines', { login, trainer, scarce, second }));
    await untilMachineReady(SAMPLE_NAMESPACE, 'second');
  });

  test('destroys the machines of files that leave Git, and keeps the others', async () => {
    const login = loginOf(SAMPLE_NAMESPACE, bench.apiKey);
    const before = await readMachine(SAMPLE_NAMESPACE, 'trainer');
    const trainer = [machineOf(SAMPLE_NAMESPACE, 'trainer')];
    await flux.applied('machines', await commit('machines', { login, trainer }));
    await eventually('one machine is left', async () => (await liveMachines()) === 1);
    const after = await readMachine(SAMPLE_NAMESPACE, 'trainer');
    expect(after.status?.instanceId).toBe(before.status?.instanceId);
  });
});

describe('a Kustomization with `wait: true`', { timeout: 900_000 }, () => {
  const namespace = 'waiting';
  const login = () => loginOf(namespace, bench.apiKey);
  const one = () => [machineOf(namespace, 'one')];

  test('becomes Ready when the machine does, and not before', async () => {
    const revision = await commit(namespace, { login: login(), one: one() });
    await bench.apply(kustomizationOf(namespace, './waiting'));
    const ready = await flux.ended(namespace, revision);
    expect(ready.status).toBe('True');
    const machine = await readMachine(namespace, 'one');
    const since = readyOfMachine(machine);
    expect(since?.status).toBe('True');
    expect(Date.parse(ready.lastTransitionTime)).toBeGreaterThanOrEqual(
      Date.parse(since?.lastTransitionTime ?? ''),
    );
    expect(argoHealthOf(machine)).toBe('Healthy');
  });

  test('finds nothing to change in what the operator has written', async () => {
    const before = await readMachine(namespace, 'one');
    await flux.reconcile(namespace);
    const after = await readMachine(namespace, 'one');
    expect(after.metadata.generation).toBe(before.metadata.generation);
    expect(after.metadata.finalizers).toEqual(['gpurental.dev/machine']);
  });

  test('puts a price back that was changed by hand, and the machine runs on', async () => {
    const before = await readMachine(namespace, 'one');
    await setPrice(namespace, 'one', '0.79');
    await flux.reconcile(namespace);
    const after = await readMachine(namespace, 'one');
    expect(priceOf(after)).toBe(RENTABLE);
    expect(after.status?.instanceId).toBe(before.status?.instanceId);
  });

  test('leaves a change alone while it is suspended, and puts it back when it is resumed', async () => {
    const suspend = (value: boolean) =>
      bench.kubectl(
        ...['patch', 'ks', namespace, '-n=flux-system', '--type=merge'],
        `--patch=${JSON.stringify({ spec: { suspend: value } })}`,
      );
    const before = await readMachine(namespace, 'one');
    await suspend(true);
    await setPrice(namespace, 'one', '0.78');
    const revision = await commit(namespace, {
      login: login(),
      one: one(),
      two: [machineOf(namespace, 'two')],
    });
    await flux.request(namespace);
    await flux.reconcile('machines');
    expect(priceOf(await readMachine(namespace, 'one'))).toBe('0.78');
    await suspend(false);
    await flux.applied(namespace, revision);
    const after = await readMachine(namespace, 'one');
    expect(priceOf(after)).toBe(RENTABLE);
    expect(after.status?.instanceId).toBe(before.status?.instanceId);
  });

  test('names the field of an object that the API server refuses, and applies nothing of that commit', async () => {
    const live = await liveMachines();
    const broken = [machineOf(namespace, 'broken', 'free')];
    const three = [machineOf(namespace, 'three')];
    const ready = await flux.ended(
      namespace,
      await commit(namespace, { login: login(), one: one(), three, broken }),
    );
    expect(ready).toMatchObject({ status: 'False', reason: 'ReconciliationFailed' });
    expect(ready.message).toContain('GpuInstance/waiting/broken');
    expect(ready.message).toContain('spec.offers[0].maxPricePerHour');
    // Neither the new machine nor the removal of "two" went through.
    expect((await objectsIn(namespace)).match(/gpuinstance\S+/g)).toEqual([
      'gpuinstance.gpurental.dev/one',
      'gpuinstance.gpurental.dev/two',
    ]);
    expect(await liveMachines()).toBe(live);
  });

  test('keeps a protected machine that leaves Git, and reports why', async () => {
    const guarded = [machineOf(namespace, 'two', RENTABLE, { 'gpurental.dev/protect': 'true' })];
    await flux.applied(namespace, await commit(namespace, { login: login(), one: one(), guarded }));
    const ready = await flux.ended(namespace, await commit(namespace, { login: login(), one: one() }));
    expect(ready).toMatchObject({ status: 'False' });
    expect(ready.message).toContain('protects this object');
    const machine = await untilMachineReady(namespace, 'two');
    expect(machine.metadata['deletionTimestamp']).toBeUndefined();
    const unprotected = [machineOf(namespace, 'two')];
    await flux.applied(namespace, await commit(namespace, { login: login(), one: one(), unprotected }));
  });

  test('leaves nothing when namespace, Secret, account and machines leave Git in one commit', async () => {
    const live = await liveMachines();
    const kept = [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kept', namespace: 'default' } }];
    await flux.applied(namespace, await commit(namespace, { kept }));
    const left = () => bench.kubectl('get', 'namespace', namespace, '-o=name', '--ignore-not-found');
    await eventually('the namespace is gone', async () => (await left()) === '');
    expect(await objectsIn(namespace)).toBe('');
    expect(await liveMachines()).toBe(live - 2);
  });

  test('fails at once, and not at its timeout, when the marketplace refuses the key', async () => {
    const revision = await commit('refused', { login: loginOf('refused', 'no-such-key') });
    await bench.apply(kustomizationOf('refused', './refused', { timeout: '1h' }));
    const ready = await flux.ended('refused', revision);
    expect(ready).toMatchObject({ status: 'False', reason: 'HealthCheckFailed' });
    expect(ready.message).toContain("MarketplaceAccount/refused/default status: 'Failed'");
    await bench.kubectl('delete', 'ks', 'refused', '-n=flux-system');
  });
});

describe('a Kustomization with `wait: true` and a machine without offers', { timeout: 900_000 }, () => {
  const namespace = 'scarce';
  const login = () => loginOf(namespace, bench.apiKey);
  const scarce = (price: string) => [machineOf(namespace, 'scarce', price)];

  const isChecking = ({ type, status }: ObservedCondition) => type === 'Healthy' && status === 'Unknown';
  const checksHealthOf = (revision: string) =>
    flux.found(
      namespace,
      `Flux waits for ${revision}`,
      ({ status }) => status.lastAttemptedRevision === revision && status.conditions.some(isChecking),
    );

  test('reports the machine at the timeout, and takes the newer commit then', async () => {
    await bench.apply(kustomizationOf(namespace, './scarce', { timeout: '20s' }));
    await checksHealthOf(await commit(namespace, { login: login(), scarce: scarce(UNRENTABLE) }));
    await flux.applied(namespace, await commit(namespace, { login: login(), scarce: scarce(RENTABLE) }));
    const events = await bench.kubectl('get', 'events', '-n=flux-system', '-o=jsonpath={.items[*].message}');
    expect(events).toMatch(/timeout waiting for\b.*GpuInstance\/scarce\/scarce status: 'InProgress'/);
  });

  test('takes the newer commit at once with the gate CancelHealthCheckOnNewRevision', async () => {
    await bench.restartFlux(['--feature-gates=CancelHealthCheckOnNewRevision=true']);
    // Longer than the test may last.
    await bench.apply(kustomizationOf(namespace, './scarce', { timeout: '1h' }));
    const more = [machineOf(namespace, 'more', UNRENTABLE)];
    await checksHealthOf(await commit(namespace, { login: login(), scarce: scarce(RENTABLE), more }));
    await flux.applied(namespace, await commit(namespace, { login: login(), scarce: scarce(RENTABLE) }));
  });
});
