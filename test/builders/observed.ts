import {
  type GpuInstance,
  type GpuInstanceManifestSpec,
  type GpuInstanceStatus,
  gpuInstanceSpec,
} from '../../src/api/v1alpha1/gpu-instance.ts';
import { specHash } from '../../src/api/v1alpha1/machine-drift.ts';
import { API_VERSION, annotations, MACHINE_FINALIZER } from '../../src/api/v1alpha1/names.ts';
import { deriveFacts, type Facts } from '../../src/controllers/gpu-instance/facts.ts';
import type {
  AccountFacts,
  ListedMachine,
  ListView,
  MemoryView,
  Observed,
} from '../../src/controllers/gpu-instance/types.ts';
import { Secret } from '../../src/lib/secret.ts';
import { formatTime } from '../../src/lib/time.ts';
import type { Instance } from '../../src/marketplace/instances/instance.ts';
import type { Offer } from '../../src/marketplace/offers/offers.ts';
import { makeClaim } from '../../src/ownership/claim.ts';
import { defaultConstants } from '../../src/ownership/constants.ts';
import type { Identity } from '../../src/ownership/identity.ts';
import { type RentalIntent, readIntent, writeIntent } from '../../src/ownership/intent.ts';
import { makeLabel } from '../../src/ownership/label.ts';
import { loginText } from '../../src/ownership/login.ts';
import { ownershipOf } from '../../src/ownership/ownership.ts';

/** The moment at which every pass of these tests happens. */
export const NOW = Date.UTC(2026, 10, 20, 12, 0, 0);
export const UID = '11111111-2222-4333-8444-555555555555';
export const LOGIN = { url: 'https://market.example', userId: '7' };

export const identity: Identity = {
  installId: 'abcdef0123456789abcdef0123456789',
  installId8: 'abcdef01',
  keys: [new Secret('a'.repeat(64))],
  kubeSystemUid: undefined,
  scope: '*',
};

/** Seconds before (negative) or after {@link NOW}. */
export const at = (seconds: number): number => NOW + seconds * 1000;
export const time = (seconds: number): string => formatTime(at(seconds));

/** A spec with everything defaulted, as the API server would give it. */
export function spec(manifest: GpuInstanceManifestSpec = {}): GpuInstance['spec'] {
  return gpuInstanceSpec.parse({
    image: 'example/image:1',
    offers: [{ maxPricePerHour: '1.00' }],
    ...manifest,
  });
}

/** An offer that fits {@link spec}; names only what matters. */
export function offer(change: Partial<Offer> = {}): Offer {
  const id = change.id ?? '100';
  const price = change.pricePerHour ?? 500_000;
  return {
    id,
    machineId: String(1000 + Number(id)),
    hostId: String(2000 + Number(id)),
    gpuName: 'RTX 4090',
    gpuCount: 1,
    gpuMemoryMB: 24_000,
    memoryMB: 64_000,
    cpuCores: 16,
    diskGB: 200,
    directPorts: 10,
    reliability: 0.99,
    verified: true,
    rentable: true,
    pricePerHour: price,
    minBid: 100_000,
    region: 'California, US',
    cudaVersion: 12.4,
    performance: 50,
    remainingSeconds: 1e6,
    ...change,
    fields: { dph_total: price / 1e6, reliability: 0.99, ...change.fields },
  };
}

/** A running machine that began five minutes ago; names only what matters. */
export function row(change: Partial<Instance> = {}): Instance {
  const actualStatus = change.actualStatus === undefined ? 'running' : change.actualStatus;
  return {
    id: '1',
    label: null,
    actualStatus,
    actualStatusText: actualStatus,
    intendedStatus: 'running',
    machineId: '1100',
    hostId: '2100',
    startedAt: at(-300),
    pricePerHour: 500_000,
    storagePricePerHour: 10_000,
    sshHost: '203.0.113.5',
    sshPort: 20_022,
    publicAddress: '203.0.113.5',
    ports: {},
    gpuName: 'RTX 4090',
    gpuCount: 1,
    gpuMemoryMB: 24_000,
    gpuUtilization: undefined,
    diskGB: 10,
    image: 'example/image:1',
    interruptible: false,
    region: undefined,
    statusMessage: undefined,
    ...change,
  };
}

