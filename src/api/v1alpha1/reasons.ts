import { good, progress, type ReasonEntry, retryable, terminal } from './reason-entry.ts';

export type { ReasonEntry } from './reason-entry.ts';

/** The normal life of a machine. */
const lifeReasons = {
  Ready: good('Everything matches the spec.'),
  Rented: good('A machine is rented.'),
  Stopped: good('The machine is stopped as requested.', { billsWhileIdle: true }),
  Pending: progress({}, 'The operator has not reached it yet; the message names the steps before it.'),
  Provisioning: progress({}, 'The machine is being provisioned.'),
  Loading: progress({}, 'The image is loading.'),
  Starting: progress({}, 'The operator requested the start of the machine.'),
  Stopping: progress({ endsService: true }, 'The operator requested the stop of the machine.'),
  Replacing: progress(
    { endsMachine: true, endsService: true },
    'The machine is being destroyed before another is rented.',
  ),
  Deleting: progress({}, 'The object is being deleted, after its machine.'),
  NotRunning: progress({ billsWhileIdle: true }, 'The container does not run.'),
  NotReachable: retryable(
    {},
    'The machine runs but cannot be reached: a port has no public address, or the readiness probe fails.',
    "Check the container's log, spec.ports and spec.readinessProbe.",
  ),
  ReconcileError: retryable(
    {},
    'Reconciling the object fails with an unexpected error, or Kubernetes does not answer. The operator retries with backoff; other objects are not affected.',
    "If this persists, check the operator's log for errors of this object, and the API server with its admission webhooks.",
  ),
} as const;

/** Reasons why a machine ended or is not trusted. */
const troubleReasons = {
  Exited: retryable(
    { avoids: 'machine', mayBeImage: true, ground: 'status' },
    'The container ended.',
    "Check the container's log: if spec.image or spec.onStart is the cause, every replacement ends the same way.",
  ),
  HostOffline: retryable(
    { avoids: 'host', patience: 'offline', ground: 'status' },
    'The host of the machine is offline or sends no heartbeat to the marketplace.',
    'No action needed: if it stays offline, another machine is rented, unless spec.replacement.policy is Never.',
  ),
  EndedItself: retryable(
    { endsByItself: true },
    'The machine is gone, and its own fuse was due: nothing had renewed its lease, or ended it at maxLifetime.',
    'No action needed: another machine is rented unless spec.maxLifetime is over or spec.onVanish is Hold. If the operator was not down, check its connection to machines.',
  ),
  Vanished: retryable(
    { endsByItself: true },
    'Another client destroyed the machine.',
    'No action needed: another machine is rented. Set spec.onVanish to Hold to decide yourself.',
  ),
  VanishedHeld: terminal(
    { phase: 'Lost' },
    'The machine is gone, and not by this operator; spec.onVanish is Hold, so no other is rented.',
    'Set spec.onVanish to Recreate to rent another, or delete the object.',
  ),
  ProvisioningTimedOut: retryable(
    { avoids: 'machine', patience: 'provisioning', ground: 'status' },
    'The machine was not provisioned within spec.timeouts.provisioning.',
    'No action needed: another machine is rented. If this happens often, raise spec.timeouts.provisioning.',
  ),
  LoadingTimedOut: retryable(
    { avoids: 'machine', mayBeImage: true, patience: 'loading', ground: 'status' },
    'The image did not load within spec.timeouts.loading.',
    'Check that spec.image exists; for a large image raise spec.timeouts.loading.',
  ),
  SoldToOther: retryable(
    { avoids: 'machine', ground: 'status' },
    'Another customer has this machine: by a higher bid, or because the marketplace sold the offer twice.',
    'No action needed: another machine is rented, unless spec.replacement.policy is Never. With pricing Interruptible, raise bid in spec.offers or set pricing to OnDemand.',
  ),
  CannotStart: retryable(
    { avoids: 'machine', mayBeImage: true, patience: 'start', ground: 'status' },
    'The stopped machine did not start within spec.timeouts.start, or spec.wakeTimeout of its group; another customer may rent its GPUs.',
    'No action needed: another machine is rented, unless spec.replacement.policy is Never. To wait longer, raise the timeout.',
  ),
  ReplacementOff: terminal(
    { endsForGood: true, isLasting: true, phase: 'Lost' },
    'The machine is lost, and spec.replacement.policy is Never.',
    'Delete the object, or set spec.replacement.policy to Always to rent another.',
  ),
  PriceRaised: retryable(
    { isChosen: true, ground: 'price', endsInMass: true },
    'The machine costs more than its offer.',
    'Set spec.onPriceAbove to Replace to replace it; with Report, or if only a limit of the account is exceeded, it is kept at this price.',
  ),
  DiffersFromOffer: retryable(
    {},
    'The marketplace shows another price, start or hardware of the machine than the one on record; the machine is kept.',
    'Check the machine. To replace it, set the annotation gpurental.dev/replace-at to the present time.',
  ),
  ContractEnd: terminal(
    { ground: 'contract' },
    'The rental contract has ended, so the marketplace has stopped the machine.',
    'Copy what you need from the disk. spec.onContractEnd decides what follows; to replace the machine now, set the annotation gpurental.dev/replace-at.',
  ),
  SpecChanged: progress(
    { isChosen: true, ground: 'request', endsInMass: true },
    'The spec changed, and the machine still matches the old one.',
    'With spec.updateStrategy.type OnDelete, set the annotation gpurental.dev/replace-at when a replacement suits.',
  ),
  ReplaceRequested: progress(
    { isChosen: true, ground: 'request' },
    'The annotation gpurental.dev/replace-at requests another machine.',
  ),
  ReplacementBlocked: retryable(
    {},
    'A replacement is due, but no machine can be rented now, so the present one is kept.',
    'Follow the message, or revert the change. The operator searches again at growing intervals.',
  ),
  LifeFuseFixed: retryable(
    {},
    'The machine ends itself before the operator would: its fuse was set by the maxLifetime of its rental, and cannot be changed.',
    'To go on longer, save its work and run gpu-rent replace, which rents a machine with the present limit.',
  ),
  LeaseNotRenewed: retryable(
    {},
    'The lease of the machine is not renewed.',
    'Check that the operator may connect to the SSH port of the machine (by: SSH) or the machine to --worker-report-url (by: Report), and that its start script leaves /var/tmp/.gpurental alone. To end the lease, remove spec.lease and replace the machine.',
  ),
  Idle: terminal(
    { isChosen: true, ground: 'status', endsInMass: true, endsForGood: true, phase: 'Stopped' },
    'The GPUs of the machine are idle by spec.idle, or the operator has stopped or destroyed the machine for that.',
    'To use the machine longer, or to start again after its end, run gpu-rent start, or set the annotation gpurental.dev/idle-extend-until to a later time.',
  ),
  DestroyFailing: retryable(
    { endsMachine: true, endsService: true },
    'The machine cannot be destroyed, and it bills.',
    "Check the key of the MarketplaceAccount. If the key is lost, set spec.deletionPolicy to Retain, delete the object, and destroy the machine in the marketplace's console.",
  ),
  Destroyed: good('The machine is confirmed gone.'),
  Released: good('The machine was released by spec.deletionPolicy, and it still bills.'),
} as const;

