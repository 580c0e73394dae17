import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { endpointGroupSpec } from '../../src/api/v1alpha1/endpoint-group-spec.ts';
import { gpuInstanceSpec } from '../../src/api/v1alpha1/gpu-instance.ts';
import { API_VERSION, GROUP, VERSION } from '../../src/api/v1alpha1/names.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { Secret } from '../../src/lib/secret.ts';
import { readBody } from '../../src/markets/vast/http/reply-body.ts';
import { IDENTITY_SECRET, type Identity, identityToData } from '../../src/ownership/identity.ts';
import { makeLabel } from '../../src/ownership/label.ts';
import { type JsonObject, metadataOf, textAt } from '../simulation/memory-kube/json.ts';
import { createMemoryKube, type MemoryKube } from '../simulation/memory-kube/memory-kube.ts';
import { mergePatch } from '../simulation/memory-kube/patch.ts';
import { type MarketplaceBench, marketplaceBench } from './marketplace.ts';
import {
  type AskedCluster,
  type ClusterAnswer,
  type ScriptedCluster,
  scriptedCluster,
} from './scripted-cluster.ts';

/** User with an in-memory cluster that has the operator's kinds, and with a simulated marketplace. */
export interface Desk {
  readonly cluster: ScriptedCluster;
  readonly market: MarketplaceBench;
  readonly identity: Identity;
  /** Answers of the cluster to requests that a test does not script. */
  readonly stored: (asked: AskedCluster) => Promise<ClusterAnswer>;
  /** Stores a custom resource or Secret in namespace `team`, unless its metadata names another. Returns its UID. */
  put(plural: string, object: DeskObject): string;
  /** Sets the status of an object in `team`. */
  status(plural: string, name: string, status: unknown): void;
  /** Stores an account in `team` with a working key and marketplace. */
  account(name: string, more?: DeskObject): void;
  /** Rents a machine with the label that the operator uses for that object. */
  labelledMachine(objectUid: string): Promise<number>;
  close(): Promise<void>;
}

export interface DeskObject {
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly spec?: unknown;
  readonly status?: unknown;
  readonly data?: unknown;
  readonly type?: string;
}

const KINDS: Readonly<Record<string, string>> = {
  gpuinstances: 'GpuInstance',
  endpointgroups: 'EndpointGroup',
  marketplaceaccounts: 'MarketplaceAccount',
};
const CRDS = join(import.meta.dirname, '..', '..', 'crds');
const definitions = readdirSync(CRDS).map(
  (file) => parse(readFileSync(join(CRDS, file), 'utf8')) as JsonObject,
);

export async function desk(): Promise<Desk> {
  const market = await marketplaceBench();
  const cluster = await scriptedCluster({
    GPU_RENT_URL: market.url,
    GPU_RENT_API_KEY: market.service.simulator.apiKey,
  });
  const memory = createMemoryKube({ clock: systemClock, random: seededRandom(5), definitions });
  const identity: Identity = {
    ...{ installId: 'a'.repeat(32), installId8: 'a'.repeat(8), scope: '*', kubeSystemUid: undefined },
    keys: [new Secret('b'.repeat(64))],
  };
  const stored = (asked: AskedCluster) => answerOf(memory, asked);
  cluster.answer = stored;
  const here: Desk = {
    ...{ cluster, market, identity, stored },
    put: (plural, object) => put(memory, plural, object),
    status: (plural, name, status) => setStatus(memory, plural, { name, status }),
    account: (name, more) => account(here, name, more),
    labelledMachine: (uid) => labelledMachine(here, uid),
    async close() {
      cluster.close();
      await market.close();
    },
  };
  for (const name of ['team', 'gpu-rental-system'])
    here.put('namespaces', { metadata: { name, namespace: undefined } });
  here.put('secrets', {
    metadata: { name: IDENTITY_SECRET, namespace: 'gpu-rental-system' },
    data: encoded(identityToData(identity)),
  });
  here.put('secrets', {
    metadata: { name: 'key' },
    data: encoded({ 'api-key': market.service.simulator.apiKey }),
  });
  return here;
}

function encoded(data: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [name, Buffer.from(value).toString('base64')]),
  );
}

function put(memory: MemoryKube, plural: string, { status, metadata, ...rest }: DeskObject): string {
  const kind = memory.kind(plural);
  const meta = { namespace: 'team', name: 'x', ...metadata };
  const typeMeta = KINDS[plural] && { apiVersion: API_VERSION, kind: KINDS[plural] };
  const address = { kind, namespace: meta.namespace, name: meta.name };
  const object = JSON.parse(JSON.stringify({ ...typeMeta, metadata: meta, ...rest })) as JsonObject;
  const created = memory.writes.create(address, object);
  if (status !== undefined) setStatus(memory, plural, { ...meta, status });
  return textAt(metadataOf(created), 'uid') ?? '';
}

function setStatus(
  memory: MemoryKube,
  plural: string,
  of: { readonly namespace?: string; readonly name: string; readonly status: unknown },
): void {
  const { namespace = 'team', name, status } = of;
  const address = { kind: memory.kind(plural), namespace, name };
  memory.writes.update(address, (current) => ({ ...current, status: status as JsonObject }), 'status');
}

function account({ put: place, market }: Desk, name: string, more: DeskObject = {}): void {
  place('marketplaceaccounts', {
    metadata: { name, ...more.metadata },
    spec: { apiKeySecretRef: { name: 'key', key: 'api-key' }, ...Object(more.spec) },
    status: {
      login: { url: market.url, userId: String(market.service.user().id), provenAt: '2026-11-01T00:00:00Z' },
      ...Object(more.status),
    },
  });
}

async function labelledMachine({ market, identity }: Desk, uid: string): Promise<number> {
  const issuedAt = market.service.simulator.now();
  const label = makeLabel(identity, { uid, attempt: 1, issuedAt });
  const [offer] = await market.offers();
  const { body } = await market.service.call(`PUT /api/v0/asks/${offer}/`, { image: 'ubuntu:24.04', label });
  return Number(body.new_contract);
}

const GROUP_PATH = `/apis/${GROUP}/${VERSION}`;

async function answerOf(memory: MemoryKube, asked: AskedCluster): Promise<ClusterAnswer> {
  const { method, path, query, headers, body } = asked;
  if (path === GROUP_PATH)
    return { status: 200, body: { resources: Object.keys(KINDS).map((name) => ({ name })) } };
  if (query.includes('dryRun=All') && method === 'PATCH') return tried(memory, asked);
  const response = await memory.transport({
    ...{ method, origin: 'https://memory', path: `${path}${query}` },
    headers: { 'content-type': headers['content-type']?.[0] ?? '' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: JSON.parse(await readBody(response, 1_000_000)) };
}

const SPECS = { GpuInstance: gpuInstanceSpec, EndpointGroup: endpointGroupSpec };

/** Returns the patched object with defaults, without storing it. */
async function tried(memory: MemoryKube, { path, body }: AskedCluster): Promise<ClusterAnswer> {
  const headers = {};
  const response = await memory.transport({ method: 'GET', origin: 'https://memory', path, headers });
  const stored = JSON.parse(await readBody(response, 1_000_000)) as JsonObject;
  const object = Object(mergePatch(response.status === 200 ? stored : {}, body as JsonObject));
  const schema = SPECS[object.kind as keyof typeof SPECS];
  return { status: 200, body: { ...object, spec: schema.parse(object.spec) } };
}
