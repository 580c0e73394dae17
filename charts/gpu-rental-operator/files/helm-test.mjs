// `helm test`: asks the cluster and the marketplace what the operator depends on. Makes and rents nothing.
import { readFile } from 'node:fs/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';

const { NAMESPACE: namespace, KUBERNETES_SERVICE_HOST: host, API_KEY_FILE: keyFile, MARKETPLACE_URL: marketplace } = process.env;
const api = process.env.API_URL ?? `https://${host}:${process.env.KUBERNETES_SERVICE_PORT}`;
const tokenFile = process.env.TOKEN_FILE ?? '/var/run/secrets/kubernetes.io/serviceaccount/token';
const caFile = process.env.CA_FILE ?? '/var/run/secrets/kubernetes.io/serviceaccount/ca.crt';
// Beside those of Node and of NODE_EXTRA_CA_CERTS, by which the marketplace may be trusted.
setDefaultCACertificates([...getCACertificates('default'), await readFile(caFile, 'utf8')]);
const token = (await readFile(tokenFile, 'utf8')).trim();

async function askKubernetes(path, body) {
  const response = await fetch(api + path, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(15_000),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${response.status} ${answer.message}`);
  return answer;
}

async function definitions() {
  const made = await askKubernetes(`/apis/gpurental.dev/v1alpha1/namespaces/${namespace}/gpuinstances?dryRun=All`, {
    apiVersion: 'gpurental.dev/v1alpha1',
    kind: 'GpuInstance',
    metadata: { name: 'helm-test' },
    spec: { image: 'ubuntu:24.04', offers: [{ maxPricePerHour: '0.01' }] },
  });
  if (made.status?.observedGeneration !== -1) throw new Error('the definition is older than this chart');
}

async function leader() {
  const lease = await askKubernetes(
    `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/gpu-rental-operator`,
  );
  if (!lease.spec?.holderIdentity) throw new Error('nobody leads: see the log of the operator');
  const silentFor = Date.now() - Date.parse(lease.spec.renewTime);
  if (silentFor > 60_000) throw new Error(`the leader has been silent for ${Math.round(silentFor / 1000)} s`);
}

async function login() {
  const key = (await readFile(keyFile, 'utf8')).trim();
  const response = await fetch(`${marketplace}/api/v0/users/current/`, {
    headers: { authorization: `Bearer ${key}` },
    redirect: 'error',
    signal: AbortSignal.timeout(15_000),
  });
  if (!response.ok) throw new Error(`${marketplace} answered ${response.status}`);
}

const checks = [
  ['a GpuInstance is accepted (dry run)', definitions],
  ['an operator leads', leader],
  ...(keyFile ? [['the key proves a login', login]] : []),
];
for (const [name, check] of checks) {
  try {
    await check();
    console.log(`ok: ${name}`);
  } catch (error) {
    console.log(`FAILED: ${name}: ${error.message}`);
    process.exitCode = 1;
  }
}