/** Reasons of a run, an object with `spec.completion`. */
const runReasons = {
  Completed: {
    ...good('The program of the run ended with exit code 0.'),
    ...({ endsRun: true, ground: 'request' } as const),
  },
  RunFailed: retryable(
    { endsRun: true, isChosen: true, ground: 'request' },
    'The program of the run ended with an exit code that is retried.',
    'See status.run and the log of the run. The operator rents another machine until completion.backoffLimit is reached.',
  ),
  ResultUnknown: retryable(
    { endsRun: true, ground: 'status' },
    'The program of the run ended, and neither the log nor the files of its machine have shown its exit code.',
    'No action needed: the operator reads again, for 10 minutes, then the machine counts for completion.lostLimit. Results of a program belong outside of its machine.',
  ),
  BackoffLimit: terminal(
    { endsRun: true, isChosen: true, ground: 'request', endsForGood: true, phase: 'Failed' },
    'The program of the run failed, and completion.backoffLimit or completion.retryCodes allows no other attempt.',
    'Correct the program by its log, then create a new object.',
  ),
  LostLimit: terminal(
    { endsRun: true, ground: 'request', endsForGood: true, phase: 'Failed' },
    'The run lost more machines than completion.lostLimit.',
    'Choose more reliable offers in spec.offers, or a higher lostLimit, in a new object.',
  ),
  DeadlineExceeded: terminal(
    { endsRun: true, isChosen: true, ground: 'request', endsForGood: true, phase: 'Failed' },
    'The run reached maxLifetime or maxTotalCost before its program ended.',
    'Create a new object with higher limits; a program that saves checkpoints goes on from them.',
  ),
  Cancelled: terminal(
    { endsRun: true, isChosen: true, ground: 'request', endsForGood: true, phase: 'Failed' },
    'The annotation gpurental.dev/cancel-at ended the run.',
    'To run the program again, create a new object.',
  ),
} as const;

