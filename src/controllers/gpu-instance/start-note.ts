import { labels } from '../../api/v1alpha1/names.ts';
import { nothingStarts } from '../../instance/launch.ts';
import type { EventNote } from '../../runtime/events.ts';
import type { Added, StatusDecision } from './decision.ts';
import type { Facts } from './facts.ts';
import { unsupportedFields } from './unsupported.ts';

/**
 * Returns events about the spec with the first status of each generation: nothing runs in the container, or the
 * market shows no utilization, so no machine can count as idle. The group reports the first event for its workers.
 */
export function addedStartNote(
  { object, account }: Pick<Facts, 'object' | 'account'>,
  { status: { fields } }: StatusDecision,
): Added {
  const { metadata, spec, status } = object;
  if (status?.observedGeneration === metadata.generation) return {};
  const isWorker = metadata.labels?.[labels.endpointGroup] !== undefined;
  const nothing = isWorker ? undefined : nothingStarts(spec);
  const { market } = account.facts ?? {};
  // Before a rental the preflight refuses it.
  const unjudged =
    fields.instanceId === undefined || !market
      ? undefined
      : unsupportedFields({ idle: spec.idle, deletionPolicy: 'Destroy' }, market);
  const events: readonly EventNote[] = [
    ...(nothing === undefined
      ? []
      : [{ type: 'Warning', reason: 'InvalidSpec', action: 'Renting', note: nothing } as const]),
    ...(unjudged === undefined
      ? []
      : [{ type: 'Warning', reason: 'InvalidSpec', action: 'Keeping', note: unjudged } as const]),
  ];
  return { events };
}
