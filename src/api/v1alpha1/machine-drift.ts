import { canonicalSha256 } from '../../lib/json.ts';
import { wholeGigabytes } from '../../lib/quantity.ts';
import { fittingText } from '../../lib/text.ts';
import type { GpuInstance, GpuInstanceSpec, GpuInstanceStatus } from './gpu-instance.ts';
import type { OfferRequirements } from './offer-requirements.ts';
import {
  factValue,
  filterRequirements,
  hostRequirements,
  machineRequirements,
  type OfferFacts,
  type Requirement,
} from './requirements.ts';
import { trimmedOf } from './trimmed-spec.ts';

/** Raised when {@link machineRequest} changes: a hash of another version says nothing about drift. */
const VERSION = 'v2';

/** The marketplace's least disk is 8 GB; the CRD refuses less. */
const DEFAULT_DISK_GB = 10;

/** Disk to rent, in whole decimal GB, rounded up. */
export function diskGB({ disk }: Pick<GpuInstanceSpec, 'disk'>): number {
  return wholeGigabytes(disk) ?? DEFAULT_DISK_GB;
}

type RequestSpec = Pick<
  GpuInstanceSpec,
  'disk' | 'env' | 'image' | 'imagePullSecretRef' | 'onStart' | 'onStartFrom' | 'ports' | 'ssh'
>;
type Env = NonNullable<GpuInstanceSpec['env']>[number];

/**
 * What a rental by this spec sends, in one form for all texts that mean the same: the order of `env` and `ports`, the
 * names of ports, the unit of `disk` and whatever a default adds are not in it. Secrets stand for themselves by name and
 * key: a changed value is used at the next rental.
 */
export function machineRequest(spec: RequestSpec): object {
  const { image, imagePullSecretRef, onStart, onStartFrom, env = [], ports = [], ssh } = spec;
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
  };
}

function sent({ value = '', valueFrom }: Env): object {
  return valueFrom ? { secret: secretKey(valueFrom.secretKeyRef) } : { value };
}

function secretKey({ name, key }: { readonly name: string; readonly key: string }): string {
  return `${name}/${key}`;
}

/** An object as the cache holds it is never changed, and asked for at every pass. */
const hashes = new WeakMap<RequestSpec, string>();

/** The hash of {@link machineRequest}, with its version. Of a trimmed spec it is the hash that the whole one had. */
export function specHash(spec: RequestSpec): string {
  const known = trimmedOf(spec)?.hash ?? hashes.get(spec);
  if (known !== undefined) return known;
  const hash = `${VERSION}:${canonicalSha256(machineRequest(spec)).slice(0, 16)}`;
  hashes.set(spec, hash);
  return hash;
}

/** The hash to keep on record: that of another version, or none, says nothing and is written anew. */
export function currentHash(recorded: string | undefined, spec: RequestSpec): string {
  return recorded?.startsWith(`${VERSION}:`) ? recorded : specHash(spec);
}

/** What the marketplace said of a machine, as a status keeps it. */
export type MachineFacts = NonNullable<GpuInstanceStatus['facts']>;

type Pricing = OfferRequirements['pricing'];

/** Facts beside those of an offer. */
interface RentedBy {
  readonly pricing: Pricing | undefined;
  /** Columns that requirements name. */
  readonly fields: readonly string[];
}

const MAX_FACTS = 264;
const MAX_VALUE = 256;

/** The facts of a machine that requirements may be compared with later. What is not known is left out. */
export function machineFacts(known: Partial<OfferFacts>, { pricing, fields }: RentedBy): MachineFacts {
  const values: Readonly<Record<string, unknown>> = {
    ...Object.fromEntries(fields.map((field) => [field, known.fields?.[field]])),
    gpu_name: known.gpuName,
    num_gpus: known.gpuCount,
    gpu_ram: known.gpuMemoryMB,
    direct_port_count: known.directPorts,
    reliability: known.reliability,
    verified: known.verified,
    geolocation: known.region,
    pricing,
  };
  return Object.entries(values)
    .flatMap(([field, value]) => {
      const text = value === undefined || value === null ? undefined : fittingText(String(value), MAX_VALUE);
      return text === undefined ? [] : [{ field, value: text }];
    })
    .slice(-MAX_FACTS);
}

