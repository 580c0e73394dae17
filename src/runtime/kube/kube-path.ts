import type { ObjectRef, Resource } from './kube-object.ts';

/** The path of a collection: of one namespace, or of all where none is given. */
export function collectionPath(resource: Resource, namespace?: string): string {
  const root = resource.group === '' ? '/api' : `/apis/${resource.group}`;
  const scope =
    resource.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `${root}/${resource.version}${scope}/${resource.plural}`;
}

/** The path of one object. */
export function objectPath(resource: Resource, ref: ObjectRef, subresource?: string): string {
  if (resource.namespaced && ref.namespace === undefined) {
    throw new TypeError(`${resource.kind} ${ref.name} needs a namespace`);
  }
  if (ref.name === '') throw new TypeError(`A ${resource.kind} without a name cannot be addressed`);
  const path = `${collectionPath(resource, ref.namespace)}/${encodeURIComponent(ref.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** `path?query` with empty values left out. */
export function withQuery(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const pairs = Object.entries(query)
    .filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== '')
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`;
}
