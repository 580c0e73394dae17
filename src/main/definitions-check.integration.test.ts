import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { customResourceDefinition } from '../../scripts/generate/custom-resource-definition.ts';
import { structuralSchema } from '../../scripts/generate/json-schema.ts';
import { until } from '../../test/builders/until.ts';
import { type Cluster, startCluster } from '../../test/cluster/cluster.ts';
import { writeKubeconfig } from '../../test/cluster/connection.ts';
import { installDefinitions } from '../../test/crds/install.ts';
import { definitions } from '../api/v1alpha1/definitions.ts';
import { statusForms } from '../api/v1alpha1/status-codec.ts';
import { parseConfig } from '../config.ts';
import { runOperator } from '../main.ts';

/* CRDs of an earlier version concern every operator of a cluster, so this suite has a cluster of its own. */
let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster();
  await installDefinitions(cluster.admin);
}, 120_000);
afterAll(() => cluster.stop());

/** Removes status.record from the CRD of every kind that has it, and returns these kinds. */
async function installOldDefinitions(): Promise<readonly string[]> {
  const kinds: string[] = [];
  for (const definition of definitions) {
    const { metadata } = customResourceDefinition(definition);
    const { properties } = structuralSchema(definition.status);
    if (!properties || !('record' in properties)) continue;
    const path = '/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/record';
    const patch = JSON.stringify([{ op: 'remove', path }]);
    await cluster.kubectl(['patch', 'crd', metadata.name, '--type=json', '-p', patch]);
    kinds.push(definition.names.kind);
  }
  return kinds;
}

/** Starts an operator in a namespace of its own. */
async function started() {
  const namespace = await cluster.createNamespace('old-crds');
  const kubeconfig = join(cluster.folder, `${namespace}.kubeconfig`);
  const { url, caPem, adminToken: token } = cluster;
  writeKubeconfig(kubeconfig, { url, caPem, token, name: namespace });
  const config = parseConfig(
    {
      ...{ kubeconfig, namespace, watchNamespace: [namespace], leaderElectRetryPeriod: '100ms' },
      ...{ healthProbeBindAddress: '127.0.0.1:0', metricsBindAddress: '0' },
    },
    {},
  );
  const stop = new AbortController();
  const lines: string[] = [];
  const logDestination = { write: (line: string) => void lines.push(line) };
  const exitCode = runOperator(config, { environment: {}, signal: stop.signal, logDestination });
  return { exitCode, lines, stop: () => stop.abort() };
}

test('an operator ends on CRDs without status.record and names every kind, and starts on its own CRDs', async () => {
  const kinds = await installOldDefinitions();
  const old = await started();
  const failure = await old.exitCode.then(() => 'ended without an error', String);
  expect(failure).toContain('is older than this operator: it has no status.record');
  for (const kind of kinds) expect(failure).toContain(kind);
  expect(Object.keys(statusForms).toSorted()).toEqual(kinds.toSorted());
  expect(old.lines.join('')).not.toContain('identity created');

  const next = await started();
  await installDefinitions(cluster.admin);
  // The check repeats for 15 s while the API server still publishes the former CRDs.
  await until(
    'it has an identity',
    async () => next.lines.some((line) => line.includes('identity created')),
    30_000,
  );
  next.stop();
  expect(await next.exitCode).toBe(0);
}, 120_000);
