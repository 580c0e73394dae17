/**
 * Status words of `actual_status` that are known: those of specification 3.1 and those that the public
 * service adds. null (being provisioned) is no word.
 */
export const KNOWN_STATUSES = [
  'created',
  'loading',
  'running',
  'stopped',
  'frozen',
  'exited',
  'rebooting',
  'unknown',
  'offline',
  'destroyed',
] as const;

/** A known status word. */
export type KnownStatus = (typeof KNOWN_STATUSES)[number];

const KNOWN: ReadonlySet<string> = new Set(KNOWN_STATUSES);

/** Whether a word is one that we know how to judge. */
export function isKnownStatus(word: string): word is KnownStatus {
  return KNOWN.has(word);
}
