import { canonicalSha256 } from '../../lib/json-hash.ts';
import { wholeGigabytes } from '../../lib/quantity.ts';
import { fittingText } from '../../lib/text.ts';
import { fieldName } from './former-columns.ts';
import type { GpuInstance, GpuInstanceSpec, GpuInstanceStatus } from './gpu-instance.ts';
import {
  factOf,
  isIdFact,
  isRecorded,
  OFFER_FIELD_ROWS,
  type OfferFacts,
  type SHOWN_FACTS,
  valueIn,
} from './offer-fields.ts';
import type { OfferRequirements } from './offer-requirements.ts';
import { factValue, filterRequirements, type Requirement, requirementsOn } from './requirements.ts';
import { trimmedOf } from './trimmed-spec.ts';

/** Increased when {@link machineRequest} changes: a hash of another version proves no drift. */
const VERSION = 'v2';

/** Minimum disk of the marketplace, 8 GB; the CRD refuses less. */
const DEFAULT_DISK_GB = 10;

/** Returns the disk to rent, in whole decimal GB, rounded up. */
export function diskGB({ disk }: Pick<GpuInstanceSpec, 'disk'>): number {
  return wholeGigabytes(disk) ?? DEFAULT_DISK_GB;
}

type RequestSpec = Pick<
  GpuInstanceSpec,
  | 'args'
  | 'command'
  | 'disk'
  | 'entrypoint'
  | 'env'
  | 'image'
  | 'imagePullSecretRef'
  | 'onStart'
  | 'onStartFrom'
  | 'ports'
  | 'ssh'
>;
type Env = NonNullable<GpuInstanceSpec['env']>[number];

/**
 * Returns the request of a rental by this spec, in one form for all specs with the same meaning: without the order of
 * `env` and `ports`, names of ports, the unit of `disk` and defaults. Secrets are represented by name and key: a
 * changed value is used at the next rental. A missing field adds nothing, so hashes from before that field stay equal.
 */
export function machineRequest(spec: RequestSpec): object {
  const { image, imagePullSecretRef, onStart, onStartFrom, env = [], ports = [], ssh } = spec;
  const { args, command, entrypoint } = spec;
  // The container runs the same, however the words are divided between command and args.
  const words = command ? { command: [...command, ...(args ?? [])] } : { args };
  return {
    image,
    imagePullSecret: imagePullSecretRef?.name,
    diskGB: diskGB(spec),
    onStart,
    onStartFrom: onStartFrom && secretKey(onStartFrom.secretKeyRef),
    env: Object.fromEntries(env.map((one) => [one.name, sent(one)])),
    ports: ports
      .map(({ containerPort, protocol }) => `${containerPort}/${protocol === 'UDP' ? 'udp' : 'tcp'}`)
      .toSorted(),
    ssh: ssh === true,
    ...words,
    entrypoint: entrypoint === 'Override' ? entrypoint : undefined,
  };
}

function sent({ value = '', valueFrom }: Env): object {
  return valueFrom ? { secret: secretKey(valueFrom.secretKeyRef) } : { value };
}

function secretKey({ name, key }: { readonly name: string; readonly key: string }): string {
  return `${name}/${key}`;
}

/** Cached: an object in the cache never changes, and each reconcile needs its hash. */
const hashes = new WeakMap<RequestSpec, string>();

/** Returns the hash of {@link machineRequest}, with its version. For a trimmed spec it is the hash of the whole one. */
export function specHash(spec: RequestSpec): string {
  const known = trimmedOf(spec)?.hash ?? hashes.get(spec);
  if (known !== undefined) return known;
  const hash = `${VERSION}:${canonicalSha256(machineRequest(spec)).slice(0, 16)}`;
  hashes.set(spec, hash);
  return hash;
}

/** Returns the hash to record: a missing one, or one of another version, is replaced. */
export function currentHash(recorded: string | undefined, spec: RequestSpec): string {
  return recorded?.startsWith(`${VERSION}:`) ? recorded : specHash(spec);
}

/** Facts of the marketplace about a machine, in a status. */
export type MachineFacts = NonNullable<GpuInstanceStatus['facts']>;

const RECORDED = OFFER_FIELD_ROWS.flatMap(([, row]) => (isRecorded(row) ? [row] : []));
const TEXT_FACTS = new Set(RECORDED.flatMap(({ type, fact }) => (type === 'text' ? [fact] : [])));
const MAX_FACTS = 264;
const MAX_VALUE = 256;

/**
 * Returns the facts of a machine for comparison with later requirements: those of the table, and the market's own
 * fields in `fields`. Unknown facts are left out.
 */
export function machineFacts(known: Partial<OfferFacts>, fields: readonly string[]): MachineFacts {
  const values: Readonly<Record<string, unknown>> = {
    ...Object.fromEntries(fields.map((field) => [field, valueIn(known, field)])),
    ...Object.fromEntries(RECORDED.map((row) => [row.fact, factOf(row, known)])),
  };
  return Object.entries(values)
    .flatMap(([field, value]) => {
      const text = value === undefined || value === null ? undefined : fittingText(String(value), MAX_VALUE);
      return text === undefined ? [] : [{ field, value: text }];
    })
    .slice(-MAX_FACTS);
}

