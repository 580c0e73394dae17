import { createHash } from 'node:crypto';
import type { EndpointGroup, EndpointGroupSpec } from '../../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import { driftOf, specHash } from '../../../api/v1alpha1/machine-drift.ts';
import { API_VERSION, annotations, labels, OPERATOR_NAME } from '../../../api/v1alpha1/names.ts';
import type { OfferRequirements } from '../../../api/v1alpha1/offer-requirements.ts';
import { trimmedOf } from '../../../api/v1alpha1/trimmed-spec.ts';
import { linkOfGroup, linkOfWorker } from '../../../api/v1alpha1/worker-link.ts';
import { canonicalJson, canonicalSha256, isJsonObject } from '../../../lib/json.ts';
import { formatDollars, highestCap, type MicroDollars, parseDollars } from '../../../lib/money.ts';
import { controllerReference, type KubeObject } from '../../../runtime/kube/kube-object.ts';
import type { DesiredRole, Worker } from './worker.ts';

/** Raised when what is hashed changes: a hash of another version says nothing. */
const VERSION = 'v1';

/** By template: a group is looked at far more often than it is written, and what is cached is never changed in place. */
const hashes = new WeakMap<object, string>();

/** The hash of the text of a template: it tells which workers have another text, not whether they need another machine. */
export function templateHash({ spec: { template } }: EndpointGroup): string {
  const hash =
    trimmedOf(template)?.hash ??
    hashes.get(template) ??
    `${VERSION}:${canonicalSha256(template).slice(0, 16)}`;
  hashes.set(template, hash);
  return hash;
}

/** Whether a worker has another text than the template. A missing hash, or one of another version, says nothing. */
function hasOtherText(hash: string | undefined, current: string): boolean {
  return (hash?.startsWith(`${VERSION}:`) ?? false) && hash !== current;
}

/** What a worker is compared with. */
export interface Template {
  readonly templateHash: string;
  readonly spec: Pick<EndpointGroup['spec'], 'template' | 'gateway'>;
}

/**
 * Whether the worker must be replaced: it is reached by another link, by the template its machine would be rented by
 * another request, it satisfies no alternative of the template, or it belongs to another account. A worker without a
 * machine is compared by its spec.
 */
export function isOutdated(worker: Pick<Worker, 'templateHash' | 'object'>, current: Template): boolean {
  if (linkOfWorker(worker.object) !== linkOfGroup(current)) return true;
  return hasOtherText(worker.templateHash, current.templateHash) && needsReplacement(worker.object, current);
}

/** Whether the worker keeps its machine and takes over the text of the template. */
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
 * The name of a group's worker of this number. New workers take the lowest numbers that are free, so two processes
 * that both miss a worker make the same one: the API server takes a name once, and with it no more than there may be.
 */
export function workerName({ metadata: { name, uid } }: EndpointGroup, ordinal: number): string {
  const seed = createHash('sha256').update(`${uid}/${ordinal}`).digest('hex');
  return `${name}-${BigInt(`0x${seed.slice(0, 16)}`)
    .toString(36)
    .slice(-6)
    .padStart(6, '0')}`;
}

/** The worker as the template would have it: with its machine, and with the spec of one that would follow. */
export function asByTemplate(group: EndpointGroup, worker: GpuInstance): GpuInstance {
  return { ...worker, spec: { ...group.spec.template.spec, powerState: 'Running' } };
}

export interface NewWorker {
  readonly name: string;
  readonly desiredRole: Exclude<DesiredRole, 'Gone'>;
  readonly hash: string;
  /** Workers of the group that it should not share with, while other offers match. */
  readonly siblings: readonly GpuInstance[];
  /** No alternative may cost more; undefined if the template alone says what each may cost. */
  readonly maxPricePerHour?: MicroDollars | undefined;
}

/** The GpuInstance of a new worker. */
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
 * A merge patch that gives the worker the template's text. It is valid only for the resource version of `worker`. The
 * worker keeps its power state, what it adopts, and a price limit where the template names none.
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

/** The merge patch (RFC 7386) from one value to another. */
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
 * The alternatives with that price as the most of each. An alternative whose bid is above it could not be rented, and
 * is left out beside others.
 */
function cappedOffers(offers: Offers, most: MicroDollars | undefined): Offers {
  if (!offers || most === undefined) return offers;
  const possible = offers.filter(({ bid }) => (parseDollars(bid) ?? 0) <= most);
  return (possible.length > 0 ? possible : offers).map((offer) => ({
    ...offer,
    maxPricePerHour: formatDollars(Math.min(parseDollars(offer.maxPricePerHour) ?? most, most)),
  }));
}

/** The definition of GpuInstance takes no more alternatives. */
const MAX_ALTERNATIVES = 8;
const MAX_VALUES = 64;
const MAX_FILTERS = 32;

/**
 * Alternatives for a worker that is to stand apart from its siblings: first each one away from them, then each one as
 * it is, so that it shares only when nothing else matches.
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

/** Only regions that the template names can be told apart: a worker's first alternative says which it was meant for. */
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