/** Reasons about the owner of a machine. */
const ownershipReasons = {
  NameTaken: retryable(
    {},
    'A Secret, Service, EndpointSlice or ConfigMap with the required name has another owner, or its groups declare different ports.',
    'Remove or rename the other object, or use another name for this one. Give groups with the same spec.endpointName the same ports.',
  ),
  AdoptionTargetInvalid: terminal(
    { waitsFor: 'machine' },
    'The machine in spec.adopt.instanceId cannot be adopted: the marketplace does not list it, or it has an owner.',
    'Create a new object whose spec.adopt.instanceId names an existing machine of this login without a label or claim.',
  ),
  RecordUnreadable: terminal(
    {},
    "The operator's record in the annotation gpurental.dev/rental-intent or in status.record was edited, or is of a newer version, so the operator neither rents nor destroys by it.",
    "Install the newer version again, if one wrote it. Otherwise look for machines of this object in the marketplace's console, then delete the object.",
  ),
  CopiedObject: terminal(
    {},
    'The object is a copy, from a backup or of another object, and the machine of the original is still listed.',
    'Delete this object, or remove its annotation: kubectl annotate gpui NAME gpurental.dev/rental-intent-. The machine of the original is not touched.',
  ),
} as const;

/** Reasons why nothing is rented. */
const rentingReasons = {
  Queued: progress(
    {},
    "Waiting in the queue of the login: for the marketplace's rate limit, or for the check of an earlier rental; no action needed.",
  ),
  NoOffers: retryable(
    { search: 'foundNothing', isLasting: true },
    'No offer matches the requirements within the maximum price.',
    'Relax spec.offers as the message suggests, or wait: the operator keeps searching.',
  ),
  RentalRefused: retryable(
    {},
    'The marketplace refused the rental, and nothing was rented.',
    'Check spec.image, spec.disk and spec.ports; the operator tries another offer.',
  ),
  InvalidSpec: terminal(
    { isLasting: true, isNotItsOwn: true },
    'The spec has a value that cannot work.',
    'Correct the field that the message names.',
  ),
  RentalUncertain: retryable(
    {},
    'The marketplace did not answer a rental, or named a machine without its label; no other is rented until its lists show the result.',
    "If no machine is named here and this persists, check the marketplace's console for a machine that this object does not name.",
  ),
  OldMachineNotGone: retryable(
    { endsMachine: true, endsService: true, passes: 'withinMoments' },
    'The old machine is not confirmed gone, so no other is rented.',
    "If this persists, destroy that machine in the marketplace's console.",
  ),
  RepeatedFailure: retryable(
    {},
    'Machine after machine failed in the same way, so the spec is the likely cause and the next rental waits.',
    'Correct the image, its pull Secret, the start script or the probe: a change of the spec ends the wait. To retry now, set the annotation gpurental.dev/requested-at.',
  ),
  BreakerOpen: retryable(
    { passes: 'asAccountReports', isLasting: true, isNotItsOwn: true },
    'More machines of the account are unhealthy than spec.maxUnhealthy allows, so none is replaced or swept.',
    'Check the status of the marketplace. The breaker closes when the machines recover. After spec.maxUnhealthyHold, or if you set the annotation gpurental.dev/close-breaker on the MarketplaceAccount, machines are replaced one at a time.',
  ),
  Paused: progress(
    { billsWhileIdle: true, isLasting: true, isNotItsOwn: true, phase: 'Paused' },
    'The object is paused: spec.paused is true.',
    'To continue, set spec.paused or spec.pause of a group to false, or remove the annotation gpurental.dev/hold.',
  ),
  AccountMissing: retryable(
    { isLasting: true, isNotItsOwn: true },
    'The MarketplaceAccount does not exist, or the operator does not watch its namespace.',
    'Create the account, let the operator watch its namespace, or create a new object whose spec.accountRef names an existing one.',
  ),
  AccountNotReady: retryable(
    { passes: 'asAccountReports', isNotItsOwn: true },
    'The MarketplaceAccount is not ready.',
    'Check the conditions of the MarketplaceAccount; this object continues when it is ready.',
  ),
  Suspended: retryable(
    { isLasting: true, isNotItsOwn: true },
    'The MarketplaceAccount is suspended: the operator neither rents nor starts machines with it.',
    'Run gpu-rent resume account NAME, or set spec.suspend of the MarketplaceAccount to false.',
  ),
  NotAllowedByAccount: terminal(
    { waitsFor: 'account', isLasting: true, isNotItsOwn: true },
    'No MarketplaceAccount of that name allows the namespace of this object.',
    'Check spec.accountRef, or ask the owner of the account to allow it: spec.allowedNamespaces for a namespace, spec.adoption for an adoption.',
  ),
  NotPermitted: retryable(
    {
      isLasting: true,
      needsFix: true,
      loses: 'account',
      cause: 'The operator may not read the Secret of the API key',
    },
    'Kubernetes refuses a write that the operator needs: a permission is missing, or a quota or an admission policy forbids it.',
    'Grant the permission, raise the quota or change the policy that the message names.',
  ),
  LimitReached: terminal(
    {
      isChosen: true,
      ground: 'price',
      endsInMass: true,
      endsForGood: true,
      isLasting: true,
      phase: 'Failed',
    },
    'A limit of this object on lifetime or cost is reached.',
    'Raise spec.maxLifetime or spec.maxTotalCost, or delete the object.',
  ),
  AtLimit: retryable(
    { isLasting: true, isNotItsOwn: true, needsFix: true },
    'A limit leaves no room: of the account, of rentals in an hour, or of the size or price of a group.',
    'Raise the limit that the message names, or wait until there is room.',
  ),
  BudgetReached: retryable(
    { isLasting: true, isNotItsOwn: true, needsFix: true },
    'A SpendBudget of the namespace leaves no room: for a rental, for a start, or at all.',
    'Wait for the next month if the message names it, end other machines of the namespace, or ask for a higher SpendBudget.',
  ),
  InsufficientCredit: retryable(
    { isLasting: true, isNotItsOwn: true, needsFix: true, loses: 'account', cause: 'Credit is used up' },
    'The login has too little credit: not more than spec.limits.minCredit of the account, or too little for a rental.',
    "Add credit in the marketplace's console, or lower spec.limits.minCredit.",
  ),
  InputMissing: retryable(
    { isLasting: true, needsFix: true, loses: 'account', cause: 'The Secret of the API key cannot be used' },
    'A Secret, a key in it, or an SSH key of the login is missing or cannot be used.',
    'Create or correct the named object, or change the spec.',
  ),
} as const;

