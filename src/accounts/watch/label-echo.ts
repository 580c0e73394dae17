import type { Identity } from '../../ownership/identity.ts';
import { readLabel } from '../../ownership/label.ts';

/**
 * Whether the service gives back the label that a rental was sent with. `unknown` until the first rental of
 * the login was read back; until then, and where labels are not echoed, rentals are serial.
 */
export type LabelEcho = 'unknown' | 'echoed' | 'notEchoed';

interface LabelledRow {
  readonly id: number;
  readonly label: string | null | undefined;
}

/** What the account's status remembers. */
export function echoOf(labelsEchoed: boolean | undefined): LabelEcho {
  if (labelsEchoed === undefined) return 'unknown';
  return labelsEchoed ? 'echoed' : 'notEchoed';
}

/**
 * What a complete list tells: a label of ours that verifies was echoed; a machine of `rented`, which an object has
 * recorded with a claim that verifies, and that carries no label at all was rented with one that did not come back.
 */
export function echoOfRows(
  rows: readonly LabelledRow[],
  rented: ReadonlySet<number>,
  identity: Identity,
): LabelEcho {
  if (rows.some((row) => readLabel(identity, row.label).type === 'verified')) return 'echoed';
  const bare = rows.some((row) => rented.has(row.id) && (row.label === undefined || row.label === null));
  return bare ? 'notEchoed' : 'unknown';
}
