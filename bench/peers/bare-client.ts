/**
 * The limit of the machine: a program that only sends the requests of the job, as fast as they are answered, and decides
 * nothing. It waits for no boot and looks at no list, so it is no operator; how much slower an operator is than this is
 * what its own work costs. Takes the flags of a peer, and `--object`: an object
 * as the operator wrote it, of which it sends intent and status, since a write costs the API server by its size.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { parse } from 'yaml';

const { values } = parseArgs({
  strict: false,
  options: {
    namespace: { type: 'string' },
    'marketplace-url': { type: 'string' },
    object: { type: 'string' },
  },
});
const market = String(values['marketplace-url']);
const namespace = String(values.namespace);
const kubeconfig = parse(readFileSync(process.env['KUBECONFIG'] ?? '', 'utf8'));
const { server, 'certificate-authority-data': ca } = kubeconfig.clusters[0].cluster;
const { token } = kubeconfig.users[0].user;
const own = JSON.parse(readFileSync(String(values.object), 'utf8'));
const AT_ONCE = 32;
const kube = new Agent({ connect: { ca: Buffer.from(ca, 'base64') }, connections: AT_ONCE, bodyTimeout: 0 });
const places = new Agent({ connections: AT_ONCE });
const instances = `/apis/gpurental.dev/v1alpha1/namespaces/${namespace}/gpuinstances`;

interface Instance {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string };
}

async function toKube(method: 'POST' | 'PUT' | 'PATCH', path: string, body: unknown): Promise<Instance> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const reply = await request(`${server}${path}`, {
    method,
    dispatcher: kube,
    headers: { authorization: `Bearer ${token}`, 'content-type': type },
    body: JSON.stringify(body),
  });
  const text = await reply.body.text();
  if (reply.statusCode >= 300) throw new Error(`${method} ${path}: ${reply.statusCode} ${text}`);
  return JSON.parse(text);
}

async function toMarket(method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown): Promise<unknown> {
  const reply = await request(`${market}${path}`, {
    method,
    dispatcher: places,
    headers: { authorization: `Bearer ${process.env['MARKETPLACE_API_KEY']}` },
    body: body === undefined ? null : JSON.stringify(body),
  });
  if (reply.statusCode >= 300) throw new Error(`${method} ${path}: ${reply.statusCode}`);
  return reply.body.json();
}

const offers: number[] = [];

/** Replays one object's job: an intent with the finalizer, the rent call, two statuses, a Secret and an event. */
async function replay(instance: Instance): Promise<void> {
  const { name, uid } = instance.metadata;
  const { annotations } = own.metadata;
  const head = { annotations, finalizers: ['bare.gpurental.dev/machine'] };
  const recorded = await toKube('PATCH', `${instances}/${name}`, { metadata: head });
  const order = { image: 'example/work:1', disk: 10, label: `bare:${uid}:1`, runtype: 'ssh' };
  const rented = (await toMarket('PUT', `/api/v0/asks/${offers.pop()}/`, order)) as { new_contract: number };
  const instanceId = String(rented.new_contract);
  // The addresses come with the second one.
  const { endpoint: _endpoint, binding: _binding, ...first } = own.status;
  const machine = { ...own.status.machine, id: instanceId };
  const status = { ...first, phase: 'Provisioning', machine };
  const provisioned = await toKube('PUT', `${instances}/${name}/status`, { ...recorded, status });
  const { apiVersion, kind } = instance;
  await toKube('POST', `/apis/events.k8s.io/v1/namespaces/${namespace}/events`, {
    metadata: { name: `${name}.${instanceId}`, namespace },
    ...{ eventTime: new Date().toISOString().replace('Z', '000Z'), type: 'Normal', reason: 'Rented' },
    ...{ action: 'Rent', reportingController: 'bare-client', reportingInstance: 'bare-client' },
    regarding: { apiVersion, kind, name, namespace, uid },
  });
  await toKube('POST', `/api/v1/namespaces/${namespace}/secrets`, {
    metadata: { name: `${name}-connection`, ownerReferences: [{ apiVersion, kind, name, uid }] },
    stringData: { host: '203.0.113.1', port: '20000', 'instance-id': instanceId },
  });
  const running = { ...provisioned, status: { ...own.status, machine } };
  await toKube('PUT', `${instances}/${name}/status`, running);
}

const queue: Instance[] = [];
let working = 0;

function work(): void {
  while (working < AT_ONCE) {
    const next = queue.shift();
    if (!next) return;
    working += 1;
    replay(next).then(
      () => {
        working -= 1;
        work();
      },
      (error: unknown) => {
        process.stderr.write(`${error}\n`);
        process.exit(1);
      },
    );
  }
}

const search = { rentable: { eq: true }, dph_total: { lte: 90 }, allocated_storage: 10, limit: 10_000 };
const found = (await toMarket('POST', '/api/v0/bundles/', search)) as { offers: { id: number }[] };
offers.push(...found.offers.map(({ id }) => id));
await toMarket('GET', '/api/v0/instances/');
/** The server ends a watch whose reader falls behind; it goes on where it ended. */
let version = '0';
for (;;) {
  const watch = await request(`${server}${instances}?watch=true&resourceVersion=${version}`, {
    dispatcher: kube,
    headers: { authorization: `Bearer ${token}` },
  });
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of watch.body) {
    const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const { type, object } = JSON.parse(line) as { type: string; object: Instance };
      if (type === 'ERROR') throw new Error(line);
      version = object.metadata.resourceVersion;
      if (type === 'ADDED') queue.push(object);
    }
    work();
  }
}
