import { imageProblem } from '../../api/v1alpha1/image-reference.ts';
import type { Reason } from '../../api/v1alpha1/reasons.ts';
import type { Facts } from './facts.ts';
import { hasPriceRule } from './offers.ts';
import type { AccountFacts, InputsView } from './types.ts';
import { unsupportedFields } from './unsupported.ts';

/** State of the checks before an object costs money. */
export type Preflight =
  /** The cluster was not read in this reconcile: the read `inputs` does that. */
  | { readonly type: 'unread' }
  | {
      readonly type: 'problem';
      readonly reason: Reason;
      readonly detail?: string | undefined;
      /** Undefined: only the spec or the account changes it. */
      readonly retryAfterMs?: number | undefined;
    }
  | { readonly type: 'passed'; readonly inputs: Extract<InputsView, { type: 'ready' }> };

/** Detail of a spec that sets no limit on the cost of a machine. */
export const NO_PRICE_LIMIT =
  'No price limit: set maxPricePerHour under spec.offers, or spec.limits.maxPricePerHour of the MarketplaceAccount.';

const NO_SSH_KEY =
  "The spec asks for SSH, and no SSH key is registered for the login. Register one in the marketplace's console or by gpu-rent create ssh-key, or set spec.ssh to false.";

/** Retry interval: a person or another controller fixes it, and no event may report that. */
const RETRY_MS = 60_000;

/**
 * Returns the first problem that would make a rental useless with any offer: image, missing market features, SSH key,
 * Secrets, names of children, permissions, quota, start script, price limit. Called before a first rental, a rental
 * after a loss, and a replacement.
 */
export function preflight(
  { object, purchase: { inputs } }: Pick<Facts, 'object' | 'purchase'>,
  account: AccountFacts,
): Preflight {
  const { spec } = object;
  const wrongImage = spec.image === undefined ? undefined : imageProblem(spec.image);
  if (wrongImage !== undefined)
    return { type: 'problem', reason: 'InvalidSpec', detail: `spec.image: ${wrongImage}.` };
  const unsupported = unsupportedFields(spec, account.market);
  if (unsupported !== undefined) return { type: 'problem', reason: 'InvalidSpec', detail: unsupported };
  // For some machines a missing key cannot be added later (specification 4.5).
  if (spec.ssh && account.sshKeyRegistered === false)
    return { type: 'problem', reason: 'InputMissing', detail: NO_SSH_KEY, retryAfterMs: RETRY_MS };
  if (inputs === undefined) return { type: 'unread' };
  if (inputs.type === 'problem') return { retryAfterMs: RETRY_MS, ...inputs };
  const isLimited = (spec.offers ?? []).some((offer) => hasPriceRule(offer, account.limits, spec));
  return isLimited
    ? { type: 'passed', inputs }
    : { type: 'problem', reason: 'InvalidSpec', detail: NO_PRICE_LIMIT };
}
