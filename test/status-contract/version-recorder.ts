import {
  endpointGroupResource,
  gpuInstanceResource,
  marketplaceAccountResource,
} from '../../src/api/v1alpha1/names.ts';
import type { Condition } from '../../src/api/v1alpha1/object.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { Secret } from '../../src/lib/secret.ts';
import { tokenCredentials } from '../../src/runtime/kube/credentials.ts';
import { createKubeClient } from '../../src/runtime/kube/kube-client.ts';
import type { KubeObject } from '../../src/runtime/kube/kube-object.ts';
import { createTransport } from '../../src/runtime/kube/undici-transport.ts';
import { createInformer } from '../../src/runtime/list-watch/informer.ts';
import type { ClusterAccess } from '../cluster/connect.ts';

/** Version of a custom resource, as every watcher saw it. */
export interface RecordedVersion extends KubeObject {
  readonly status?: {
    readonly observedGeneration?: number;
    readonly conditions?: readonly Condition[];
  };
}

export interface VersionRecorder {
  readonly versions: readonly RecordedVersion[];
  stop(): Promise<void>;
}

/** Writes down every version of our objects from now on. */
export async function recordVersions(cluster: ClusterAccess): Promise<VersionRecorder> {
  const transport = createTransport({ ca: cluster.caPem, connections: 4 });
  const env = { clock: systemClock, random: systemRandom, log: silentLogger };
  const credentials = tokenCredentials(new Secret(cluster.adminToken));
  const client = createKubeClient({ ...env, transport, origin: cluster.url, credentials });
  const versions: RecordedVersion[] = [];
  const informers = [marketplaceAccountResource, gpuInstanceResource, endpointGroupResource].map((resource) =>
    createInformer<RecordedVersion>({
      ...env,
      client,
      resource,
      project: (object) => ({
        ...object,
        apiVersion: `${resource.group}/${resource.version}`,
        kind: resource.kind,
      }),
    }),
  );
  for (const informer of informers) {
    informer.onChange((change) => {
      if (change.type !== 'deleted') versions.push(change.object);
    });
    informer.start();
  }
  await Promise.all(informers.map(({ synced }) => synced));
  return {
    versions,
    async stop() {
      await Promise.all(informers.map((informer) => informer.stop()));
      await transport.close();
    },
  };
}
