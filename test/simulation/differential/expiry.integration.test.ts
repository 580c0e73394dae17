import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../builders/until.ts';
import type { ClusterAccess } from '../../cluster/connect.ts';
import { compactEtcd } from '../../cluster/etcd.ts';
import { sharedCluster } from '../../cluster/shared-cluster.ts';
import { definition, GROUP, type Ground, LATER_PAGE, PLURAL, playExpiry, type StepResult } from './expiry.ts';
import { memoryServer, realServer } from './servers.ts';

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const DEFINITION = `${DEFINITIONS}/${PLURAL}.${GROUP}`;

let cluster: ClusterAccess;
let real: ReturnType<typeof realServer>;
let namespace = '';

beforeAll(async () => {
  cluster = sharedCluster();
  real = realServer(cluster);
  namespace = await cluster.createNamespace('differential');
  await cluster.admin.request({
    method: 'POST',
    path: DEFINITIONS,
    body: definition('as it was'),
    accept: [409],
  });
  await served();
});
afterAll(async () => {
  await cluster.admin.request({ method: 'DELETE', path: DEFINITION });
  await real.close();
});

/** Waits until the server serves the kind: it needs a moment to open the kind's storage, also after a change. */
async function served(): Promise<void> {
  const path = `/apis/${GROUP}/v1/namespaces/${namespace}/${PLURAL}?limit=1`;
  await until('the kind is served', async () => {
    const { status } = await cluster.admin.request({ method: 'GET', path, accept: [404, 429] });
    return status === 200;
  });
}

function memoryGround(): Ground {
  const memory = memoryServer(namespace, [definition('as it was')]);
  return {
    ...memory,
    namespace,
    compact: async () => memory.kube.store.compact(),
    forget: async () => memory.kube.closeWatches(),
    ready: async () => {},
  };
}

/** Returns the real server. A change of the CRD makes it rebuild its cache of the kind. */
function realGround(etcdUrl: string | undefined): Ground {
  return {
    ...real,
    namespace,
    compact: async () => {
      if (etcdUrl !== undefined) await compactEtcd(etcdUrl);
    },
    ready: served,
    async forget() {
      const { spec } = definition(`changed at ${performance.now()}`);
      await cluster.admin.request({ method: 'PATCH', path: DEFINITION, body: { spec } });
    },
  };
}

test('versions that expired and versions to come mean the same to both servers', async () => {
  const { etcdUrl } = cluster;
  const [here, there] = [await playExpiry(memoryGround()), await playExpiry(realGround(etcdUrl))];
  // Where etcd is somebody else's it is not compacted, and a later page is still to be had.
  const comparable = ({ step }: StepResult): boolean => etcdUrl !== undefined || step !== LATER_PAGE;
  expect(here.filter(comparable)).toEqual(there.filter(comparable));
  const refused = JSON.stringify(there.filter(comparable));
  for (const reason of ['Expired', 'Timeout']) expect(refused).toContain(`"reason":"${reason}"`);
});