/** Returns the market's own fields that the filters of a spec name. */
export function filteredFields(offers: GpuInstanceSpec['offers']): readonly string[] {
  return [
    ...new Set((offers ?? []).flatMap(({ filters = [] }) => filters.map(({ field }) => fieldName(field)))),
  ];
}

/** Returns the recorded facts by name. A text in a name such as `4090` is no number. */
function factsIn(recorded: MachineFacts): OfferFacts {
  const read = (name: string, value: string) =>
    TEXT_FACTS.has(name) || isIdFact(name) ? value : factValue(value);
  const named = recorded.map(({ field, value }) => [fieldName(field), value] as const);
  return { fields: Object.fromEntries(named.map(([name, value]) => [name, read(name, value)])) };
}

/** Reason why a machine does not match its spec. */
export type Drift =
  /** The rental would send another request. */
  | { readonly type: 'request' }
  /** The machine no longer satisfies any alternative of `offers`. */
  | { readonly type: 'offers'; readonly detail: string };

type Machine = Pick<NonNullable<GpuInstance['status']>, 'specHash' | 'facts' | 'instanceId'>;
type OfferedSpec = RequestSpec & Pick<GpuInstanceSpec, 'offers'>;

/** Facts of a machine in the list. */
type ShownMachine = Pick<OfferFacts, (typeof SHOWN_FACTS)[number]> & { readonly diskGB: number | undefined };

/**
 * Returns the differences of a machine from the rented offer as text. A fact that either side lacks is no difference.
 */
export function differencesFromRental(
  { specHash: recordedHash, facts = [] }: Machine,
  spec: RequestSpec,
  shown: ShownMachine,
): readonly string[] {
  const rented = factsIn(facts);
  const minDisk = recordedHash === specHash(spec) ? diskGB(spec) : undefined;
  const differences = OFFER_FIELD_ROWS.map(([, row]) => {
    const [has, had] = [factOf(row, { ...shown, fields: {} }), factOf(row, rented)];
    return has === undefined || had === undefined ? undefined : row.differs?.(has, had);
  });
  const isSmaller = minDisk !== undefined && shown.diskGB !== undefined && shown.diskGB < minDisk;
  return [...differences, isSmaller ? `${shown.diskGB}G of disk instead of ${minDisk}G` : undefined].filter(
    (text) => text !== undefined,
  );
}

/**
 * Returns the reason why a rented machine differs from the machine that this spec would rent; undefined if it
 * matches. Added or wider alternatives, a different order and a different price are no drift; neither are unknown
 * facts or a hash of another version. A machine in `adopt` was chosen by a person: `offers` apply to its replacement.
 */
export function driftOf(
  machine: Machine,
  spec: OfferedSpec & Pick<GpuInstanceSpec, 'adopt'>,
): Drift | undefined {
  if (currentHash(machine.specHash, spec) !== specHash(spec)) return { type: 'request' };
  if (spec.adopt !== undefined && spec.adopt.instanceId === machine.instanceId) return undefined;
  const detail = unsatisfied(machine.facts ?? [], spec);
  return detail === undefined ? undefined : { type: 'offers', detail };
}

/** Returns the missing requirements of the first alternative, if the machine satisfies none. */
function unsatisfied(recorded: MachineFacts, spec: OfferedSpec): string | undefined {
  const lacking = lackingFor(recorded, spec);
  const [first] = lacking;
  if (first === undefined || lacking.some((labels) => labels.length === 0)) return undefined;
  return `The machine satisfies no alternative of spec.offers: it is not ${first.join(', ')}.`;
}

/**
 * Returns the alternatives that a rented machine satisfies by its known facts, in any order; all of them if it
 * satisfies none. Their maximum prices apply to it.
 */
export function satisfiedOffers({ facts = [] }: Machine, spec: OfferedSpec): readonly OfferRequirements[] {
  const { offers = [] } = spec;
  const lacking = lackingFor(facts, spec);
  const satisfied = offers.filter((_, index) => lacking[index]?.length === 0);
  return satisfied.length === 0 ? offers : satisfied;
}

/** Returns the missing requirements of the machine for each alternative. */
function lackingFor(recorded: MachineFacts, spec: OfferedSpec): readonly (readonly string[])[] {
  const facts = factsIn(recorded);
  return (spec.offers ?? []).map((requirements) =>
    allRequirements(requirements, spec)
      .filter(({ passes }) => !passes(facts))
      .map(({ label }) => label),
  );
}

function allRequirements(requirements: OfferRequirements, spec: RequestSpec): readonly Requirement[] {
  return [
    ...(['machine', 'host'] as const).flatMap((kind) => requirementsOn(kind, requirements, spec)),
    ...filterRequirements(requirements),
    ...requirementsOn('contract', requirements, spec),
  ];
}