/** Columns that the filters of a spec name. */
export function filteredFields(offers: GpuInstanceSpec['offers']): readonly string[] {
  return [...new Set((offers ?? []).flatMap(({ filters = [] }) => filters.map(({ field }) => field)))];
}

function factsIn(recorded: MachineFacts): OfferFacts & { readonly pricing: string | undefined } {
  const texts = new Map(recorded.map(({ field, value }) => [field, value]));
  const number = (field: string) => {
    const value = Number(texts.get(field) ?? Number.NaN);
    return Number.isFinite(value) ? value : undefined;
  };
  return {
    gpuName: texts.get('gpu_name'),
    gpuCount: number('num_gpus'),
    gpuMemoryMB: number('gpu_ram'),
    directPorts: number('direct_port_count'),
    reliability: number('reliability'),
    verified: texts.has('verified') ? texts.get('verified') === 'true' : undefined,
    region: texts.get('geolocation'),
    pricing: texts.get('pricing'),
    fields: Object.fromEntries(recorded.map(({ field, value }) => [field, factValue(value)])),
  };
}

/** Why a machine is not what its spec asks for. */
export type Drift =
  /** The rental would send something else. */
  | { readonly type: 'request' }
  /** It satisfies no alternative of `offers` any more. */
  | { readonly type: 'offers'; readonly detail: string };

type Machine = Pick<NonNullable<GpuInstance['status']>, 'specHash' | 'facts' | 'instanceId'>;
type OfferedSpec = RequestSpec & Pick<GpuInstanceSpec, 'offers'>;

/**
 * Whether a rented machine is another than this spec would rent; undefined where it is not. A further or wider
 * alternative, another order of them and another price make no machine wrong; neither does what is not known of it, nor a
 * hash of another version. A machine that `adopt` names was chosen by a person: `offers` say what replaces it later.
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

/** What the machine lacks for the first alternative, where it satisfies none. */
function unsatisfied(recorded: MachineFacts, spec: OfferedSpec): string | undefined {
  const lacking = lackingFor(recorded, spec);
  const [first] = lacking;
  if (first === undefined || lacking.some((labels) => labels.length === 0)) return undefined;
  return `The machine satisfies no alternative of spec.offers: it is not ${first.join(', ')}.`;
}

/**
 * The alternatives that a rented machine satisfies, as far as is known of it, whatever their order is by now; all of them
 * if it satisfies none. Their maximum prices are those that it may cost.
 */
export function satisfiedOffers({ facts = [] }: Machine, spec: OfferedSpec): readonly OfferRequirements[] {
  const { offers = [] } = spec;
  const lacking = lackingFor(facts, spec);
  const satisfied = offers.filter((_, index) => lacking[index]?.length === 0);
  return satisfied.length === 0 ? offers : satisfied;
}

/** What the machine lacks for each alternative. */
function lackingFor(recorded: MachineFacts, spec: OfferedSpec): readonly (readonly string[])[] {
  const facts = factsIn(recorded);
  return (spec.offers ?? []).map((requirements) =>
    requirementsOn(requirements, spec)
      .filter(({ passes }) => !passes(facts))
      .map(({ label }) => label)
      .concat(isPricedAs(facts.pricing, requirements) ? [] : [`pricing ${requirements.pricing}`]),
  );
}

function requirementsOn(requirements: OfferRequirements, spec: RequestSpec): readonly Requirement[] {
  return [
    ...machineRequirements(requirements, spec),
    ...hostRequirements(requirements),
    ...filterRequirements(requirements),
  ];
}

function isPricedAs(pricing: string | undefined, requirements: OfferRequirements): boolean {
  return pricing === undefined || pricing === requirements.pricing;
}
