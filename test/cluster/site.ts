import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AUDIT_POLICY } from './audit-policy.ts';
import { findFreePort } from './free-port.ts';
import { NODE_NAME, type NodePlan } from './node/settings.ts';

/** Programs of a control plane. */
export interface ControlPlanePlan {
  readonly etcd: string;
  readonly kubeApiserver: string;
  /** Garbage collector, namespace controller and what else there is; called with `--kubeconfig` added. */
  readonly controllers: { readonly path: string; readonly args: readonly string[] } | undefined;
  readonly audit: AuditOptions | undefined;
  /** A node that runs Pods; the control plane is then in the node's namespaces. */
  readonly node?: NodePlan | undefined;
}

/** Both have defaults: a policy that logs the metadata of every request, and a log that goes with the cluster. */
export interface AuditOptions {
  readonly policyPath?: string;
  readonly logPath?: string;
}

/** Folder, addresses and secrets of one control plane. */
export interface Site {
  readonly plan: ControlPlanePlan;
  readonly folder: string;
  /** Address of the API server. */
  readonly address: string;
  readonly url: string;
  readonly port: number;
  readonly etcdUrl: string;
  readonly adminToken: string;
  readonly controllersToken: string;
  /** Tokens of the servers with permissions of their own. */
  readonly nodeTokens: { readonly kubelet: string; readonly scheduler: string; readonly proxy: string };
  readonly audit: { readonly policyPath: string; readonly logPath: string } | undefined;
}

function makeToken(): string {
  return randomBytes(24).toString('hex');
}

function writeSecrets(folder: string, tokens: readonly string[]): void {
  const key = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  writeFileSync(join(folder, 'service-account.key'), key.privateKey, { mode: 0o600 });
  writeFileSync(join(folder, 'service-account.pub'), key.publicKey);
  writeFileSync(join(folder, 'tokens.csv'), `${tokens.join('\n')}\n`, { mode: 0o600 });
}

/** Chooses ports and makes keys and tokens; starts nothing. */
export async function prepareSite(plan: ControlPlanePlan, folder: string): Promise<Site> {
  const [port, etcdPort] = await Promise.all([findFreePort(), findFreePort()]);
  const adminToken = makeToken();
  const controllersToken = makeToken();
  const nodeTokens = { kubelet: makeToken(), scheduler: makeToken(), proxy: makeToken() };
  const address = plan.node?.settings.network.nodeAddress ?? '127.0.0.1';
  mkdirSync(join(folder, 'certificates'), { recursive: true });
  writeSecrets(folder, [
    `${adminToken},admin,admin,"system:masters"`,
    `${controllersToken},test-controllers,test-controllers,"system:masters"`,
    `${nodeTokens.kubelet},system:node:${NODE_NAME},kubelet,"system:nodes"`,
    `${nodeTokens.scheduler},system:kube-scheduler,scheduler`,
    `${nodeTokens.proxy},system:kube-proxy,proxy`,
  ]);
  const policyPath = plan.audit?.policyPath ?? join(folder, 'audit-policy.yaml');
  const logPath = plan.audit?.logPath ?? join(folder, 'audit.log');
  if (plan.audit?.policyPath === undefined) writeFileSync(policyPath, AUDIT_POLICY);
  return {
    plan,
    folder,
    address,
    url: `https://${address}:${port}`,
    port,
    etcdUrl: `http://127.0.0.1:${etcdPort}`,
    adminToken,
    controllersToken,
    nodeTokens,
    audit: plan.audit === undefined ? undefined : { policyPath, logPath },
  };
}

/** Returns the path of the certificate that the API server writes at its first start, followed by its CA. */
export function certificatePath(site: Site): string {
  return join(site.folder, 'certificates', 'apiserver.crt');
}

export function readCaPem(site: Site): string {
  return readFileSync(certificatePath(site), 'utf8');
}
