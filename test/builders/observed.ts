import type { Machine } from '../../src/accounts/beliefs/machine.ts';
import type { Agreement } from '../../src/accounts/beliefs/sightings.ts';
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
  PassTimes,
  RetryView,
  SeenMachines,
  SeenPurchase,
} from '../../src/controllers/gpu-instance/types.ts';
import { Secret } from '../../src/lib/secret.ts';
import { formatTime } from '../../src/lib/time.ts';
import type { MachineState } from '../../src/market/machine.ts';
import type { Offer } from '../../src/market/offer.ts';
import { vastFacts } from '../../src/markets/vast/facts.ts';
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

/** Returns a spec with all defaults, as the API server stores it. */
export function spec(manifest: GpuInstanceManifestSpec = {}): GpuInstance['spec'] {
  return gpuInstanceSpec.parse({
    image: 'example/image:1',
    offers: [{ maxPricePerHour: '1.00' }],
    ...manifest,
  });
}

/** Returns an offer that fits {@link spec}; pass only what matters. */
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
    storagePricePerHour: undefined,
    region: 'California, US',
    cudaVersion: 12.4,
    performance: 50,
    remainingSeconds: 1e6,
    ...change,
    fields: { reliability: 0.99, ...change.fields },
  };
}

/** An offer that fits {@link spec} was found, and the account admits its rental in place of the machine. */
export const IN_HAND: Pick<SeenPurchase, 'offers' | 'room'> = {
  offers: new Map([[0, { type: 'found', offers: [offer()] }]]),
  room: { type: 'fits', offerId: '100', pricePerHour: 500_000, at: NOW },
};

/** Words of the marketplace for states that it calls otherwise. */
const WORDS: Partial<Readonly<Record<MachineState, string | null>>> = {
  pending: null,
  unseen: 'unknown',
  ended: 'destroyed',
};

/** Returns a running machine that started five minutes ago; pass only what matters. */
export function row(change: Partial<Machine> = {}): Machine {
  const state = change.state ?? 'running';
  return {
    id: '1',
    label: null,
    state,
    marketStatus: WORDS[state] === undefined ? state : WORDS[state],
    intendedPower: 'running',
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
    reports: {},
    unsettled: new Set(),
    ...change,
  };
}

/** Returns the label of this object's purchase. */
export function labelOf(attempt: number, issuedAt = at(-301), uid = UID): string {
  return makeLabel(identity, { uid, attempt, issuedAt });
}

/** Returns a listed machine of this object's purchase. */
export function machineOf(attempt: number, change: Partial<Machine> = {}): ListedMachine {
  return listed(row({ label: labelOf(attempt), ...change }));
}

/** Returns a listed machine with the ownership that its label shows. */
export function listed(machine: Machine): ListedMachine {
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
    market: vastFacts,
    limits: {},
    breaker: { type: 'closed' },
    openSpans: [],
    countsHostFailures: true,
    labelEcho: 'echoed',
    creditUsedUp: false,
    suspended: false,
    permitted: true,
    adoption: 'None',
    mayDestroy: true,
    sshKeyRegistered: true,
    avoided: { offers: new Set(), machines: new Set(), hosts: new Set() },
    reserved: new Set(),
    serviceTime: { type: 'known', at: NOW, isConfirmed: true },
    startUnsupported: false,
    isEndJudged: true,
    ...change,
  };
}

/** Nothing has failed. */
export const FRESH_RETRY = { refusal: undefined, explained: undefined, failures: 0, notBefore: 0 } as const;

const freshMemory: MemoryView = {
  ...FRESH_RETRY,
  replacement: FRESH_RETRY,
  candidates: new Map(),
  destroys: [],
  destroyFailures: 0,
  destroyNotBefore: 0,
  firstSeenAt: 0,
};

/** Parts of a reconcile that a test sets; the rest has uneventful defaults. */
export interface Given {
  readonly spec?: GpuInstanceManifestSpec;
  readonly status?: Partial<GpuInstanceStatus>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly intent?: RentalIntent | string;
  readonly deleting?: boolean;
  readonly finalizers?: readonly string[];
  readonly account?: Observed['account'];
  readonly facts?: Partial<AccountFacts>;
  /** Rows of the latest complete list that carry this object's label. */
  readonly machines?: readonly ListedMachine[];
  readonly list?: Partial<ListView> | 'none';
  readonly memory?: Partial<MemoryView>;
  readonly observed?: ObservedParts;
}

/** Parts of an observation by their names alone: each name occurs in one of its nouns only. */
export type ObservedParts = Partial<
  SeenMachines & SeenPurchase & PassTimes & Pick<Observed, 'object' | 'account' | 'memory'>
>;