/** The label of this object's purchase. */
export function labelOf(attempt: number, issuedAt = at(-301), uid = UID): string {
  return makeLabel(identity, { uid, attempt, issuedAt });
}

/** A listed machine of this object's purchase. */
export function machineOf(attempt: number, change: Partial<Instance> = {}): ListedMachine {
  return listed(row({ label: labelOf(attempt), ...change }));
}

/** Any listed machine, with what its label says about whose it is. */
export function listed(machine: Instance): ListedMachine {
  const ownership = ownershipOf(machine, { identity, login: LOGIN, constants: defaultConstants });
  return { row: machine, ownership };
}

export function intent(change: Partial<RentalIntent> = {}): RentalIntent {
  const issuedAt = change.issuedAt ?? at(-301);
  return {
    uid: UID,
    attempt: 1,
    offer: '100',
    generation: 1,
    spec: specHash(spec()),
    login: loginText(LOGIN),
    issuedAt,
    deadline: issuedAt + 30_000,
    ...change,
  };
}

export function facts(change: Partial<AccountFacts> = {}): AccountFacts {
  return {
    login: LOGIN,
    limits: {},
    breaker: { type: 'closed' },
    openSpans: [],
    countsHostFailures: true,
    labelEcho: 'echoed',
    permitted: true,
    adoption: 'None',
    mayDestroy: true,
    sshKeyRegistered: true,
    avoided: { offers: new Set(), machines: new Set(), hosts: new Set() },
    reserved: new Set(),
    serviceTime: { type: 'known', at: NOW, isConfirmed: true },
    startUnsupported: false,
    ...change,
  };
}

const freshMemory: MemoryView = {
  askedAt: undefined,
  late: undefined,
  rented: undefined,
  intent: undefined,
  refused: undefined,
  refusal: undefined,
  explained: undefined,
  queued: undefined,
  destroys: [],
  intentDeadline: undefined,
  firstSeenAt: 0,
  rentedSince: undefined,
  watchedSince: undefined,
  startAnsweredAt: undefined,
  relabelledAt: undefined,
  failures: 0,
  notBefore: 0,
  stopAskedAt: undefined,
  stopAnsweredAt: undefined,
  destroyFailures: 0,
  destroyNotBefore: 0,
  badEndedAt: undefined,
  seenStatus: undefined,
  progress: undefined,
  progressOnRecord: undefined,
  childrenDueAt: undefined,
};

/** What a test says about a pass; everything else is as on a quiet day. */
export interface Given {
  readonly spec?: GpuInstanceManifestSpec;
  readonly status?: Partial<GpuInstanceStatus>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly intent?: RentalIntent | string;
  readonly deleting?: boolean;
  readonly finalizers?: readonly string[];
  readonly account?: Observed['account'];
  readonly facts?: Partial<AccountFacts>;
  /** Rows of the latest complete list that carry this object's label. */
  readonly machines?: readonly ListedMachine[];
  readonly list?: Partial<ListView> | 'none';
  readonly memory?: Partial<MemoryView>;
  readonly observed?: Partial<Observed>;
}

