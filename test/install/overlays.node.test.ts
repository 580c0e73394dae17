import { afterEach, beforeAll, expect, test } from 'vitest';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { until } from '../builders/until.ts';
import { describeWithNode } from '../cluster/node/describe-with-node.ts';
import { type Typist, typistOn } from '../docs/typist.ts';
import { operatorImage } from '../image/operator-image.ts';

const NAMESPACE = 'gpu-rental-system';
const DEPLOYMENT = `-n ${NAMESPACE} deployment/gpu-rental-operator`;
const AVAILABLE = `kubectl wait ${DEPLOYMENT} --for=condition=Available --timeout=90s`;

describeWithNode('an overlay of deploy/ on a node, under Pod Security restricted', (cluster) => {
  let type: Typist;
  let applied = '';

  beforeAll(async () => {
    type = typistOn(cluster(), { folder: REPOSITORY });
    await cluster().node.importImage(await operatorImage());
  }, 15 * 60_000);
  afterEach(async () => {
    if (applied !== '') await type(`kubectl delete -k deploy/overlays/${applied} --ignore-not-found`);
    applied = '';
    await type('kubectl delete -f crds/ --ignore-not-found');
  });

  async function apply(overlay: string): Promise<void> {
    applied = overlay;
    await type(`kubectl apply --server-side -k deploy/overlays/${overlay}`);
    const labels = await type(`kubectl get namespace ${NAMESPACE} -o jsonpath={.metadata.labels}`);
    expect(JSON.parse(labels)).toMatchObject({ 'pod-security.kubernetes.io/enforce': 'restricted' });
  }

  const replicas = () => type(`kubectl get ${DEPLOYMENT} -o jsonpath={.status.readyReplicas}`);

  test.for([
    ['cluster-wide', '1'],
    ['high-availability', '2'],
  ] as const)('%s becomes available', async ([overlay, wanted]) => {
    await apply(overlay);
    await type(AVAILABLE);
    await until('every replica is ready', async () => (await replicas()) === wanted);
  });

  test('one-namespace names the missing definitions in its log, and becomes available once they are there', async () => {
    await apply('one-namespace');
    const log = () => type(`kubectl logs ${DEPLOYMENT}`).catch(() => '');
    const missing =
      /"resource":"gpuinstances","error":"notFound".*"remedy":"The CRDs are not installed\. .*kubectl apply/;
    await until('the log names a kind', async () => missing.test(await log()));
    expect(await replicas()).toBe('');
    await type('kubectl apply --server-side -f crds/');
    await type(AVAILABLE);
  });
});
