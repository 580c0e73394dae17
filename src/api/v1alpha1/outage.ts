import * as z from 'zod';
import { formatDuration, parseTime } from '../../lib/time.ts';
import { facetsOf } from './reasons.ts';
import { notes, text, timestamp } from './schema.ts';

export const outage = z
  .object({
    reason: text({ description: 'The cause, as a word of the catalogue.', maxLength: 128 }),
    since: timestamp({ description: 'When it began.' }),
    httpStatus: z
      .int()
      .meta(notes({ description: 'The HTTP status code of the first reply that failed.' }))
      .optional(),
    code: text({
      description:
        'The code of the first failure: of the marketplace, or of the connection, such as ECONNREFUSED.',
      maxLength: 64,
    }).optional(),
  })
  .meta(
    notes({
      description: 'The service whose outage blocks the object; left out without an outage.',
      atomic: true,
    }),
  );

/** A service outage. */
export type Outage = z.output<typeof outage>;

/** Returns the cause with its figure, as the beginning of a sentence: `Marketplace returned HTTP 503`. */
export function outageCause({ reason, httpStatus, code }: Omit<Outage, 'since'>): string {
  const cause = facetsOf(reason).cause;
  if (cause !== undefined) return httpStatus === undefined ? cause : `${cause} (HTTP ${httpStatus})`;
  if (httpStatus !== undefined && httpStatus < 400)
    return `Marketplace returned a reply that cannot be read (HTTP ${httpStatus})`;
  if (httpStatus !== undefined) return `Marketplace returned HTTP ${httpStatus}`;
  return code === undefined ? 'Marketplace did not answer' : `Marketplace was unreachable (${code})`;
}

/** Returns the text for an outage: `Marketplace returned HTTP 503 for 73s; retrying.` `now` in epoch milliseconds. */
export function outageText(outage: Outage, now: number): string {
  const duration = outageDuration(outage, now);
  return `${outageCause(outage)}${duration === '0s' ? '' : ` for ${duration}`}; retrying.`;
}

/** Returns the duration of an outage, in whole seconds up to two minutes: `73s`, `5m`. */
export function outageDuration({ since }: Outage, now: number): string {
  const seconds = Math.max(0, Math.round((now - (parseTime(since) ?? now)) / 1000));
  return seconds < 120 ? `${seconds}s` : formatDuration(seconds * 1000);
}
