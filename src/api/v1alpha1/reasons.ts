/** One word of the catalogue. */
export interface ReasonEntry {
  /**
   * `good`: nothing to do. `progress`: the operator is at work. `retryable`: it goes on by itself when the
   * cause ends. `terminal`: Stalled until a person acts.
   */
  readonly kind: 'good' | 'progress' | 'retryable' | 'terminal';
  /** What happened. */
  readonly sentence: string;
  /** What a person can do; left out where nothing is to be done. */
  readonly remedy?: string;
}

const good = (sentence: string) => ({ kind: 'good', sentence }) as const;
const progress = (sentence: string, remedy?: string) =>
  ({ kind: 'progress', sentence, ...(remedy && { remedy }) }) as const;
const retryable = (sentence: string, remedy: string) => ({ kind: 'retryable', sentence, remedy }) as const;
const terminal = (sentence: string, remedy: string) => ({ kind: 'terminal', sentence, remedy }) as const;

/** The life of a machine as it should go. */
const life = {
  Ready: good('Everything that is wanted holds.'),
  Rented: good('A machine is rented.'),
  Adopted: good('An existing machine was taken over.'),
  Observed: good('An existing machine is watched and never touched.'),
  Running: good('The container runs.'),
  ProbeSucceeded: good('The readiness probe succeeds.'),
  Stopped: good('The machine is stopped, as wanted; its disk bills.'),
  WithinLimits: good('Price, lifetime and total cost are within their limits.'),
  Reconciled: good('Nothing is left to do.'),
  Pending: progress('The operator has not looked at the object yet.'),
  Searching: progress('Offers are being searched.'),
  RentalPending: progress('A rental is on its way.'),
  Provisioning: progress('The machine is being provisioned.'),
  Loading: progress('The image is loading.'),
  Starting: progress('The machine was asked to start.'),
  Stopping: progress('The machine was asked to stop.'),
  Replacing: progress('The machine is being destroyed, so that another can be rented.'),
  Destroying: progress('The machine is being destroyed.'),
  Deleting: progress('The object is being deleted; its machine goes first.'),
  NotRented: progress('No machine is rented.'),
  NotRunning: progress('The container does not run.'),
  StatusUnrecognized: progress(
    'The marketplace names a state that is not known here; it is shown and never judged.',
  ),
  ProbeFailing: retryable(
    'The readiness probe fails.',
    "Look at the container's log and at the port of the probe.",
  ),
  AddressUnknown: progress('The marketplace has not named an address or port yet.'),
} as const;

