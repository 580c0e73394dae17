import { isObject, type Json, type JsonObject, listAt, objectAt, objectsAt, textAt } from './json.ts';

/** A kind as this server serves it. */
export interface Kind {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** With a status subresource the main resource ignores `status`, and the subresource all else. */
  readonly hasStatus: boolean;
  /** A structural schema; without one everything is kept as it came. */
  readonly schema: JsonObject | undefined;
  /** True if `metadata.generation` is maintained. */
  readonly countsGenerations: boolean;
  /** Paths that a field selector may name. */
  readonly selectableFields: readonly string[];
  /** True if a PUT may omit the resource version. */
  readonly allowsUnconditional: boolean;
  /** True if a PUT creates a missing object. */
  readonly createsOnUpdate: boolean;
}

const EVERY_KIND_SELECTS: readonly string[] = ['metadata.name', 'metadata.namespace'];

const builtIn = (
  group: string,
  version: string,
  plural: string,
  kind: string,
  more?: Partial<Kind>,
): Kind => ({
  group,
  version,
  plural,
  kind,
  namespaced: true,
  hasStatus: false,
  schema: undefined,
  countsGenerations: false,
  selectableFields: EVERY_KIND_SELECTS,
  allowsUnconditional: true,
  createsOnUpdate: false,
  ...more,
});

/** Built-in kinds that the operator uses, and those of Pods that request machines. */
export const BUILT_IN_KINDS: readonly Kind[] = [
  builtIn('', 'v1', 'namespaces', 'Namespace', { namespaced: false, hasStatus: true }),
  builtIn('', 'v1', 'secrets', 'Secret'),
  builtIn('', 'v1', 'configmaps', 'ConfigMap'),
  builtIn('', 'v1', 'pods', 'Pod'),
  builtIn('batch', 'v1', 'jobs', 'Job'),
  builtIn('', 'v1', 'services', 'Service', { hasStatus: true }),
  builtIn('discovery.k8s.io', 'v1', 'endpointslices', 'EndpointSlice', { countsGenerations: true }),
  builtIn('events.k8s.io', 'v1', 'events', 'Event', {
    selectableFields: [
      ...EVERY_KIND_SELECTS,
      'regarding.kind',
      'regarding.name',
      'regarding.uid',
      'reason',
      'type',
    ],
  }),
  builtIn('coordination.k8s.io', 'v1', 'leases', 'Lease', {
    allowsUnconditional: false,
    createsOnUpdate: true,
  }),
];

/** Reads a CustomResourceDefinition into the kinds of its served versions. */
export function kindsOfDefinition(definition: JsonObject): readonly Kind[] {
  const spec = objectAt(definition, 'spec');
  const names = objectAt(spec, 'names');
  return objectsAt(spec, 'versions').map((version) => ({
    group: textAt(spec, 'group') ?? '',
    version: textAt(version, 'name') ?? '',
    plural: textAt(names, 'plural') ?? '',
    kind: textAt(names, 'kind') ?? '',
    namespaced: spec['scope'] === 'Namespaced',
    hasStatus: isObject(objectAt(version, 'subresources')['status']),
    schema: objectAt(objectAt(version, 'schema'), 'openAPIV3Schema'),
    countsGenerations: true,
    selectableFields: [
      ...EVERY_KIND_SELECTS,
      ...objectsAt(version, 'selectableFields').map((field) => (textAt(field, 'jsonPath') ?? '').slice(1)),
    ],
    allowsUnconditional: false,
    createsOnUpdate: false,
  }));
}

export const apiVersionOf = (kind: Kind): string =>
  kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;

export const hasFinalizers = (metadata: JsonObject): boolean => listAt(metadata, 'finalizers').length > 0;

/** Returns the value at a field selector's path: `metadata.name` or a status field. */
export function valueAtPath(object: JsonObject, path: readonly string[]): Json | undefined {
  let value: Json | undefined = object;
  for (const key of path) value = isObject(value) ? value[key] : undefined;
  return value;
}
