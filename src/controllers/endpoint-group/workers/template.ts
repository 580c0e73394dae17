import { createHash } from 'node:crypto';
import type { EndpointGroup, EndpointGroupSpec } from '../../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import { driftOf, specHash } from '../../../api/v1alpha1/machine-drift.ts';
import { API_VERSION, annotations, labels, OPERATOR_NAME } from '../../../api/v1alpha1/names.ts';
import type { OfferRequirements } from '../../../api/v1alpha1/offer-requirements.ts';
import { trimmedOf } from '../../../api/v1alpha1/trimmed-spec.ts';
import { linkOfGroup, linkOfWorker } from '../../../api/v1alpha1/worker-link.ts';
import { canonicalJson, isJsonObject } from '../../../lib/json.ts';
import { canonicalSha256 } from '../../../lib/json-hash.ts';
import { formatDollars, highestCap, type MicroDollars, parseDollars } from '../../../lib/money.ts';
import { controllerReference, type KubeObject } from '../../../runtime/kube/kube-object.ts';
import type { DesiredRole, Worker } from './worker.ts';

/** Version of the hash input. A hash of another version is not comparable. */
const VERSION = 'v1';

/** Hashes by template. Reconciles of a group outnumber its writes, and cached objects are never mutated. */
const hashes = new WeakMap<object, string>();

/** Returns the hash of a template. It shows which workers have an older text, not whether they need another machine. */
export function templateHash({ spec: { template } }: EndpointGroup): string {
  const hash =
    trimmedOf(template)?.hash ??
    hashes.get(template) ??
    `${VERSION}:${canonicalSha256(template).slice(0, 16)}`;
  hashes.set(template, hash);
  return hash;
}

/**
 * Returns true if a worker was created from another text. A missing hash, or one of another version, counts as the
 * same.
 */
function hasOtherText(hash: string | undefined, current: string): boolean {
  return (hash?.startsWith(`${VERSION}:`) ?? false) && hash !== current;
}

/** Template of a group, for comparison with its workers. */
export interface Template {
  readonly templateHash: string;
  readonly spec: Pick<EndpointGroup['spec'], 'template' | 'gateway'>;
}

/**
 * Returns true if the worker must be replaced: its link to the gateway or its account differs, its machine satisfies
 * no alternative of the template, or the template would rent with another request. A worker without a machine is
 * compared by its spec.
 */
export function isOutdated(worker: Pick<Worker, 'templateHash' | 'object'>, current: Template): boolean {
  if (linkOfWorker(worker.object) !== linkOfGroup(current)) return true;
  return hasOtherText(worker.templateHash, current.templateHash) && needsReplacement(worker.object, current);
}

/** Returns true if the worker keeps its machine and takes the text of the template. */
export function isToUpdate(worker: Pick<Worker, 'templateHash' | 'object'>, current: Template): boolean {
  return hasOtherText(worker.templateHash, current.templateHash) && !needsReplacement(worker.object, current);
}

function needsReplacement({ spec, status }: GpuInstance, { spec: { template } }: Template): boolean {
  if (canonicalJson(spec.accountRef) !== canonicalJson(template.spec.accountRef)) return true;
  if (status?.instanceId === undefined) return specHash(spec) !== specHash(template.spec);
  const { adopt } = spec;
  return driftOf(status, adopt ? { ...template.spec, adopt } : template.spec) !== undefined;
}

/**
 * Returns the name of a group's worker with this number. New workers take the lowest free numbers. Two processes that
 * both miss a worker therefore create the same name, and the API server accepts it once.
 */
export function workerName({ metadata: { name, uid } }: EndpointGroup, ordinal: number): string {
  const seed = createHash('sha256').update(`${uid}/${ordinal}`).digest('hex');
  return `${name}-${BigInt(`0x${seed.slice(0, 16)}`)
    .toString(36)
    .slice(-6)
    .padStart(6, '0')}`;
}

/** Returns a worker with its machine and the spec of a replacement. */
export function asByTemplate(group: EndpointGroup, worker: GpuInstance): GpuInstance {
  return { ...worker, spec: { ...group.spec.template.spec, powerState: 'Running' } };
}

export interface NewWorker {
  readonly name: string;
  readonly desiredRole: Exclude<DesiredRole, 'Gone'>;
  readonly hash: string;
  /** Siblings that the new worker avoids as `spreadBy` says, while other offers match. */
  readonly siblings: readonly GpuInstance[];
  /** Price limit of every alternative; undefined if only the template limits it. */
  readonly maxPricePerHour?: MicroDollars | undefined;
}

export function workerManifest(group: EndpointGroup, worker: NewWorker): GpuInstance {
  const { template } = group.spec;
  return {
    apiVersion: API_VERSION,
    kind: 'GpuInstance',
    metadata: {
      name: worker.name,
      namespace: group.metadata.namespace,
      labels: {
        ...template.metadata?.labels,
        [labels.managedBy]: OPERATOR_NAME,
        [labels.endpointGroup]: group.metadata.name,
      },
      annotations: {
        ...template.metadata?.annotations,
        [annotations.templateHash]: worker.hash,
        [annotations.desiredRole]: worker.desiredRole,
        ...(linkOfGroup(group) === 'TLS' && { [annotations.link]: 'TLS' }),
      },
      ownerReferences: [controllerReference(group as KubeObject)],
    },
    spec: {
      ...template.spec,
      offers: cappedOffers(spreadOffers(group.spec, worker.siblings), worker.maxPricePerHour),
    },
  };
}

