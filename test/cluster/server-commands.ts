import { join } from 'node:path';
import { writeKubeconfig } from './connection.ts';
import { type ServerProcess, startServer } from './server-process.ts';
import { readCaPem, type Site } from './site.ts';

export function startEtcd({ folder, plan, etcdUrl }: Site): ServerProcess {
  return startServer({
    name: 'etcd',
    path: plan.etcd,
    logPath: join(folder, 'etcd.log'),
    args: [
      `--data-dir=${join(folder, 'etcd')}`,
      `--listen-client-urls=${etcdUrl}`,
      `--advertise-client-urls=${etcdUrl}`,
      '--listen-peer-urls=http://127.0.0.1:0',
      '--unsafe-no-fsync',
      '--log-level=warn',
    ],
  });
}

function auditFlags({ audit }: Site): string[] {
  if (audit === undefined) return [];
  // The log is written in blocking mode, which is the default: no reply is seen before its audit event.
  return [`--audit-policy-file=${audit.policyPath}`, `--audit-log-path=${audit.logPath}`];
}

/**
 * Admission stays as in a real cluster (ValidatingAdmissionPolicy and PodSecurity included) but for ServiceAccount,
 * which would need two more controllers. No kubelet reports here, so nothing has to listen beyond the loopback.
 */
export function startKubeApiserver(site: Site): ServerProcess {
  const { folder, plan } = site;
  return startServer({
    name: 'kube-apiserver',
    path: plan.kubeApiserver,
    logPath: join(folder, 'kube-apiserver.log'),
    args: [
      `--etcd-servers=${site.etcdUrl}`,
      '--bind-address=127.0.0.1',
      // Not said, it looks for the default route, and a machine without a network has none.
      '--advertise-address=127.0.0.1',
      `--secure-port=${site.port}`,
      `--cert-dir=${join(folder, 'certificates')}`,
      `--token-auth-file=${join(folder, 'tokens.csv')}`,
      '--authorization-mode=RBAC',
      `--service-account-key-file=${join(folder, 'service-account.pub')}`,
      `--service-account-signing-key-file=${join(folder, 'service-account.key')}`,
      '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
      '--service-cluster-ip-range=10.96.0.0/16',
      '--disable-admission-plugins=ServiceAccount',
      '--endpoint-reconciler-type=none',
      '--allow-privileged=true',
      '--profiling=false',
      ...auditFlags(site),
    ],
  });
}

/** Call it once the API server is ready: its certificate is there then. */
export function startControllers(site: Site): ServerProcess | undefined {
  const { folder, plan } = site;
  if (plan.controllers === undefined) return undefined;
  const kubeconfigPath = join(folder, 'controllers.kubeconfig');
  writeKubeconfig(kubeconfigPath, {
    url: site.url,
    caPem: readCaPem(site),
    name: 'test-controllers',
    token: site.controllersToken,
  });
  return startServer({
    name: 'controllers',
    path: plan.controllers.path,
    logPath: join(folder, 'controllers.log'),
    args: [...plan.controllers.args, `--kubeconfig=${kubeconfigPath}`],
  });
}
