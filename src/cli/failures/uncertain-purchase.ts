import { MarketplaceError, type MarketplaceErrorKind } from '../../market/errors.ts';
import { CommandError, EXIT } from '../command-error.ts';

/** Facts about a purchase with an open outcome. */
export interface PurchaseEvidence {
  /** Findings or possibilities, as sentences. */
  readonly found: string;
  /** Advice about it. */
  readonly remedy: string;
  /** True if the purchase succeeded nevertheless. */
  readonly isBought?: boolean;
}

/** Kinds that describe an error of the request; for all others the service's advice is to try again. */
const CORRECTABLE: ReadonlySet<MarketplaceErrorKind> = new Set([
  'invalidRequest',
  'insufficientCredit',
  'conflict',
  'notFound',
]);

/** Returns true if a failed call may have bought something. */
export function mayHaveBought(error: unknown): error is MarketplaceError {
  return error instanceof MarketplaceError && error.outcome === 'unknown';
}

/**
 * Returns the failure of a purchase that may have happened: its cause, the findings, and the service's own words. It
 * never advises to repeat a call that could be paid twice.
 */
export async function uncertainPurchase(
  error: MarketplaceError,
  { found, remedy, isBought = false }: PurchaseEvidence,
): Promise<CommandError> {
  const { OPEN_OUTCOME, failureParts } = await import('./describe-failure.ts');
  const { what, remedy: advice } = failureParts(error);
  const [first = error.message, ...more] = what;
  const words = more.filter((line) => line !== OPEN_OUTCOME);
  const message = [`${first.replace(/\.$/, '')}. ${found}`, ...words].join('\n');
  const isCorrectable = !isBought && CORRECTABLE.has(error.kind) && advice !== undefined;
  return new CommandError(message, {
    exitCode: error.kind === 'timeout' ? EXIT.timedOut : EXIT.failure,
    remedy: isCorrectable ? `${advice} ${remedy}` : remedy,
    cause: error,
  });
}
