import { labels } from '../../api/v1alpha1/names.ts';
import { nothingStarts } from '../../instance/launch.ts';
import type { Facts } from './facts.ts';
import type { Step } from './types.ts';

/**
 * Adds the event that nothing runs in the container, with the first status of each generation. The group says it for its
 * workers.
 */
export function withStartNote({ object }: Pick<Facts, 'object'>, step: Step): Step {
  if (step.type !== 'decision' || !step.status) return step;
  const { metadata, spec, status } = object;
  const isKnown = status?.observedGeneration === metadata.generation;
  if (isKnown || metadata.labels?.[labels.endpointGroup] !== undefined) return step;
  const note = nothingStarts(spec);
  if (note === undefined) return step;
  const event = { type: 'Warning', reason: 'InvalidSpec', action: 'Renting', note } as const;
  return { ...step, events: [...step.events, event] };
}
