import { createHash } from 'node:crypto';
import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import { API_VERSION, annotations, labels, OPERATOR_NAME } from '../../../api/v1alpha1/names.ts';
import { trimmedOf } from '../../../api/v1alpha1/trimmed-spec.ts';
import { formatDollars, type MicroDollars, parseDollars } from '../../../lib/money.ts';
import { controllerReference, type KubeObject } from '../../../runtime/kube/kube-object.ts';
import { spreadOffers } from './spread.ts';
import type { Wanted } from './worker.ts';

/** Raised when what is hashed changes: a hash of another version says nothing about drift. */
const VERSION = 'v1';

/** By template: a group is looked at far more often than it is written, and what is cached is never changed in place. */
const hashes = new WeakMap<object, string>();

/** The hash of what workers are made from. Key order in the manifest means nothing. */
export function templateHash({ spec: { template } }: EndpointGroup): string {
  const hash =
    trimmedOf(template)?.hash ??
    hashes.get(template) ??
    `${VERSION}:${digest(canonical(template)).slice(0, 16)}`;
  hashes.set(template, hash);
  return hash;
}

/** Whether a worker is of another template. A missing hash, or one of another version, is no drift. */
export function isOldTemplate(hash: string | undefined, current: string): boolean {
  return (hash?.startsWith(`${VERSION}:`) ?? false) && hash !== current;
}

/**
 * The name of a group's worker of this number. New workers take the lowest numbers that are free, so two processes
 * that both miss a worker make the same one: the API server takes a name once, and with it no more than there may be.
 */
export function workerName({ metadata: { name, uid } }: EndpointGroup, ordinal: number): string {
  const seed = digest(`${uid}/${ordinal}`);
  return `${name}-${BigInt(`0x${seed.slice(0, 16)}`)
    .toString(36)
    .slice(-6)
    .padStart(6, '0')}`;
}

export interface NewWorker {
  readonly name: string;
  readonly wanted: Exclude<Wanted, 'Gone'>;
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
        [annotations.wanted]: worker.wanted,
      },
      ownerReferences: [controllerReference(group as KubeObject)],
    },
    spec: {
      ...template.spec,
      offers: cappedOffers(spreadOffers(group.spec, worker.siblings), worker.maxPricePerHour),
    },
  };
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

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** JSON with sorted keys. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value).filter(([, entry]) => entry !== undefined);
  entries.sort(([left], [right]) => (left < right ? -1 : 1));
  return `{${entries.map(([key, entry]) => `${JSON.stringify(key)}:${canonical(entry)}`).join(',')}}`;
}
