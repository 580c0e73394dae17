import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import { isObject, type JsonObject, metadataOf, objectAt, textAt } from '../memory-kube/json.ts';

/** Purchase of a contract, read from the label of its rental. */
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

/** Returns true if the operator marked a machine as kept when its object was deleted. */
export const hasKeptLabel = ({ label }: Contract): boolean => RETAINED_LABEL.test(label ?? '');

/**
 * Returns true if a machine began at the time in its label. A process whose clock is wrong by more than a minute labels
 * machines that no label proves: they are reported and never touched (design: `OrphanFound`).
 */
export function fitsItsLabel({ label, createdAt }: Contract): boolean {
  const issuedAt = Number(/:(\d+):[0-9a-f]+$/.exec(label ?? '')?.[1]);
  return createdAt >= issuedAt - CLOCK_SKEW_MS && createdAt <= issuedAt + LABEL_WINDOW_MS;
}

/**
 * Returns true if a service carried a rental out after its last deadline: no operator can prevent such a machine. It
 * buys nothing more while that purchase is open, and sweeps the machine by its policy.
 */
export function isLate({ label, createdAt }: Contract, windowMs = LABEL_WINDOW_MS): boolean {
  const issuedAt = Number(/:(\d+):[0-9a-f]+$/.exec(label ?? '')?.[1]);
  return !hasKeptLabel({ label } as Contract) && createdAt > issuedAt + windowMs;
}

/** Returns the intent of an object. */
export function intentOf(object: JsonObject): JsonObject | undefined {
  const annotation = textAt(objectAt(metadataOf(object), 'annotations'), 'gpurental.dev/rental-intent');
  if (annotation === undefined) return undefined;
  const intent: unknown = JSON.parse(annotation);
  return isObject(intent) ? intent : undefined;
}