/** Why nothing is rented. */
const renting = {
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

/** Why a machine ended or is not trusted. */
const trouble = {
  Exited: retryable('The container ended.', "Look at the container's log."),
  HostOffline: retryable('The host is disconnected.', 'Nothing; another machine is rented.'),
  HostSilent: retryable('The host sends no heartbeat.', 'Nothing; another machine is rented.'),
  Vanished: retryable('Someone else destroyed the machine.', 'Nothing; or set onVanish: Hold.'),
  VanishedHeld: terminal(
    'Someone else destroyed the machine, and onVanish is Hold.',
    'Set onVanish: Recreate, or delete the object.',
  ),
  ProvisioningTimedOut: retryable(
    'The machine was not provisioned in time.',
    'Nothing; or raise timeouts.provisioning.',
  ),
  LoadingTimedOut: retryable(
    'The image did not load in time.',
    'Check the image; or raise timeouts.loading.',
  ),
  Outbid: retryable(
    'Someone else bid more, and the machine was stopped.',
    'Raise bid, or use pricing: OnDemand.',
  ),
  CannotStart: retryable('The stopped machine did not start in time.', 'Nothing; or raise timeouts.start.'),
  StartUnsupported: terminal(
    'The marketplace cannot start a stopped machine.',
    'Set replacement.policy: Always, so that another is rented.',
  ),
  ReplacementOff: terminal(
    'The machine is lost, and replacement.policy is Never.',
    'Set it to Always, or delete the object.',
  ),
  PriceRaised: retryable(
    'The machine costs more than its offer said.',
    'Set onPriceAbove: Replace, or accept it.',
  ),
  SpecChanged: progress(
    'The spec changed; the machine is of the old one.',
    'With updateStrategy OnDelete: replace it when it suits.',
  ),
  ReplaceRequested: progress('The annotation gpurental.dev/replace-at asked for another machine.'),
  Surplus: progress('A second machine of this object is being destroyed.'),
  DestroyFailing: retryable(
    'The machine cannot be destroyed; it bills.',
    'Check the key; or set deletionPolicy: Retain to give the machine up and destroy it by hand.',
  ),
  Destroyed: good('The machine is confirmed gone.'),
  Released: good('The machine was given up and still bills, as deletionPolicy says.'),
} as const;

/** Whose a machine is. */
const ownership = {
  NameTaken: retryable(
    'A Secret or Service of that name exists and is not ours.',
    'Rename this object, or remove the other.',
  ),
  AlreadyOwned: terminal("The machine to adopt carries someone's label or claim.", 'Name another machine.'),
  AdoptionNotAllowed: terminal(
    'The account does not allow adoption.',
    "Set the account's adoption: Unlabelled.",
  ),
  AdoptionTargetMissing: terminal(
    'The machine to adopt does not exist.',
    'Name another machine in a new object.',
  ),
  IntentTampered: terminal(
    'The record of a rental was changed by someone else.',
    'Look at the machines of the login; then delete the object.',
  ),
  IntentUnknown: terminal(
    'The record of a rental is of a newer version.',
    'Run the newer operator again, or delete the object with it.',
  ),
  RestoredElsewhere: terminal(
    'The object was restored, and the machine of its former self is still listed.',
    'Delete this object, or destroy that machine.',
  ),
  LabelCopied: retryable(
    'A machine carries our label outside its time; it is never touched.',
    'Remove the label from it.',
  ),
  IdentityLost: terminal(
    'The identity of this installation is gone although it has machines.',
    'Restore the Secret gpu-rental-operator-identity; the message has the command.',
  ),
  ClusterChanged: terminal(
    'The identity belongs to another cluster; nothing is swept.',
    'If this cluster is a copy, delete the identity Secret here.',
  ),
  MemoryRolledBack: terminal(
    'Machines of ours are younger than the newest rental on record: the cluster was restored from a backup.',
    'Look at the machines that are named; then set the annotation gpurental.dev/confirm-rollback on the account.',
  ),
} as const;

/** The account. */
const account = {
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

/** Groups. */
const group = {
  Stable: good('The number of workers is what is wanted.'),
  ScaledToZero: good('No worker is hot, since there is no load.'),
  MetricsFresh: good('Load figures arrive and are believable.'),
  ScalingUp: progress('Workers are being rented or woken.'),
  ScalingDown: progress('Workers are being stopped or destroyed.'),
  Waking: progress('A cold worker is being woken.'),
  RollingUpdate: progress('Workers of an old template are being replaced.'),
  Draining: progress('Workers finish their work before they go.'),
  NoReadyWorkers: progress('No worker is ready.'),
  ScalingPaused: progress('The number of workers is kept by spec.pause.', 'Set it to false to go on.'),
  AtMaxWorkers: retryable('The load needs more workers than maxWorkers.', 'Raise maxWorkers.'),
  AtSpendCeiling: retryable(
    'The load needs more workers than maxSpendPerHour pays for.',
    'Raise maxSpendPerHour.',
  ),
  Saturated: retryable(
    'Every hot worker is full.',
    'Nothing while workers are added; else raise the limits.',
  ),
  TargetQueueTimeTooShort: retryable(
    'Requests take longer than targetQueueTime, and look like a queue.',
    'Raise targetQueueTime, or use a source that tells waiting from running.',
  ),
  MetricsMissing: retryable(
    'No worker tells its load; the number of workers is not lowered.',
    'Check port, path and worker.',
  ),
  MetricsInvalid: retryable('Load figures cannot be true.', 'Check the names of the figures and the worker.'),
  LoadSourceUnreachable: retryable(
    'The load source does not answer.',
    'Check the source that the message names.',
  ),
  PerfUnknown: progress(
    'No worker has told what it can do; one is measured first.',
    'Set expectedPerf to skip this.',
  ),
  WakeTimedOut: retryable(
    'A cold worker did not wake in time; it is replaced.',
    'Nothing; or raise wakeTimeout.',
  ),
  AddressNotPublishable: retryable(
    'A worker has an address that may not be published.',
    'Nothing; the worker is not used.',
  ),
  ServicePortsDiffer: retryable(
    'Groups that share a Service declare different ports.',
    'Give them the same ports.',
  ),
  WorkersFailing: retryable(
    'Workers cannot be rented or do not boot.',
    'Look at the conditions of the workers.',
  ),
} as const;

/** Every reason that a condition or an event of ours can carry. */
export const reasons = {
  ...life,
  ...renting,
  ...trouble,
  ...ownership,
  ...account,
  ...group,
} as const satisfies Record<string, ReasonEntry>;

export type Reason = keyof typeof reasons;

/** Whether a reason stalls its object until a person acts. */
export function isTerminal(reason: Reason): boolean {
  return reasons[reason].kind === 'terminal';
}
