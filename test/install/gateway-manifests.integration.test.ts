import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { type Cluster, startCluster } from '../cluster/cluster.ts';
import { findOnPath } from '../cluster/kubectl.ts';
import { readDefinitions } from '../tools/foreign-definitions.ts';

/* Manifests for programs beside ours, judged by an API server that has those programs' definitions. */

const canRun = findOnPath('go', process.env.PATH) !== undefined;

/** Dedicated cluster, because CRDs affect all of it. */
let cluster: Cluster;

beforeAll(async () => {
  if (!canRun) return;
  const definitions = await readDefinitions();
  cluster = await startCluster({ only: 'go-toolchain', report: () => {} });
  await cluster.kubectl(['create', 'namespace', 'gpu-rental-system']);
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], { stdin: definitions.join('\n---\n') });
  await cluster.kubectl(['wait', 'crd', '--all', '--for=condition=Established', '--timeout=60s']);
}, 15 * 60_000);
afterAll(() => cluster?.stop());

const textOf = (path: string) => readFileSync(join(REPOSITORY, 'deploy', path), 'utf8');
const judge = (stdin: string) =>
  cluster.kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', '-'], { stdin });

describe.skipIf(!canRun)('an API server with the definitions of the neighbour takes', () => {
  test.each([
    ['gateway/http-route.yaml', ['httproute.gateway.networking.k8s.io/chat']],
    [
      'gateway/inference-pool.yaml',
      ['inferencepool.inference.networking.k8s.io/chat', 'httproute.gateway.networking.k8s.io/chat-pool'],
    ],
    [
      'gateway/keda-interceptor-route.yaml',
      ['interceptorroute.http.keda.sh/chat', 'scaledobject.keda.sh/chat'],
    ],
    ['gateway/keda-http-scaled-object.yaml', ['httpscaledobject.http.keda.sh/chat']],
    ['autoscaling/keda-scaled-object.yaml', ['scaledobject.keda.sh/llm']],
  ])('deploy/%s', async (path, objects) => {
    const said = await judge(textOf(path));
    expect(said.trim().split('\n')).toEqual(objects.map((object) => `${object} created (server dry run)`));
  });

  /** Checks that the CRDs validate at all. */
  test.each([
    ['gateway/http-route.yaml', 'ReplacePrefixMatch, replace', 'ReplaceFullPath, replace'],
    ['gateway/inference-pool.yaml', 'FailClose', 'FailSlow'],
    ['gateway/keda-interceptor-route.yaml', 'targetValue: 4', 'targetValue: 0'],
    ['gateway/keda-http-scaled-object.yaml', 'hosts:', 'host:'],
    ['autoscaling/keda-scaled-object.yaml', 'minReplicaCount', 'minReplicas'],
  ])('no deploy/%s in which "%s" is "%s"', async (path, right, wrong) => {
    const text = textOf(path).replace(right, wrong);
    expect(text).not.toBe(textOf(path));
    await expect(judge(text)).rejects.toThrow(
      /is invalid|strict decoding error|ValidationError|unknown field/,
    );
  });
});
