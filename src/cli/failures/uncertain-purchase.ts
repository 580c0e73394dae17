import { MarketplaceError, type MarketplaceErrorKind } from '../../market/errors.ts';
import { CommandError, EXIT } from '../command-error.ts';

/** What is known about a purchase whose outcome is open. */
export interface PurchaseEvidence {
  /** What was seen, or what may be; sentences. */
  readonly found: string;
  /** What to do about it. */
  readonly remedy: string;
  /** Whether it was bought all the same. */
  readonly isBought?: boolean;
}

/** Kinds by which the service says what is wrong with the request; for all others its advice is to try again. */
const CORRECTABLE: ReadonlySet<MarketplaceErrorKind> = new Set([
  'invalidRequest',
  'insufficientCredit',
  'conflict',
  'notFound',
]);

/** Whether something may have been bought although the call failed. */
export function mayHaveBought(error: unknown): error is MarketplaceError {
  return error instanceof MarketplaceError && error.outcome === 'unknown';
}

/**
 * The failure of a purchase that may have happened all the same: why it failed, what was found, and the service's
 * own words. It never advises to repeat what could be paid twice.
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
