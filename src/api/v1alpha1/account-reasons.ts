import { good, progress, retryable, terminal } from './reason-entry.ts';

/** The account. */
export const accountReasons = {
  Authenticated: good('The key proves the pinned login.'),
  Funded: good('Credit and spending leave room for rentals.'),
  ListComplete: good('The marketplace answers with complete lists.'),
  KeyRejected: terminal('The marketplace does not accept the key.', 'Put a valid key into the Secret.'),
  KeyTooNarrow: terminal(
    'The key may not do all that is needed; nothing is rented that could not be destroyed.',
    'Use a key with the categories that the message names.',
  ),
  LoginChanged: terminal(
    'The key is one of another login; nothing is changed or destroyed with it.',
    'Put back a key of the pinned login; for the other one make another MarketplaceAccount.',
  ),
  UsingKeptKey: retryable(
    "The user's Secret is gone; the kept key is used to list and destroy only.",
    'Restore the Secret.',
  ),
  TwoFactorRequired: terminal(
    'The marketplace wants a two-factor login.',
    'Use an API key instead of a session key.',
  ),
  URLNotAllowed: terminal(
    "The URL is not in the operator's list.",
    'Choose one of the list, or add it by --marketplace-url.',
  ),
  Unreachable: retryable(
    'The marketplace does not answer.',
    'Check the network and the status of the marketplace.',
  ),
  CertificateInvalid: terminal(
    "The marketplace's certificate is not valid.",
    'Check the URL, the clock and the CA.',
  ),
  AddressRefused: terminal(
    'The URL leads to a private or link-local address.',
    'Correct it, or allow the address by flag.',
  ),
  Throttled: retryable('The marketplace limits the requests.', 'Nothing; or raise pollInterval.'),
  MalformedReply: retryable('The marketplace answers something that cannot be read.', 'Check the URL.'),
  ListIncomplete: retryable(
    'The list of machines is incomplete; it is not believed.',
    'Nothing, unless it stays.',
  ),
  LowCredit: retryable(
    'The credit is below limits.minCredit.',
    'Add credit at the marketplace, or lower the limit.',
  ),
  SpendLimitReached: retryable(
    'The spending of the hour or month reached its limit.',
    'Raise the limit, or wait.',
  ),
  CreditUnknown: retryable('The key may not read the credit.', 'Use a key with the category user_read.'),
  MachinesRemain: retryable(
    'Objects still use the account, so it cannot go.',
    'Delete the objects that the message names.',
  ),
  OrphansFound: retryable(
    'Machines of ours bill and no object claims them.',
    'Destroy them, or set orphanPolicy: Destroy.',
  ),
  LabelsNotEchoed: progress('The marketplace does not give labels back; rentals go one at a time.'),
} as const;
