import type { Grant } from '../../src/api/access.ts';
import type { AuditEvent } from '../cluster/audit-log.ts';

/** `patch gpurental.dev/gpuinstances/status`: one verb on one resource. */
export type Right = string;

const right = (verb: string, group: string, resource: string): Right =>
  `${verb} ${group === '' ? '' : `${group}/`}${resource}`;

/** Returns every single right of the grants. */
export function rightsOf(grants: readonly Grant[]): ReadonlySet<Right> {
  return new Set(
    grants.flatMap(({ group, resources, verbs }) =>
      resources.flatMap((resource) => verbs.map((verb) => right(verb, group, resource))),
    ),
  );
}

/** Returns every right that the requests used. */
export function rightsUsed(events: readonly AuditEvent[]): ReadonlySet<Right> {
  const used = new Set<Right>();
  for (const { objectRef, verb } of events) {
    if (objectRef?.resource === undefined) continue;
    const { apiGroup = '', resource, subresource } = objectRef;
    used.add(right(verb, apiGroup, subresource === undefined ? resource : `${resource}/${subresource}`));
  }
  return used;
}
