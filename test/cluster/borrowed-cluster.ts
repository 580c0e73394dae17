import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mintAdminToken, removeAccess } from './access-objects.ts';
import { type AdminTarget, openAdminClient } from './admin-client.ts';
import { builtFolder, isBuilt } from './build-cache.ts';
import {
  type ClusterConnection,
  type ClusterSource,
  type NodeConnection,
  writeKubeconfig,
} from './connection.ts';
import { findOnPath } from './kubectl.ts';

export interface BorrowedCluster {
  readonly source: ClusterSource;
  readonly target: AdminTarget;
  readonly disposable: boolean;
  readonly env: NodeJS.ProcessEnv;
  readonly node?: NodeConnection | undefined;
}

/** A cluster that runs without us, reached through kubeconfigs in a folder of our own. */
export interface Borrowed {
  readonly connection: ClusterConnection;
  /** Takes back what was made in the cluster for our access, and the folder. */
  giveBack(): Promise<void>;
}

function findKubectl(env: NodeJS.ProcessEnv): string {
  const built = isBuilt(env) ? join(builtFolder(env), 'kubectl') : undefined;
  return findOnPath('kubectl', env.PATH) ?? built ?? 'kubectl';
}

export async function borrowCluster({
  source,
  target,
  disposable,
  env,
  node,
}: BorrowedCluster): Promise<Borrowed> {
  const id = randomBytes(4).toString('hex');
  const admin = openAdminClient(target);
  const { url, caPem, credential } = target;
  const adminToken = credential.type === 'token' ? credential.token : await mintAdminToken(admin, id);
  const folder = mkdtempSync(join(tmpdir(), 'gpu-rental-cluster-'));
  const kubeconfigPath = join(folder, 'admin.kubeconfig');
  writeKubeconfig(kubeconfigPath, { url, caPem, token: adminToken, name: 'gpu-rental-test' });
  return {
    connection: {
      source,
      id,
      url,
      caPem,
      adminToken,
      kubeconfigPath,
      folder,
      kubectlPath: findKubectl(env),
      disposable,
      collectsGarbage: true,
      auditLogPath: undefined,
      etcdUrl: undefined,
      node,
    },
    async giveBack() {
      await removeAccess(admin, id);
      await admin.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
