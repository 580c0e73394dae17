import { join } from 'node:path';
import { writeKubeconfig } from './connection.ts';
import type { NodePlan } from './node/settings.ts';
import { type ServerProcess, startServer } from './server-process.ts';
import { certificatePath, readCaPem, type Site } from './site.ts';

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
  // One file, however long: by itself the API server begins another after 100 MB, and readers of the first miss the rest.
  const files = [`--audit-policy-file=${audit.policyPath}`, `--audit-log-path=${audit.logPath}`];
  return [...files, '--audit-log-maxsize=10000'];
}

/** No kubelet reports here, so nothing has to listen beyond the loopback. */
const LOOPBACK_FLAGS: readonly string[] = [
  '--bind-address=127.0.0.1',
  // Not said, it looks for the default route, and a machine without a network has none.
  '--advertise-address=127.0.0.1',
  '--authorization-mode=RBAC',
  '--service-cluster-ip-range=10.96.0.0/16',
  '--disable-admission-plugins=ServiceAccount',
  '--endpoint-reconciler-type=none',
];

function nodeFlags({ network }: NodePlan['settings']): string[] {
  return [
    '--bind-address=0.0.0.0',
    `--advertise-address=${network.nodeAddress}`,
    '--authorization-mode=Node,RBAC',
    `--service-cluster-ip-range=${network.services}`,
    '--enable-admission-plugins=NodeRestriction',
    '--kubelet-preferred-address-types=InternalIP',
  ];
}

/**
 * Starts the API server. Admission is as in a real cluster (ValidatingAdmissionPolicy and PodSecurity included),
 * except ServiceAccount if there is no node: that needs two more controllers.
 */
export function startKubeApiserver(site: Site): ServerProcess {
  const { folder, plan } = site;
  return startServer({
    name: 'kube-apiserver',
    path: plan.kubeApiserver,
    logPath: join(folder, 'kube-apiserver.log'),
    args: [
      `--etcd-servers=${site.etcdUrl}`,
      ...(plan.node === undefined ? LOOPBACK_FLAGS : nodeFlags(plan.node.settings)),
      `--secure-port=${site.port}`,
      `--cert-dir=${join(folder, 'certificates')}`,
      `--token-auth-file=${join(folder, 'tokens.csv')}`,
      `--service-account-key-file=${join(folder, 'service-account.pub')}`,
      `--service-account-signing-key-file=${join(folder, 'service-account.key')}`,
      '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
      '--allow-privileged=true',
      '--profiling=false',
      ...auditFlags(site),
    ],
  });
}

/** Returns the flags with which kube-controller-manager issues tokens and the API server's CA to Pods. */
function nodeControllerFlags(site: Site): string[] {
  if (site.plan.node === undefined) return [];
  const { folder } = site;
  return [
    // Without it the controller of nodes may not take the taint away that keeps Pods off a new node.
    '--use-service-account-credentials=true',
    `--service-account-private-key-file=${join(folder, 'service-account.key')}`,
    `--root-ca-file=${certificatePath(site)}`,
    `--flex-volume-plugin-dir=${join(folder, 'volume-plugins')}`,
  ];
}

/** Starts the controllers. Call it once the API server is ready, because its certificate exists from then on. */
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
    args: [...plan.controllers.args, ...nodeControllerFlags(site), `--kubeconfig=${kubeconfigPath}`],
  });
}