/** One frozen view of one object. */
export function given(situation: Given = {}): Facts {
  const object = objectOf(situation);
  const machines = situation.machines ?? [];
  const id = object.status?.instanceId;
  const list: ListView = {
    begunAt: at(-1),
    begunSteady: at(-1),
    recorded: machines.find((machine) => machine.row.id === id)?.row,
    labelled: machines,
    formerSelf: undefined,
    adoptTarget: undefined,
    unowned: [],
    doubtful: [],
    ids: machines.map((machine) => machine.row.id),
    ...(situation.list === 'none' ? {} : situation.list),
  };
  return deriveFacts({
    now: NOW,
    steadyNow: NOW,
    object,
    uid: UID,
    identity,
    constants: defaultConstants,
    account: situation.account ?? { state: 'ready', facts: facts(situation.facts) },
    intent: readIntent(identity.keys, object.metadata.annotations?.[annotations.rentalIntent]),
    list: situation.list === 'none' ? undefined : list,
    absences: new Map(),
    listsBegun: situation.list === 'none' ? [] : [list.begunAt],
    memory: { ...freshMemory, ...situation.memory },
    broadOffers: undefined,
    offers: new Map(),
    inputs: { type: 'ready', env: {}, onStart: undefined, imageLogin: undefined },
    loginProven: undefined,
    confirmed: id === undefined ? undefined : { instanceId: id, state: 'lost' },
    probe: undefined,
    published: { type: 'done', bindingName: 'job-connection' },
    olderClaimant: false,
    leaseRemainingMs: 15_000,
    jitter: 0.5,
    ...situation.observed,
  });
}

function objectOf(situation: Given): GpuInstance {
  const text =
    typeof situation.intent === 'object' ? writeIntent(identity.keys, situation.intent) : situation.intent;
  return {
    apiVersion: API_VERSION,
    kind: 'GpuInstance',
    metadata: {
      name: 'job',
      namespace: 'team',
      uid: UID,
      resourceVersion: '5',
      generation: 1,
      creationTimestamp: time(-600),
      annotations: {
        ...situation.annotations,
        ...(text === undefined ? {} : { [annotations.rentalIntent]: text }),
      },
      finalizers: situation.finalizers ?? (text === undefined ? [] : [MACHINE_FINALIZER]),
      ...(situation.deleting ? { deletionTimestamp: time(-1) } : {}),
    },
    spec: spec(situation.spec),
    ...(situation.status ? { status: situation.status } : {}),
  };
}

/** What its row tells of machine 1. */
const FACTS: NonNullable<GpuInstanceStatus['facts']> = [
  { field: 'gpu_name', value: 'RTX 4090' },
  { field: 'num_gpus', value: '1' },
  { field: 'gpu_ram', value: '24000' },
  { field: 'pricing', value: 'OnDemand' },
];

/** The status of an object that holds machine 1 of its first purchase, running for four minutes. */
export function holding(
  change: Partial<GpuInstanceStatus> = {},
  manifest: GpuInstanceManifestSpec = {},
): GpuInstanceStatus {
  const attempt = change.attempt ?? 1;
  const instanceId = change.instanceId ?? '1';
  return {
    observedGeneration: 1,
    attempt,
    instanceId,
    claim: makeClaim(identity.keys, { login: LOGIN, uid: UID, attempt, instanceId }),
    offerIndex: 0,
    offerPricePerHour: '0.50',
    machineId: '1100',
    hostId: '2100',
    actualStatus: 'running',
    actualStatusSince: time(-240),
    rentedAt: time(-300),
    runningAt: time(-240),
    firstRentedAt: time(-300),
    specHash: specHash(spec(manifest)),
    facts: FACTS,
    cost: { pricePerHour: '0.50', storagePricePerHour: '0.01', accrued: '0.00', since: time(-300) },
    rentals: [time(-300)],
    binding: { name: 'job-connection' },
    ...change,
  };
}

/** An object that holds a machine, as {@link given} takes it: intent, status and the row that the list shows. */
export function withMachine(change: Partial<Instance> = {}, situation: Given = {}): Given {
  return {
    intent: intent(),
    machines: [machineOf(1, change)],
    ...situation,
    status: holding(situation.status, situation.spec),
  };
}

/** The Ready condition of an object that is not, with its reason. */
export const readyCondition = (reason: string) => ({
  type: 'Ready',
  status: 'False' as const,
  reason,
  message: '',
  lastTransitionTime: time(0),
  observedGeneration: 1,
});
