import { progress, retryable, terminal } from './reason-entry.ts';

/** Why nothing is rented. */
export const rentingReasons = {
  Queued: progress("Waiting in the queue of the login for the marketplace's rate limit; no action needed."),
  NoOffers: retryable(
    'No offer matches the requirements.',
    'Drop or soften a requirement under spec.offers, or wait: the search is repeated.',
  ),
  NoOfferWithinPrice: retryable(
    'Offers match, and each costs more than the maximum.',
    'Raise maxPricePerHour (or bid) under spec.offers, or wait: the search is repeated.',
  ),
  PriceUnknown: retryable(
    'Offers match, and none names its price.',
    'Set allowUnknownPrice under spec.offers if any price is acceptable.',
  ),
  NoPriceLimit: terminal(
    'Neither spec.offers nor the MarketplaceAccount limits the price of a machine, so none is rented.',
    'Set maxPricePerHour under spec.offers, or spec.limits.maxPricePerHour of the MarketplaceAccount.',
  ),
  RentalRefused: retryable(
    'The marketplace refused the rental, and nothing was rented.',
    'Check spec.image, spec.disk and spec.ports; another offer is tried.',
  ),
  InvalidRequest: terminal(
    'The marketplace does not accept the rental request, and nothing was rented.',
    'Correct the field that the message names.',
  ),
  InvalidFilter: terminal(
    'A field under filters or order of spec.offers cannot be searched by.',
    'Correct the field; the message names it.',
  ),
  RentalUncertain: retryable(
    'The marketplace did not answer a rental, so nothing else is rented until its lists show whether there is a machine.',
    "Where no machine is named here, you need not do anything unless this stays: then look in the marketplace's console for a machine that this object does not name.",
  ),
  ServiceTimeUncertain: retryable(
    'Replies of the marketplace disagree about the time, so nothing is rented until three in a row agree.',
    'You need not do anything. If this stays, check the clock of the node that the operator runs on, and any proxy in front of the marketplace.',
  ),
  OldMachineNotGone: retryable(
    'The old machine is not confirmed gone, so no other is rented.',
    "If this stays, destroy that machine in the marketplace's console.",
  ),
  TooManyRentals: retryable(
    'As many machines were rented within an hour as spec.replacement.maxPerHour allows, so the next one waits.',
    'Find out in status.history why the machines ended; raise spec.replacement.maxPerHour if so many are meant.',
  ),
  BreakerOpen: retryable(
    'More machines of the account are unhealthy than spec.maxUnhealthy allows, so none is replaced or swept.',
    'Check the status of the marketplace. The breaker closes when the machines recover. After spec.maxUnhealthyHold, or if you set the annotation gpurental.dev/close-breaker on the MarketplaceAccount, machines are replaced one at a time.',
  ),
  Paused: progress('The object is paused: spec.paused is true.', 'Set spec.paused to false to go on.'),
  Held: progress(
    'The annotation gpurental.dev/hold keeps the machine from being replaced. Limits of the spec end it all the same.',
    'Remove the annotation to go on.',
  ),
  AccountMissing: retryable(
    'The MarketplaceAccount does not exist, or the operator does not watch its namespace.',
    'Create the account, let the operator watch its namespace, or make a new object whose spec.accountRef names an existing one.',
  ),
  AccountNotReady: retryable(
    'The MarketplaceAccount is not ready.',
    'Look at the conditions of the MarketplaceAccount; this object goes on when it is ready.',
  ),
  NamespaceNotAllowed: terminal(
    'No MarketplaceAccount of that name allows the namespace of this object.',
    'Check spec.accountRef, or ask the owner of the account to add the namespace to its spec.allowedNamespaces.',
  ),
  NotPermitted: retryable(
    'The operator lacks a right in Kubernetes.',
    'Grant the verb that the message names to the ServiceAccount of the operator.',
  ),
  LimitReached: terminal(
    'A limit of this object on lifetime or cost is reached.',
    'Raise spec.maxLifetime or spec.maxTotalCost, or delete the object.',
  ),
  AccountLimitReached: retryable(
    'A limit of the MarketplaceAccount leaves no room for another machine.',
    'Raise the limit that the message names, or wait until other machines end.',
  ),
  InsufficientCredit: retryable(
    'The login has too little credit.',
    "Add credit in the marketplace's console.",
  ),
  SSHKeyMissing: retryable(
    'SSH is wanted by spec.ssh, and no SSH key is registered for the login.',
    "Register a key in the marketplace's console or by gpu-rent create ssh-key, or set spec.ssh to false.",
  ),
  SecretMissing: retryable(
    'A Secret that the object names does not exist.',
    'Create the Secret, or correct its name in the spec.',
  ),
  SecretKeyMissing: retryable(
    'A Secret that the object names lacks the key that is named.',
    'Add the key to the Secret, or correct the key in the spec.',
  ),
  SecretInvalid: retryable(
    'A Secret that the object names holds something that cannot be used.',
    'Correct the content of the Secret.',
  ),
  SecretNotAllowed: retryable(
    'The object names a Secret that no machine may get, such as the API key of a MarketplaceAccount.',
    'Put the values that the machine needs into a Secret of their own, and name that in the spec.',
  ),
  InputsTooLarge: retryable(
    'The environment and the start script, or the offers, are larger than the operator accepts.',
    'Put large data into the image or download it at the start; use fewer filters.',
  ),
  OnStartTooLong: terminal(
    'The start script is too long, even packed.',
    'Shorten spec.onStart, or let it download the rest.',
  ),
} as const;
