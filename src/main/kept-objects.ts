import { createHash } from 'node:crypto';
import type { EndpointGroup } from '../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance, GpuInstanceSpec } from '../api/v1alpha1/gpu-instance.ts';
import { specHash } from '../api/v1alpha1/machine-drift.ts';
import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import { annotations, GROUP, labels as labelNames } from '../api/v1alpha1/names.ts';
import { MAX_OFFER_BYTES, markTrimmed } from '../api/v1alpha1/trimmed-spec.ts';
import { templateHash } from '../controllers/endpoint-group/workers/template.ts';
import type { ObjectMeta } from '../lib/object-meta.ts';

type Texts = Readonly<Record<string, string>>;

/** A spec whose environment and script are longer is copied without them; most specs are copied as they are. */
const MAX_INPUT_LENGTH = 16_384;
const MAX_LABELS_LENGTH = 4_096;
/** Longer than anything that is read of an annotation of ours. */
const MAX_ANNOTATION_LENGTH = 1_024;
/** A purchase may list the ids of all machines of a login; a longer intent does not verify. */
const MAX_INTENT_LENGTH = 65_536;

/** An account as caches keep it. */
export function keptAccount(object: MarketplaceAccount): MarketplaceAccount {
  return keptObject(object);
}

/** With the annotations of this operator only, and without the labels of others if those are many. */
function keptObject<T extends { readonly metadata: ObjectMeta }>(object: T): T {
  return { ...object, metadata: keptMeta(object.metadata) };
}

/**
 * A GpuInstance as caches keep it. What only a rental sends (values of the environment, the script) is left out if it is
 * long, with the hash of the whole spec in its place: {@link trimmedOf} says so, and a rental reads the whole object.
 */
export function keptInstance(object: GpuInstance): GpuInstance {
  return { ...keptObject(object), spec: keptSpec(object.spec, () => specHash(object.spec)) };
}

/** The same for a group and its template; a new worker is made from the whole object. */
export function keptGroup(object: EndpointGroup): EndpointGroup {
  const { template } = object.spec;
  const hash = () => templateHash(object);
  const spec = keptSpec(template.spec, () => specHash(template.spec));
  const metaLength = lengthOf(template.metadata?.labels) + lengthOf(template.metadata?.annotations);
  if (spec === template.spec && metaLength <= MAX_INPUT_LENGTH) return keptObject(object);
  const { metadata: _whole, ...rest } = template;
  const kept = markTrimmed({ ...rest, spec }, { hash: hash() });
  return { ...keptObject(object), spec: { ...object.spec, template: kept } };
}

function keptSpec<T extends GpuInstanceSpec>(spec: T, hash: () => string): T {
  const offerBytes = offerBytesOf(spec);
  const isTooLarge = offerBytes > MAX_OFFER_BYTES;
  if (!isTooLarge && inputLengthOf(spec) <= MAX_INPUT_LENGTH) return spec;
  const { env, onStart, offers } = spec;
  const kept = {
    ...spec,
    ...(env && {
      env: env.map((each) => (each.value === undefined ? each : { ...each, value: digest(each.value) })),
    }),
    ...(onStart !== undefined && { onStart: digest(onStart) }),
    ...(isTooLarge && offers && { offers: offers.map(({ filters: _filters, ...offer }) => offer) }),
  };
  return markTrimmed(kept, { hash: hash(), ...(isTooLarge && { offerBytes }) });
}

function inputLengthOf({ env = [], onStart = '' }: GpuInstanceSpec): number {
  return env.reduce((sum, { name, value = '' }) => sum + name.length + value.length, onStart.length);
}

/** Filters are what may be long. */
function offerBytesOf({ offers = [] }: GpuInstanceSpec): number {
  return offers.some(({ filters }) => (filters?.length ?? 0) > 0) ? JSON.stringify(offers).length : 0;
}

function keptMeta<M extends ObjectMeta>(metadata: M): M {
  const { annotations: given, labels } = metadata;
  return {
    ...metadata,
    ...(given && { annotations: ownAnnotations(given) }),
    ...(labels && lengthOf(labels) > MAX_LABELS_LENGTH && { labels: own(labels) }),
  };
}

function ownAnnotations(given: Texts): Texts {
  return Object.fromEntries(
    Object.entries(own(given)).map(([name, value]) => [
      name,
      value.slice(0, name === annotations.rentalIntent ? MAX_INTENT_LENGTH : MAX_ANNOTATION_LENGTH),
    ]),
  );
}

function own(texts: Texts): Texts {
  return Object.fromEntries(
    Object.entries(texts).filter(([name]) => name.startsWith(`${GROUP}/`) || name === labelNames.managedBy),
  );
}

function lengthOf(texts: Texts | undefined): number {
  return Object.entries(texts ?? {}).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
}

function digest(text: string): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}
