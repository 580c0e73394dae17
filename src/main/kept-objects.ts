import type { EndpointGroup } from '../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance, GpuInstanceSpec } from '../api/v1alpha1/gpu-instance.ts';
import { specHash } from '../api/v1alpha1/machine-drift.ts';
import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import {
  ACCOUNT_FINALIZER,
  annotations,
  GROUP_FINALIZER,
  labels as labelNames,
  MACHINE_FINALIZER,
} from '../api/v1alpha1/names.ts';
import type { SpendBudget } from '../api/v1alpha1/spend-budget.ts';
import { MAX_OFFER_BYTES, markTrimmed } from '../api/v1alpha1/trimmed-spec.ts';
import { templateHash } from '../controllers/endpoint-group/workers/template.ts';
import type { ObjectMeta } from '../lib/object-meta.ts';
import { markShortened } from '../runtime/kube/whole-object.ts';

type Texts = Readonly<Record<string, string>>;

/** Names of this operator's labels and annotations. Anyone may write others with the same prefix. */
const OWN_NAMES: ReadonlySet<string> = new Set([...Object.values(annotations), ...Object.values(labelNames)]);

/** A longer environment or script is not copied with the spec; most specs are copied whole. */
const MAX_INPUT_LENGTH = 16_384;
const MAX_LABELS_LENGTH = 4_096;
/** Maximum length of finalizers and owner references together. */
const MAX_LISTS_LENGTH = 4_096;
const READ_FINALIZERS: ReadonlySet<string> = new Set([
  ...[MACHINE_FINALIZER, ACCOUNT_FINALIZER, GROUP_FINALIZER],
  ...['orphan', 'foregroundDeletion'],
]);
/** Maximum length of an annotation: longer than anything that the operator reads. */
const MAX_ANNOTATION_LENGTH = 1_024;
/** An intent may list the ids of all machines of a login; a longer one fails verification. */
const MAX_INTENT_LENGTH = 65_536;

/**
 * Returns the account in the form that caches keep. A namespace selector whose labels no namespace could carry selects
 * none.
 */
export function keptAccount(object: MarketplaceAccount): MarketplaceAccount {
  const { spec } = object;
  const { matchLabels } = spec.allowedNamespaces?.selector ?? {};
  if (lengthOf(matchLabels) <= MAX_INPUT_LENGTH) return keptObject(object);
  const allowedNamespaces = { ...spec.allowedNamespaces, selector: NO_NAMESPACE };
  return { ...keptObject(object), spec: { ...spec, allowedNamespaces } };
}

/** No label has an empty name. */
const NO_NAMESPACE = { matchLabels: { '': '' } };

/** Returns the budget in the form that caches keep. */
export function keptBudget(object: SpendBudget): SpendBudget {
  return keptObject(object);
}

/**
 * Returns an object with the annotations of this operator only and without `managedFields`. Long lists of labels,
 * finalizers and owner references are reduced to the entries in use.
 */
function keptObject<T extends { readonly metadata: ObjectMeta }>(object: T): T {
  return { ...object, metadata: keptMeta(object.metadata) };
}

/**
 * Returns the GpuInstance in the form that caches keep. Long fields that only a rental sends (environment, script,
 * words) are replaced by the hash of the whole spec: {@link trimmedOf} reports it, and a rental reads the whole object.
 */
export function keptInstance(object: GpuInstance): GpuInstance {
  return { ...keptObject(object), spec: keptSpec(object.spec, () => specHash(object.spec)) };
}

/** Returns a group and its template in the form that caches keep; a new worker is created from the whole object. */
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
  const { env: _env, onStart: _onStart, command: _command, args: _args, offers, ...kept } = spec;
  const shown = isTooLarge ? offers?.map(({ filters: _filters, ...offer }) => offer) : offers;
  const short = { ...kept, ...(shown && { offers: shown }) } as T;
  return markTrimmed(short, { hash: hash(), ...(isTooLarge && { offerBytes }) });
}

function inputLengthOf({ env = [], onStart = '', command = [], args = [] }: GpuInstanceSpec): number {
  const words = [...command, ...args].reduce((sum, { length }) => sum + length, onStart.length);
  return env.reduce((sum, { name, value = '', valueFrom }) => {
    const { secretKeyRef: from } = valueFrom ?? {};
    return sum + name.length + value.length + (from ? from.name.length + from.key.length : 0);
  }, words);
}

/** Keeps the query in the form of the cache: its filters may be long. */
function offerBytesOf({ offers = [] }: GpuInstanceSpec): number {
  return offers.some(({ filters }) => (filters?.length ?? 0) > 0) ? JSON.stringify(offers).length : 0;
}

function keptMeta<M extends ObjectMeta>(metadata: M): M {
  const { managedFields: _dropped, ...rest } = metadata as M & { readonly managedFields?: unknown };
  const { annotations: given, labels, finalizers, ownerReferences } = metadata;
  const kept = {
    ...(rest as unknown as M),
    ...(given && { annotations: own(given) }),
    ...(labels && lengthOf(labels) > MAX_LABELS_LENGTH && { labels: own(labels) }),
  };
  const isLong = JSON.stringify([finalizers, ownerReferences]).length > MAX_LISTS_LENGTH;
  if (!isLong) return kept;
  return markShortened({
    ...kept,
    ...(finalizers && { finalizers: finalizers.filter((name) => READ_FINALIZERS.has(name)) }),
    ...(ownerReferences && { ownerReferences: ownerReferences.filter(({ controller }) => controller) }),
  });
}

function own(texts: Texts): Texts {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(texts)) {
    if (!OWN_NAMES.has(name)) continue;
    const most = name === annotations.rentalIntent ? MAX_INTENT_LENGTH : MAX_ANNOTATION_LENGTH;
    kept[name] = value.length > most ? copyOf(value.slice(0, most)) : value;
  }
  return kept;
}

/** Returns a copy of the text: a slice of a string keeps the whole string in memory. */
function copyOf(part: string): string {
  return Buffer.from(part, 'utf16le').toString('utf16le');
}

function lengthOf(texts: Texts | undefined): number {
  return Object.entries(texts ?? {}).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
}
