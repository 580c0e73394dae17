import type { QueuePosition } from '../../../accounts/queue/admission-queue.ts';
import type { Reason } from '../../../api/v1alpha1/reasons.ts';
import { decision } from '../decision.ts';
import type { Facts } from '../facts.ts';
import type { Stage } from '../stage.ts';
import type { Decision } from '../types.ts';
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
/** What was said of position and time is kept this long, and then while both are within a quarter of what they are. */
const SAY_AGAIN_MS = 10_000;
const FAR_MS = 10_000;
const FAR_AHEAD = 2;
const FAR_SHARE = 0.25;
/** A long wait is looked at this often at least. */
const LOOK_MAX_MS = 60_000;

/**
 * Says that the object waits in the queue of its login, behind how many, and for how long about. The queue calls it;
 * it looks again only to tell a position that has changed much.
 */
export function sayQueued(
  facts: Facts,
  stage: Extract<Stage, { type: 'unrented' }>,
  place: QueuePosition | undefined,
): Decision {
  if (!place || place.waitedMs + place.expectedMs <= SILENCE_MS) {
    return decision({ look: { afterMs: SILENCE_MS }, waits: {} });
  }
  const look = { afterMs: lookMs(place) };
  const { refusal } = facts.memory;
  if (place.for === 'search' && refusal && FOUND_NOTHING.has(refusal.reason)) {
    // That it searches again is no news: nothing matched, and that is what it waits for.
    return { ...idle(facts, stage, { ...refusal, look }), waits: {} };
  }
  const said = facts.memory.queued;
  const now = wordOf(facts, place);
  const word = said && isStillTrue(said, now) ? said : now;
  const waiting = idle(facts, stage, { reason: word.reason, detail: word.detail, look });
  return { ...waiting, ...unhandled(facts, waiting), waits: { word } };
}

/** When what is said of a place in the line of rentals may be wrong. A search calls the object when it ends. */
function lookMs(place: QueuePosition): number {
  if (place.for === 'search') return LOOK_MAX_MS;
  const changesMs = place.isSerial ? 0 : Math.ceil(FAR_SHARE * place.expectedMs);
  return Math.min(LOOK_MAX_MS, Math.max(SAY_AGAIN_MS, changesMs));
}

/** Who asked for a look waits for the search: it is not handled before. */
function unhandled({ object }: Facts, { status }: Decision): Pick<Decision, 'status'> {
  if (!status) return {};
  const { requestedAt: _asked, ...fields } = status.fields;
  const handled = object.status?.requestedAt;
  return {
    status: { ...status, fields: { ...fields, ...(handled !== undefined && { requestedAt: handled }) } },
  };
}

function isOneAtATime(facts: Facts, { isSerial }: QueuePosition): boolean {
  return isSerial && facts.accountFacts?.labelEcho === 'notEchoed';
}

/** Another cause is told at once, and another position or time when it is far from what was said. */
function isStillTrue(said: QueueWord, now: QueueWord): boolean {
  if (said.reason !== now.reason || said.isSerial !== now.isSerial) return false;
  if (now.at - said.at < SAY_AGAIN_MS) return true;
  return !isFar(said.ahead, now.ahead, FAR_AHEAD) && !isFar(said.expectedMs, now.expectedMs, FAR_MS);
}

function isFar(said: number, now: number, least: number): boolean {
  return Math.abs(said - now) > Math.max(least, FAR_SHARE * said);
}

function wordOf(facts: Facts, place: QueuePosition): QueueWord {
  const { ahead, expectedMs, isSerial } = place;
  const reason = isOneAtATime(facts, place) ? 'LabelsNotEchoed' : 'Queued';
  const detail = detailOf(place, reason);
  return { ...{ reason, detail, ahead, expectedMs, isSerial }, at: facts.steadyNow };
}

function detailOf({ ahead, expectedMs, isSerial }: QueuePosition, reason: QueueWord['reason']): string {
  const behind =
    ahead === 0 ? 'Next in the queue' : `Queued behind ${ahead} instance${ahead === 1 ? '' : 's'}`;
  if (reason === 'LabelsNotEchoed') {
    return `${behind}: the marketplace does not return labels, so rentals go one at a time.`;
  }
  const time = `about ${about(expectedMs)}`;
  if (isSerial) return `${behind}: the first rental of the login is checked before the next; ${time}.`;
  return `${behind} by the marketplace's rate limit; ${time}.`;
}

/** A duration as a person says it: `15s`, `4m`. */
function about(ms: number): string {
  const seconds = Math.max(1, Math.ceil(ms / 1_000));
  return seconds < 120 ? `${seconds}s` : `${Math.round(seconds / 60)}m`;
}
