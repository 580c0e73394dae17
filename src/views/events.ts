import * as z from 'zod';
import type { KubeObject } from '../runtime/kube/kube-object.ts';

/** The fields in use of an event of `events.k8s.io/v1`. */
export interface EventObject extends KubeObject {
  readonly eventTime?: string | null;
  readonly type?: string;
  readonly reason?: string;
  readonly note?: string;
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
}

/** An event in a report. */
export const shownEventSchema = z.strictObject({
  at: z.string().describe('Last time.'),
  type: z.string().describe('`Normal` or `Warning`.'),
  reason: z.string(),
  note: z.string(),
  count: z.number(),
});

export type ShownEvent = z.infer<typeof shownEventSchema>;

/** Returns the events of a report, oldest first. */
export function shownEvents(events: readonly EventObject[]): readonly ShownEvent[] {
  return events
    .map((event) => ({
      at: event.series?.lastObservedTime ?? event.eventTime ?? event.metadata.creationTimestamp ?? '',
      type: event.type ?? '',
      reason: event.reason ?? '',
      note: event.note ?? '',
      count: event.series?.count ?? 1,
    }))
    .sort((left, right) => left.at.localeCompare(right.at));
}
