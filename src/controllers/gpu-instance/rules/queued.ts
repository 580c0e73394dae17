import type { QueuePlace } from '../../../accounts/queue/admission-queue.ts';
import type { Reason } from '../../../api/v1alpha1/reasons.ts';
import { decision } from '../decision.ts';
import { factsOf } from '../recorded.ts';
import type { Stage } from '../stage.ts';
import type { Decision, Observed } from '../types.ts';
import type { QueueWord } from '../views.ts';
import { idle } from './idle.ts';

/** Reasons of an object that searched and found nothing. Its next search waits for those of others. */
export const FOUND_NOTHING: ReadonlySet<Reason> = new Set<Reason>([
  'NoOffers',
  'NoOfferWithinPrice',
  'PriceUnknown',
]);

/** Milliseconds for which an object may wait without saying why. */
const SILENCE_MS = 1_000;
/** Position and time are told again at most this often, and only if the time is far from what was said. */
const SAY_AGAIN_MS = 60_000;
const FAR_MS = 20_000;
const FAR_SHARE = 0.25;

/**
 * Says that the object waits in the queue of its login, behind how many, and for how long about. The queue calls it;
 * it looks again only to tell a position that has changed much.
 */
export function sayQueued(
  observed: Observed,
  stage: Extract<Stage, { type: 'unrented' }>,
  place: QueuePlace | undefined,
): Decision {
  const look = { afterMs: SAY_AGAIN_MS };
  if (!place || place.waitedMs + place.expectedMs <= SILENCE_MS) {
    return decision({ look: { afterMs: SILENCE_MS }, waits: {} });
  }
  const { refusal } = observed.memory;
  if (place.for === 'search' && refusal && FOUND_NOTHING.has(refusal.reason)) {
    // That it searches again is no news: nothing matched, and that is what it waits for.
    return { ...idle(observed, stage, { ...refusal, look }), waits: {} };
  }
  const readyAt = observed.steadyNow + place.expectedMs;
  const said = observed.memory.queued;
  const word = said && isStillTrue(said, readyAt, observed.steadyNow) ? said : wordOf(observed, place);
  const reason = isOneAtATime(observed, place) ? 'LabelsNotEchoed' : 'Queued';
  const waiting = idle(observed, stage, { reason, detail: word.detail, look });
  return { ...waiting, ...unhandled(observed, waiting), waits: { word } };
}

/** Who asked for a look waits for the search: it is not handled before. */
function unhandled({ object }: Observed, { status }: Decision): Pick<Decision, 'status'> {
  if (!status) return {};
  const { requestedAt: _asked, ...fields } = status.fields;
  const handled = object.status?.requestedAt;
  return {
    status: { ...status, fields: { ...fields, ...(handled !== undefined && { requestedAt: handled }) } },
  };
}

function isOneAtATime(observed: Observed, { isSerial }: QueuePlace): boolean {
  return isSerial && factsOf(observed)?.labelEcho === 'notEchoed';
}

function isStillTrue(said: QueueWord, readyAt: number, now: number): boolean {
  if (now - said.at < SAY_AGAIN_MS) return true;
  const far = Math.max(FAR_MS, FAR_SHARE * (said.readyAt - said.at));
  return Math.abs(said.readyAt - readyAt) < far;
}

function wordOf(observed: Observed, place: QueuePlace): QueueWord {
  const { steadyNow } = observed;
  return { detail: detailOf(observed, place), at: steadyNow, readyAt: steadyNow + place.expectedMs };
}

function detailOf(observed: Observed, place: QueuePlace): string {
  const behind =
    place.ahead === 0
      ? 'Next in the queue'
      : `Queued behind ${place.ahead} instance${place.ahead === 1 ? '' : 's'}`;
  if (isOneAtATime(observed, place)) {
    return `${behind}: the marketplace does not return labels, so rentals go one at a time.`;
  }
  if (place.isSerial) return `${behind}: the first rental of the login is checked before the next.`;
  return `${behind} by the marketplace's rate limit; about ${about(place.expectedMs)}.`;
}

/** A duration as a person says it: `15s`, `4m`. */
function about(ms: number): string {
  const seconds = Math.max(1, Math.ceil(ms / 1_000));
  return seconds < 120 ? `${seconds}s` : `${Math.round(seconds / 60)}m`;
}
