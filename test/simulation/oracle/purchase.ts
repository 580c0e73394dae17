import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import { isObject, type JsonObject, metadataOf, objectAt, textAt } from '../memory-kube/json.ts';

/** Whose purchase a contract is, read from the label it was rented with. */
export interface Purchase {
  readonly uid: string;
  readonly attempt: number;
}

const OPERATOR_LABEL = /^gpurental1(?:-retained)?:[0-9a-f]{8}:([0-9a-f-]+):(\d+):\d+:[0-9a-f]+$/;
const RETAINED_LABEL = /^gpurental1-retained:/;
const CLOCK_SKEW_MS = 60_000;
/** Late call and list lag together. */
export const LABEL_WINDOW_MS = 180_000;
/** The same by the longest `--late-call` that a schedule installs. */
export const MAX_WINDOW_MS = 240_000;

export function readPurchase(label: string): Purchase | undefined {
  const match = OPERATOR_LABEL.exec(label);
  return match ? { uid: match[1] ?? '', attempt: Number(match[2]) } : undefined;
}

/** Whether the operator said on a machine that it was kept on purpose when its object went. */
export const hasKeptLabel = ({ label }: Contract): boolean => RETAINED_LABEL.test(label ?? '');

/**
 * Whether a machine began when its label says. A process whose clock is wrong by more than a minute labels
 * machines that no label proves to be ours: they are reported and never touched (design: `OrphanFound`).
 */
export function fitsItsLabel({ label, createdAt }: Contract): boolean {
  const issuedAt = Number(/:(\d+):[0-9a-f]+$/.exec(label ?? '')?.[1]);
  return createdAt >= issuedAt - CLOCK_SKEW_MS && createdAt <= issuedAt + LABEL_WINDOW_MS;
}

/**
 * Whether a service carried a rental out when nobody could wait for it any more: no operator can keep such a machine from
 * beginning. It buys nothing more while that purchase is open, and sweeps the machine by its policy.
 */
export function isLate({ label, createdAt }: Contract, windowMs = LABEL_WINDOW_MS): boolean {
  const issuedAt = Number(/:(\d+):[0-9a-f]+$/.exec(label ?? '')?.[1]);
  return !hasKeptLabel({ label } as Contract) && createdAt > issuedAt + windowMs;
}

/** The intent that stands on an object. */
export function intentOf(object: JsonObject): JsonObject | undefined {
  const annotation = textAt(objectAt(metadataOf(object), 'annotations'), 'gpurental.dev/rental-intent');
  if (annotation === undefined) return undefined;
  const intent: unknown = JSON.parse(annotation);
  return isObject(intent) ? intent : undefined;
}
