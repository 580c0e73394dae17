import { progress, retryable, terminal } from './reason-entry.ts';

/** Why nothing is rented. */
export const rentingReasons = {
  NoOffers: retryable(
    'No offer matches the requirements.',
    'Drop or soften the requirement that the message names.',
  ),
  NoOfferWithinPrice: retryable(
    'Offers match, and each costs more than the maximum.',
    'Raise maxPricePerHour or bid, or wait.',
  ),
  PriceUnknown: retryable(
    'Offers match, and none names a price.',
    'Set allowUnknownPrice if you accept any price.',
  ),
  NoPriceLimit: terminal(
    'Neither the alternative nor the account sets maxPricePerHour.',
    'Set maxPricePerHour in one of them.',
  ),
  OfferTaken: retryable(
    'Someone else rented the offer first; the next one is tried.',
    'Nothing; or widen the requirements.',
  ),
  RentalRefused: retryable(
    'The marketplace refused the rental.',
    'Read the code in the message; check image, disk and ports.',
  ),
  InvalidRequest: terminal(
    'The marketplace calls the request itself wrong.',
    'Correct the field that the message names.',
  ),
  InvalidFilter: terminal(
    'The marketplace does not accept a filter or order field.',
    'Correct the field under filters or order.',
  ),
  RentalUncertain: retryable(
    'A rental was asked for and its outcome is unknown; nothing else is rented until it is settled.',
    'Wait for the lists; where the marketplace gives no labels back, look for the machine that the message describes.',
  ),
  OldMachineNotGone: retryable(
    'The old machine is not confirmed gone, so no other is rented.',
    'Check the marketplace; destroy the machine there if it stays.',
  ),
  TooManyRentals: retryable(
    'The rentals of the last hour reached replacement.maxPerHour.',
    'Find out why machines end; or raise it.',
  ),
  BreakerOpen: retryable(
    'Too many machines of the account turned bad at once; nothing is replaced or swept.',
    'Check the marketplace; it closes by itself, or by the annotation gpurental.dev/close-breaker.',
  ),
  Paused: progress('The object is paused by spec.paused.', 'Set it to false to go on.'),
  Held: progress(
    'The annotation gpurental.dev/hold keeps the machine from being replaced.',
    'Remove it to go on.',
  ),
  AccountMissing: retryable(
    'The MarketplaceAccount does not exist.',
    'Create it, or name another in a new object.',
  ),
  AccountNotReady: retryable('The MarketplaceAccount is not ready.', 'Look at its conditions.'),
  NamespaceNotAllowed: terminal(
    "The account does not allow this object's namespace.",
    "Change the account's allowedNamespaces.",
  ),
  NotPermitted: retryable(
    'The operator lacks a right in Kubernetes.',
    'Grant the verb that the message names, or widen its scope.',
  ),
  LimitReached: terminal(
    'A limit on lifetime, cost, number or spending is reached.',
    'Raise the limit that the message names, or delete the object.',
  ),
  AccountLimitReached: retryable(
    'A limit of the account leaves no room.',
    'Raise the limit that the message names, or wait.',
  ),
  InsufficientCredit: retryable('The login has too little credit.', 'Add credit at the marketplace.'),
  SSHKeyMissing: retryable(
    'SSH is wanted and the login has no SSH key.',
    'Register a key at the marketplace, or set ssh: false.',
  ),
  SecretMissing: retryable('A Secret that is named does not exist.', 'Create it, or correct the name.'),
  SecretKeyMissing: retryable('The Secret lacks the key that is named.', 'Add the key, or correct its name.'),
  SecretInvalid: retryable('A Secret holds something that cannot be used.', 'Correct its content.'),
  OnStartTooLong: terminal(
    'The script is too long even when packed.',
    'Shorten it, or let it fetch the rest.',
  ),
  ImageRefused: terminal('The image cannot be used.', 'Correct spec.image or the pull Secret.'),
} as const;