/** Reasons of the account, its login and orphaned machines. */
const accountReasons = {
  KeyRejected: terminal(
    { loses: 'account', cause: 'Marketplace refused the API key' },
    'The marketplace does not accept the key.',
    'Put a valid API key into the Secret, not the key of a session.',
  ),
  KeyTooNarrow: terminal(
    { loses: 'account', cause: 'The API key lacks a permission' },
    'The key lacks permissions, so the operator rents no machine that it could not destroy.',
    'Use a key with the categories that the message names.',
  ),
  LoginChanged: terminal(
    {},
    'The key belongs to another login, so the operator changes and destroys nothing with it.',
    'Restore a key of the pinned login, and create another MarketplaceAccount for the other one.',
  ),
  UsingKeptKey: retryable(
    { needsFix: true, loses: 'account', cause: 'The API key of the Secret cannot be used' },
    'The Secret is missing, or its key is refused or may not destroy, so the operator uses the key that it kept, to list and destroy only.',
    'Restore the Secret, with a key of the same login.',
  ),
  CreditLow: retryable(
    {},
    'The credit of the login lasts about a day or less at the present hourly cost, or until it reaches spec.limits.minCredit of the account.',
    "Add credit in the marketplace's console before it is used up, or stop or delete what is not needed.",
  ),
  AddressInvalid: terminal(
    { cause: 'The address or the certificate of the marketplace cannot be used' },
    "The address in spec.url is not one of the operator's marketplaces, leads to a private address, or has no valid certificate.",
    'Follow the message. An address is allowed by --marketplace-url and --allow-private-addresses; a certificate needs the right clock and authorities.',
  ),
  Unreachable: retryable(
    { passes: 'withMarketplace', isNotItsOwn: true, loses: 'marketplace' },
    'The marketplace does not answer.',
    'Check the network and the status of the marketplace; the operator keeps retrying.',
  ),
  Throttled: retryable(
    {
      passes: 'withMarketplace',
      isNotItsOwn: true,
      loses: 'marketplace',
      cause: 'Marketplace limited the number of requests',
    },
    'The marketplace limits the number of requests, so they are spaced further apart.',
    'No action needed. If this persists, raise spec.pollInterval of the MarketplaceAccount.',
  ),
  OrphanFound: retryable(
    {},
    'A machine rented by this operator bills, and no GpuInstance claims it. This is an event; status.machines of the account counts them.',
    'List them by gpu-rent orphans, then destroy them by gpu-rent destroy instance ID --force. The operator never destroys one with a copied label: find out who rented it.',
  ),
  IdentityInvalid: terminal(
    {},
    'The identity of this installation is missing or belongs to another cluster, so the operator destroys nothing by it.',
    'Restore the Secret gpu-rental-operator-identity from a backup, or delete it if this cluster is a copy; the message says which.',
  ),
  OrphansHeld: terminal(
    {},
    'Many machines lost their GpuInstances at once, or the cluster was restored from a backup, so no orphaned machine is destroyed.',
    'Restore the objects or check the machines, then set the annotation that the message names on the MarketplaceAccount to a new value, such as the time.',
  ),
} as const;

