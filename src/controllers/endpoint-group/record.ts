import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import { endpointGroupResource, GROUP_FINALIZER } from '../../api/v1alpha1/names.ts';
import { type Receipt, record as recordOn } from '../../runtime/writes.ts';
import type { Deps } from './deps.ts';
import type { Decision } from './types.ts';

export type RecordDeps = Pick<Deps, 'cluster' | 'groups' | 'memory'>;

/**
 * Writes finalizer and status of a decision under the resource version that was observed. Resolves with undefined if
 * another client wrote first: the decision is then dropped, and pending requests stay open.
 */
export async function record(
  group: EndpointGroup,
  { needsFinalizer, status, memory: fields }: Pick<Decision, 'needsFinalizer' | 'status' | 'memory'>,
  { cluster: client, groups, memory }: RecordDeps,
): Promise<Receipt<EndpointGroup> | undefined> {
  const receipt = await recordOn({
    client,
    resource: endpointGroupResource,
    object: group,
    finalizer: needsFinalizer ? GROUP_FINALIZER : undefined,
    status,
    onWritten: (written) => groups.wrote(written),
  });
  if (receipt) memory.recorded(group, fields);
  return receipt;
}
