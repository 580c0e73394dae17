import { isCollection, parseDocument } from 'yaml';
import { annotationMeanings, annotations } from '../../api/v1alpha1/names.ts';
import { isJsonObject, ownValue } from '../../lib/json.ts';
import type { KubeObject } from '../../runtime/kube/kube-object.ts';
import type { FeedObject } from '../protocol.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Fields of the metadata that views read. */
const METADATA = [
  ...['name', 'namespace', 'uid', 'generation', 'resourceVersion'],
  ...['creationTimestamp', 'deletionTimestamp', 'labels'],
];

/** Annotations that views read: those of people and the roles of workers. */
const ANNOTATIONS: readonly string[] = [
  ...[annotations.hold, annotations.replaceAt, annotations.cancelAt, annotations.idleExtendUntil],
  ...[annotations.desiredRole, annotations.drainSince, annotations.wakeAt],
];

/** Fields of the spec of a machine that views read: nothing that its container gets. */
const MACHINE_SPEC = [
  ...['accountRef', 'offers', 'image', 'powerState', 'paused', 'ssh', 'adopt', 'completion', 'lease', 'idle'],
  ...['replacement', 'timeouts', 'maxLifetime', 'maxTotalCost', 'deletionPolicy', 'updateStrategy'],
];

/** Fields of a status that no view reads, or that prove or seal something. */
const UNSHOWN_STATUS: ReadonlySet<string> = new Set([
  ...['claim', 'sealedKey', 'specHash', 'facts', 'record', 'templateHash'],
]);

/** Fields of the spec of an account or a group that no view reads. */
const UNSHOWN_SPEC: ReadonlySet<string> = new Set(['apiKeySecretRef', 'template']);

/** Returns the object with the fields that views read. It has no environment, script, argument or key. */
export function reducedObject(object: KubeObject): FeedObject {
  const { apiVersion, kind, metadata, spec, status } = object as KubeObject & {
    spec?: unknown;
    status?: unknown;
  };
  const own = picked((metadata.annotations ?? {}) as Fields, ANNOTATIONS);
  const reduced = {
    ...{ apiVersion, kind },
    metadata: { ...picked(metadata as unknown as Fields, METADATA), annotations: own },
    spec: kind === 'GpuInstance' ? machineSpec(spec) : otherSpec(spec),
    ...(isJsonObject(status) && { status: without(status, UNSHOWN_STATUS) }),
  };
  return reduced as unknown as FeedObject;
}

function machineSpec(spec: unknown): Fields {
  return isJsonObject(spec) ? picked(spec, MACHINE_SPEC) : {};
}

function otherSpec(spec: unknown): Fields {
  if (!isJsonObject(spec)) return {};
  const { template } = spec;
  const shown = without(spec, UNSHOWN_SPEC);
  return isJsonObject(template) ? { ...shown, template: { spec: machineSpec(template['spec']) } } : shown;
}

function picked(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = ownValue(fields, name);
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}

function without(fields: Fields, names: ReadonlySet<string>): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.has(name)));
}

const HIDDEN = '(not shown)';

/** Fields of a machine's spec that may contain a secret. */
const CONTAINER = ['onStart', 'command', 'args', 'entrypoint'];

/**
 * Returns an object for its manifest: as stored, without managed fields, the last applied copy and the operator's record.
 * The values that the container and probes get, and annotations that may be a copy of a manifest, are hidden.
 */
export function manifestOf(object: unknown): Fields {
  if (!isJsonObject(object)) return {};
  const { metadata, spec, status } = object;
  return {
    ...object,
    ...(isJsonObject(metadata) && { metadata: manifestMetadata(metadata) }),
    ...(isJsonObject(spec) && { spec: manifestSpec(spec) }),
    ...(isJsonObject(status) && { status: without(status, UNSHOWN_STATUS) }),
  };
}

const UNSHOWN_ANNOTATIONS: ReadonlySet<string> = new Set([
  ...['kubectl.kubernetes.io/last-applied-configuration', annotations.rentalIntent],
]);

function manifestMetadata({ managedFields: _dropped, ...metadata }: Fields): Fields {
  const { annotations: all } = metadata;
  if (!isJsonObject(all)) return metadata;
  const shown = Object.entries(without(all, UNSHOWN_ANNOTATIONS)).map(
    ([name, value]) => [name, mayBeManifest(name, value) ? HIDDEN : value] as const,
  );
  return { ...metadata, annotations: Object.fromEntries(shown) };
}

const MAX_ANNOTATION_BYTES = 256;

/** Returns true if another tool may have copied a manifest with its values into this annotation. */
function mayBeManifest(name: string, value: unknown): boolean {
  if (Object.hasOwn(annotationMeanings, name)) return false;
  if (typeof value !== 'string' || Buffer.byteLength(value) > MAX_ANNOTATION_BYTES) return true;
  const { contents, errors } = parseDocument(value, { logLevel: 'silent' });
  return errors.length > 0 || isCollection(contents);
}

function manifestSpec(spec: Fields): Fields {
  const { env, template, readinessProbe } = spec;
  const hidden = CONTAINER.filter((name) => ownValue(spec, name) !== undefined).map((name) => [name, HIDDEN]);
  return {
    ...spec,
    ...Object.fromEntries(hidden),
    ...(Array.isArray(env) && { env: env.map(hiddenValue) }),
    ...(isJsonObject(readinessProbe) && { readinessProbe: manifestProbe(readinessProbe) }),
    ...(isJsonObject(template) && { template: manifestTemplate(template) }),
  };
}

function manifestTemplate(template: Fields): Fields {
  const { metadata, spec } = template;
  return {
    ...template,
    ...(isJsonObject(metadata) && { metadata: manifestMetadata(metadata) }),
    ...(isJsonObject(spec) && { spec: manifestSpec(spec) }),
  };
}

function manifestProbe(probe: Fields): Fields {
  const { httpGet } = probe;
  if (!isJsonObject(httpGet)) return probe;
  const { httpHeaders } = httpGet;
  if (!Array.isArray(httpHeaders)) return probe;
  return { ...probe, httpGet: { ...httpGet, httpHeaders: httpHeaders.map(hiddenValue) } };
}

/** Hides the value of a variable or header. */
function hiddenValue(named: unknown): unknown {
  return isJsonObject(named) && 'value' in named ? { ...named, value: HIDDEN } : named;
}
