import { good, progress, retryable, terminal } from './reason-entry.ts';

/** The account. */
export const accountReasons = {
  Authenticated: good('The key proves the pinned login.'),
  Funded: good('Credit and spending leave room for rentals.'),
  ListComplete: good('The marketplace answers with complete lists.'),
  KeyRejected: terminal('The marketplace does not accept the key.', 'Put a valid key into the Secret.'),
  KeyTooNarrow: terminal(
    'The key may not do all that is needed, so nothing is rented that could not be destroyed.',
    'Use a key with the categories that the message names.',
  ),
  LoginChanged: terminal(
    'The key belongs to another login, so nothing is changed or destroyed with it.',
    'Put back a key of the pinned login, and make another MarketplaceAccount for the other one.',
  ),
  UsingKeptKey: retryable(
    'The Secret is gone, or its key is refused or may not destroy, so the key that the operator kept is used, to list and destroy only.',
    'Restore the Secret, with a key of the same login.',
  ),
  TwoFactorRequired: terminal(
    'The marketplace wants a two-factor login for this key.',
    'Use an API key instead of a session key.',
  ),
  URLNotAllowed: terminal(
    "The address in spec.url is not one of the operator's marketplaces.",
    'Add it to the operator by --marketplace-url, or make another account with one of them: spec.url cannot change.',
  ),
  Unreachable: retryable(
    'The marketplace does not answer.',
    'Check the network and the status of the marketplace; it is asked again by itself.',
  ),
  CertificateInvalid: terminal(
    "The marketplace's certificate is not valid.",
    'Check spec.url, the clock of the node and its certificate authorities.',
  ),
  AddressRefused: terminal(
    'The address in spec.url leads to a private or link-local address, which is not called.',
    'Correct spec.url, or start the operator with --allow-private-addresses.',
  ),
  Throttled: retryable(
    'The marketplace limits the number of requests, so they are spaced further apart.',
    'You need not do anything. If this stays, raise spec.pollInterval of the MarketplaceAccount.',
  ),
  MalformedReply: retryable(
    'The marketplace answers something that cannot be read, so it is not believed.',
    'Check that spec.url is the address of a marketplace.',
  ),
  LowCredit: retryable(
    'The credit of the login is not above spec.limits.minCredit.',
    "Add credit in the marketplace's console, or lower spec.limits.minCredit.",
  ),
  SpendLimitReached: retryable(
    'The spending of the hour or month reached its limit, so nothing is rented.',
    'Raise the limit that the message names, or wait.',
  ),
  CreditUnknown: retryable(
    'The key may not read the credit of the login.',
    'Use a key with the category user_read.',
  ),
  MachinesRemain: retryable(
    'Machines of the account remain, so it cannot be removed yet.',
    'Delete the objects that the message names. Machines that no object claims are destroyed first where spec.orphanPolicy is Destroy; set it to Report to let them be.',
  ),
  OrphanFound: retryable(
    'A machine of ours bills, and no object claims it. This is an event; status.machines.orphaned of the account counts them.',
    'List them by gpu-rent orphans, then destroy them by gpu-rent destroy instance ID --force.',
  ),
  BreakerOpened: retryable(
    'More machines of the account are unhealthy than spec.maxUnhealthy allows, so replacing and sweeping stopped. This is an event; while it lasts, objects say BreakerOpen.',
    'Check the status of the marketplace. If the machines are gone for good, set the annotation gpurental.dev/close-breaker on the MarketplaceAccount to replace them one at a time.',
  ),
  BreakerReleased: retryable(
    'Machines stayed unhealthy for spec.maxUnhealthyHold, so they are replaced one at a time, at most 10% in 10 minutes. This is an event.',
    'Check the status of the marketplace. Set the annotation gpurental.dev/hold on objects whose machines must be kept.',
  ),
  LabelsNotEchoed: progress('The marketplace does not give labels back; rentals go one at a time.'),
} as const;