/** Reasons of groups. */
const groupReasons = {
  ScaledToZero: good('No worker is hot because there is no load.'),
  Scaling: progress({}, 'Workers are being rented, started, drained, replaced or stopped.'),
  NoReadyWorkers: progress({}, 'No worker is ready, or none is desired.'),
  EndpointsLeftOut: retryable(
    {},
    'A ready worker is not published: its address is private or not IPv4, or the ConfigMap of the workers has no room.',
    'Other workers serve meanwhile. Delete the GpuInstance of that worker to get another machine, run the operator with --allow-private-addresses true, or use several groups.',
  ),
  Saturated: retryable(
    {},
    'Every hot worker is full, or requests take longer than spec.targetQueueTime.',
    'No action needed while workers are added; otherwise raise spec.maxWorkers, spec.maxSpendPerHour or spec.targetQueueTime.',
  ),
  LoadUnavailable: retryable(
    {},
    'Load figures are missing or invalid, so no worker is removed.',
    'Check the load source under spec.load that the message names, and what the workers report. For a gateway, run gpu-rent endpoint-picker with the address of the operator, and the operator with --gateway-reports.',
  ),
  WorkersFailing: retryable(
    { mayBeImage: true },
    'Workers cannot be rented, or they do not boot.',
    'Check the conditions of the GpuInstances of the group.',
  ),
} as const;

/** All reasons of conditions and events of this operator. */
export const reasons = {
  ...lifeReasons,
  ...rentingReasons,
  ...troubleReasons,
  ...runReasons,
  ...ownershipReasons,
  ...accountReasons,
  ...groupReasons,
} as const satisfies Record<string, ReasonEntry>;

export type Reason = keyof typeof reasons;

/**
 * Returns the entry of the reason of a condition or event, with its facets; without any if this version does not know
 * it.
 */
export function facetsOf(reason: string | undefined): Partial<ReasonEntry> {
  return reason !== undefined && isReason(reason) ? reasons[reason] : {};
}

/** Narrows the reason of a condition to one of the catalogue. */
export function isReason(reason: string): reason is Reason {
  return Object.hasOwn(reasons, reason);
}

/** Reasons whose entry has this facet. */
export type ReasonWith<Facet extends keyof ReasonEntry> = {
  [Name in Reason]: (typeof reasons)[Name] extends { readonly [Key in Facet]: unknown } ? Name : never;
}[Reason];

/** Returns true if a reason stalls its object until a person acts. */
export function isTerminal(reason: Reason): boolean {
  return reasons[reason].kind === 'terminal';
}

const REFERENCE = 'https://github.com/gpu-rental-operator/gpu-rental-operator/blob/main/docs/reference';

/** Returns the kind of object whose controller sets a reason first; a group also shows the reasons of its workers. */
export function reasonKind(reason: string): 'GpuInstance' | 'MarketplaceAccount' | 'EndpointGroup' {
  if (reason in accountReasons) return 'MarketplaceAccount';
  return reason in groupReasons ? 'EndpointGroup' : 'GpuInstance';
}

/** Returns the page of `docs/reference` with the section of a reason, and the anchor of that section. */
export function reasonLink(reason: string): string {
  return `reasons-${reasonKind(reason).toLowerCase()}.md#${reason.toLowerCase()}`;
}

interface Spoken {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

/** The conditions that users read first. */
const LEADING = ['Ready', 'Stalled'];

/** Returns the condition with the link to its reason's section, if it reports a problem and users read it first. */
export function withPage<Condition extends Spoken>(condition: Condition): Condition {
  const { type, reason, message } = condition;
  if (!LEADING.includes(type) || !isTrouble(reason)) return condition;
  return { ...condition, message: `${message} See ${REFERENCE}/${reasonLink(reason)}` };
}

function isTrouble(reason: string): boolean {
  if (!Object.hasOwn(reasons, reason)) return false;
  const { kind } = reasons[reason as Reason];
  return kind === 'terminal' || kind === 'retryable';
}
