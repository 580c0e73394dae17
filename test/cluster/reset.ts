import { z } from 'zod';
import { accessName, MADE_BY_TESTS } from './access-objects.ts';
import type { AdminClient } from './admin-client.ts';
import type { ClusterConnection } from './connection.ts';

const OUR_GROUP = 'gpurental.dev';
const BUILT_IN = new Set(['default', 'kube-system', 'kube-public', 'kube-node-lease']);
const GONE_WITHIN_MS = 60_000;

const namespaceList = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string(), labels: z.record(z.string(), z.string()).optional() }),
    }),
  ),
});
const definitionList = z.object({
  items: z.array(
    z.object({
      spec: z.object({
        group: z.string(),
        names: z.object({ plural: z.string() }),
        versions: z.array(z.object({ name: z.string(), served: z.boolean() })),
      }),
    }),
  ),
});
const objectList = z.object({
  items: z.array(z.object({ metadata: z.object({ name: z.string(), namespace: z.string().optional() }) })),
});

type Reach = Pick<ClusterConnection, 'id' | 'disposable'>;

/**
 * Returns all namespaces that are not built in; in a cluster that is not disposable, only those that this run
 * labelled.
 */
async function listTestNamespaces(admin: AdminClient, { id, disposable }: Reach): Promise<string[]> {
  const reply = await admin.request({ method: 'GET', path: '/api/v1/namespaces' });
  return namespaceList
    .parse(reply.body)
    .items.filter(({ metadata: { name, labels } }) =>
      disposable ? !BUILT_IN.has(name) : labels?.[MADE_BY_TESTS] === id,
    )
    .map(({ metadata }) => metadata.name)
    .filter((name) => name !== accessName(id));
}

/** Paths below which our objects are listed, such as `/apis/gpurental.dev/v1alpha1` and `gpuinstances`. */
async function listOurKinds(admin: AdminClient): Promise<{ prefix: string; plural: string }[]> {
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const definitions = definitionList.parse((await admin.request({ method: 'GET', path })).body).items;
  return definitions.flatMap(({ spec }) => {
    const served = spec.versions.find((version) => version.served);
    const isOwn = spec.group === OUR_GROUP || spec.group.endsWith(`.${OUR_GROUP}`);
    if (served === undefined || !isOwn) return [];
    return [{ prefix: `/apis/${spec.group}/${served.name}`, plural: spec.names.plural }];
  });
}

/** Deletes objects first and then removes finalizers: after deletion has begun, none can be added. */
async function deleteOurObjects(
  admin: AdminClient,
  isInReach: (namespace: string) => boolean,
): Promise<void> {
  for (const { prefix, plural } of await listOurKinds(admin)) {
    const objects = objectList.parse(
      (await admin.request({ method: 'GET', path: `${prefix}/${plural}` })).body,
    );
    for (const { metadata } of objects.items) {
      if (metadata.namespace === undefined || !isInReach(metadata.namespace)) continue;
      const path = `${prefix}/namespaces/${metadata.namespace}/${plural}/${metadata.name}`;
      await admin.request({ method: 'DELETE', path, accept: [404] });
      const body = { metadata: { finalizers: null } };
      await admin.request({ method: 'PATCH', path, body, accept: [404] });
    }
  }
}

async function waitUntilGone(admin: AdminClient, names: readonly string[], reach: Reach): Promise<void> {
  const deadline = performance.now() + GONE_WITHIN_MS;
  for (;;) {
    const left = (await listTestNamespaces(admin, reach)).filter((name) => names.includes(name));
    if (left.length === 0) return;
    if (performance.now() > deadline) {
      throw new Error(`Namespaces still there after ${GONE_WITHIN_MS / 1000} s: ${left.join(', ')}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/**
 * Removes the operator's custom resources with their finalizers, and the namespaces of tests; CRDs and roles stay.
 * Waits for namespace deletion only if the cluster completes it. In a cluster of others, only labelled namespaces are
 * touched: an object elsewhere may have a rented machine, which would never be destroyed without its finalizer.
 */
export async function resetCluster(
  admin: AdminClient,
  connection: Reach & Pick<ClusterConnection, 'collectsGarbage'>,
): Promise<void> {
  const names = await listTestNamespaces(admin, connection);
  await deleteOurObjects(admin, (namespace) => connection.disposable || names.includes(namespace));
  for (const name of names) {
    await admin.request({ method: 'DELETE', path: `/api/v1/namespaces/${name}`, accept: [404, 409] });
  }
  if (connection.collectsGarbage) await waitUntilGone(admin, names, connection);
}