/** Returns the observation with these parts in the nouns that contain them. */
export function withParts(observed: Observed, parts: ObservedParts): Observed {
  const inNoun = <Noun extends object>(noun: Noun): Noun => {
    const changed = Object.entries(parts).filter(([name]) => name in noun);
    return { ...noun, ...Object.fromEntries(changed) };
  };
  const { machine, purchase, clock, ...rest } = observed;
  return { ...inNoun(rest), machine: inNoun(machine), purchase: inNoun(purchase), clock: inNoun(clock) };
}

/** Returns a replacement view in which a search ten seconds ago found the same offers as this reconcile. */
function replacementOf({ memory, observed }: Given): RetryView {
  const { offers = IN_HAND.offers } = observed ?? {};
  const ids = [...offers.values()].flatMap((seen) =>
    seen.type === 'found' ? seen.offers.map(({ id }) => id) : [],
  );
  const firstSearch = { begunAt: at(-10), offerIds: ids, misses: 0 };
  return { ...FRESH_RETRY, ...(ids.length > 0 && { firstSearch }), ...memory?.replacement };
}

/** Returns a frozen view of one object. */
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
    copiedFrom: undefined,
    adoptTarget: undefined,
    unowned: [],
    doubtful: [],
    ids: machines.map((machine) => machine.row.id),
    ...(situation.list === 'none' ? {} : situation.list),
  };
  const observed: Observed = {
    object,
    machine: {
      list: situation.list === 'none' ? undefined : list,
      absences: new Map(),
      listsBegun: situation.list === 'none' ? [] : [list.begunAt - defaultConstants.listLagMs, list.begunAt],
      loginProven: undefined,
      confirmed: id === undefined ? undefined : { instanceId: id, read: list.recorded ?? 'absent' },
      labelReads: new Map(
        [...machines, ...(list.adoptTarget ? [list.adoptTarget] : [])]
          .map((machine) => machine.row)
          .concat(list.unowned)
          .map((read) => [read.id, read]),
      ),
      probe: undefined,
      lease: undefined,
      selfEnd: undefined,
      runResult: undefined,
      idle: undefined,
      published: { type: 'done', bindingName: 'job-connection' },
      isOfferSoldBefore: false,
      olderClaimant: false,
    },
    account: situation.account ?? { state: 'ready', facts: facts(situation.facts) },
    purchase: {
      uid: UID,
      identity,
      intent: readIntent(identity.keys, object.metadata.annotations?.[annotations.rentalIntent]),
      broadOffers: undefined,
      room: undefined,
      place: undefined,
      // A machine that is held may be replaced: an offer for the next one is in hand.
      ...(id === undefined ? { offers: new Map() } : IN_HAND),
      inputs: {
        ...{ type: 'ready', env: {}, ssh: false, args: undefined },
        ...{ onStart: undefined, imageLogin: undefined },
      },
    },
    clock: { now: NOW, steadyNow: NOW, constants: defaultConstants, jitter: 0.5 },
    memory: { ...freshMemory, ...situation.memory, replacement: replacementOf(situation) },
  };
  return deriveFacts(withParts(observed, situation.observed ?? {}));
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
      ...(situation.labels && { labels: situation.labels }),
      finalizers: situation.finalizers ?? (text === undefined ? [] : [MACHINE_FINALIZER]),
      ...(situation.deleting ? { deletionTimestamp: time(-1) } : {}),
    },
    spec: spec(situation.spec),
    ...(situation.status ? { status: situation.status } : {}),
  };
}

/** Recorded facts of machine 1. */
const FACTS: NonNullable<GpuInstanceStatus['facts']> = [
  { field: 'gpuName', value: 'RTX 4090' },
  { field: 'gpuCount', value: '1' },
  { field: 'gpuMemoryMB', value: '24000' },
  { field: 'pricing', value: 'OnDemand' },
];

/** Returns the status of an object whose first machine has been running for four minutes. */
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

/** Complete lists agree on every field of every row. */
export const ALL_AGREE: Agreement = { heldMs: () => 3_600_000, spacingMs: 10_000 };

/** Returns a situation with a machine for {@link given}: intent, status and list row. */
export function withMachine(change: Partial<Machine> = {}, situation: Given = {}): Given {
  return {
    intent: intent(),
    machines: [machineOf(1, change)],
    ...situation,
    status: holding(situation.status, situation.spec),
  };
}

/**
 * Returns the situation of an object whose record moves to machine 2 now: the reply to its rental named machine 1, which
 * lists show with the label of a person.
 */
export function movingRecord(situation: Given): Given {
  return {
    ...situation,
    machines: [
      listed(row({ label: 'mine', startedAt: at(-310), gpuUtilization: 0 })),
      machineOf(1, { id: '2' }),
    ],
    status: { ...situation.status, unconfirmed: true },
  };
}

/** Returns a false Ready condition with its reason. */
export const readyCondition = (reason: string) => ({
  type: 'Ready',
  status: 'False' as const,
  reason,
  message: '',
  lastTransitionTime: time(0),
  observedGeneration: 1,
});