/**
 * Returns a merge patch that gives the worker the text of the template, valid only for the resource version of
 * `worker`. The worker keeps its power state and what it adopts, and its price limit if the template has none.
 */
export function updatePatch(
  group: EndpointGroup,
  worker: GpuInstance,
  siblings: readonly GpuInstance[],
): object {
  const { metadata, spec } = group.spec.template;
  const others = siblings.filter((sibling) => sibling.metadata.uid !== worker.metadata.uid);
  const kept = { powerState: worker.spec.powerState, ...(worker.spec.adopt && { adopt: worker.spec.adopt }) };
  const limit = highestCap((spec.offers ?? []).map(({ maxPricePerHour }) => maxPricePerHour));
  const own = highestCap((worker.spec.offers ?? []).map(({ maxPricePerHour }) => maxPricePerHour));
  const withOffers = (offers: Offers) => ({
    ...spec,
    ...kept,
    ...(offers && { offers: cappedOffers(offers, limit === undefined ? own : undefined) }),
  });
  const apart = withOffers(spreadOffers(group.spec, others));
  // Alternatives away from siblings must not rule out the machine that the worker has.
  const desired = driftOf(worker.status ?? {}, apart) ? withOffers(spec.offers) : apart;
  return {
    metadata: {
      uid: worker.metadata.uid,
      resourceVersion: worker.metadata.resourceVersion,
      labels: {
        ...metadata?.labels,
        [labels.managedBy]: OPERATOR_NAME,
        [labels.endpointGroup]: group.metadata.name,
      },
      annotations: { ...metadata?.annotations, [annotations.templateHash]: templateHash(group) },
    },
    spec: mergePatch(worker.spec, desired),
  };
}

/** Returns the merge patch (RFC 7386) from one value to another. */
function mergePatch(before: unknown, after: unknown): unknown {
  if (!isJsonObject(before) || !isJsonObject(after)) return after;
  const gone = Object.keys(before).filter((key) => after[key] === undefined);
  const changed = Object.entries(after).filter(
    ([key, value]) => value !== undefined && canonicalJson(value) !== canonicalJson(before[key]),
  );
  return Object.fromEntries([
    ...gone.map((key) => [key, null] as const),
    ...changed.map(([key, value]) => [key, mergePatch(before[key], value)] as const),
  ]);
}

type Offers = GpuInstance['spec']['offers'];

/**
 * Returns the offers with this price as the limit of each. It removes offers with a higher bid, which the API server
 * rejects, unless all have one.
 */
function cappedOffers(offers: Offers, most: MicroDollars | undefined): Offers {
  if (!offers || most === undefined) return offers;
  const possible = offers.filter(({ bid }) => (parseDollars(bid) ?? 0) <= most);
  return (possible.length > 0 ? possible : offers).map((offer) => ({
    ...offer,
    maxPricePerHour: formatDollars(Math.min(parseDollars(offer.maxPricePerHour) ?? most, most)),
  }));
}

/** Maximum length of `spec.offers` in the CRD of GpuInstance. */
const MAX_ALTERNATIVES = 8;
const MAX_VALUES = 64;
const MAX_FILTERS = 32;

/**
 * Returns the offers of a worker that is spread from its siblings: first each one away from them, then each one
 * unchanged. The worker shares only if nothing else matches.
 */
export function spreadOffers(
  { spreadBy, template }: Pick<EndpointGroupSpec, 'spreadBy' | 'template'>,
  siblings: readonly GpuInstance[],
): Offers {
  const { offers } = template.spec;
  if (!offers || siblings.length === 0) return offers;
  switch (spreadBy) {
    case 'None':
      return offers;
    case 'Machine':
      return apartFrom(offers, 'machineId', idsOf(siblings, 'machineId'));
    case 'Host':
      return apartFrom(offers, 'hostId', idsOf(siblings, 'hostId'));
    case 'Region':
      return inLeastUsedRegion(offers, siblings);
  }
}

function idsOf(siblings: readonly GpuInstance[], field: 'machineId' | 'hostId'): readonly string[] {
  return [...new Set(siblings.flatMap(({ status }) => status?.[field] ?? []))];
}

function apartFrom(offers: NonNullable<Offers>, field: string, values: readonly string[]): Offers {
  if (values.length === 0) return offers;
  const apart = { field, operator: 'NotIn' as const, values: values.slice(0, MAX_VALUES) };
  const away = offers.map(
    (offer): OfferRequirements => ({
      ...offer,
      filters: [apart, ...(offer.filters ?? [])].slice(0, MAX_FILTERS),
    }),
  );
  return [...away, ...offers].slice(0, MAX_ALTERNATIVES);
}

/**
 * Returns each offer restricted to its least used region, then the offers unchanged. A sibling counts for the region
 * of its first offer, if that names one region.
 */
function inLeastUsedRegion(offers: NonNullable<Offers>, siblings: readonly GpuInstance[]): Offers {
  const uses = new Map<string, number>();
  for (const { spec } of siblings) {
    const regions = spec.offers?.[0]?.regions ?? [];
    const [region] = regions;
    if (region !== undefined && regions.length === 1) uses.set(region, (uses.get(region) ?? 0) + 1);
  }
  const away = offers.flatMap((offer): OfferRequirements[] => {
    const [least] = [...(offer.regions ?? [])].sort((a, b) => (uses.get(a) ?? 0) - (uses.get(b) ?? 0));
    return least === undefined ? [] : [{ ...offer, regions: [least] }];
  });
  return [...away, ...offers].slice(0, MAX_ALTERNATIVES);
}
