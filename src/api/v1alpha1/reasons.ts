import { good, progress, type ReasonEntry, retryable, terminal } from './reason-entry.ts';

export type { ReasonEntry } from './reason-entry.ts';

/** The life of a machine as it should go. */
const lifeReasons = {
  Ready: good('Everything matches the spec.'),
  Rented: good('A machine is rented.'),
  Stopped: good('The machine is stopped as requested.', { billsWhileIdle: true }),
  Pending: progress({}, 'The operator has not come to it yet; the message says what comes first.'),
  Provisioning: progress({}, 'The machine is being provisioned.'),
  Loading: progress({}, 'The image is loading.'),
  Starting: progress({}, 'The machine was asked to start.'),
  Stopping: progress({ endsService: true }, 'The machine was asked to stop.'),
  Replacing: progress(
    { endsMachine: true, endsService: true },
    'The machine is being destroyed, so that another can be rented.',
  ),
  Deleting: progress({}, 'The object is being deleted; its machine goes first.'),
  NotRunning: progress({ billsWhileIdle: true }, 'The container does not run.'),
  NotReachable: retryable(
    {},
    'The machine runs and cannot be reached: a port has no public address, or the readiness probe fails.',
    "Look at the container's log, and check spec.ports and spec.readinessProbe.",
  ),
  ReconcileError: retryable(
    {},
    'Reconciling the object fails: with an error that the operator does not expect, or because Kubernetes does not answer. It retries with backoff; other objects are not affected.',
    "If this stays, look at the operator's log for this object at level error, and at the API server and its admission webhooks.",
  ),
} as const;

/** Why a machine ended or is not trusted. */
const troubleReasons = {
  Exited: retryable(
    { avoids: 'machine', mayBeImage: true, ground: 'status' },
    'The container ended.',
    "Look at the container's log; if spec.image or spec.onStart is at fault, every replacement ends the same way.",
  ),
  HostOffline: retryable(
    { avoids: 'host', patience: 'offline', ground: 'status' },
    'The host of the machine is offline or sends no heartbeat to the marketplace.',
    'You need not do anything: if it stays away, another machine is rented, unless spec.replacement.policy is Never.',
  ),
  Vanished: retryable(
    {},
    'The machine was destroyed, and not by this operator.',
    'You need not do anything: another machine is rented. Set spec.onVanish to Hold to be asked first.',
  ),
  VanishedHeld: terminal(
    { phase: 'Lost' },
    'The machine was destroyed, and not by this operator; spec.onVanish is Hold, so no other is rented.',
    'Set spec.onVanish to Recreate to rent another, or delete the object.',
  ),
  ProvisioningTimedOut: retryable(
    { avoids: 'machine', patience: 'provisioning', ground: 'status' },
    'The machine was not provisioned within spec.timeouts.provisioning.',
    'You need not do anything: another machine is rented. If this happens often, raise spec.timeouts.provisioning.',
  ),
  LoadingTimedOut: retryable(
    { avoids: 'machine', mayBeImage: true, patience: 'loading', ground: 'status' },
    'The image did not load within spec.timeouts.loading.',
    'Check that spec.image exists and how large it is; for a large image raise spec.timeouts.loading.',
  ),
  SoldToOther: retryable(
    { avoids: 'machine', ground: 'status' },
    'The marketplace gave this machine to another customer: by a higher bid, or because it sold one offer twice.',
    'You need not do anything: another machine is rented, unless spec.replacement.policy is Never. With pricing Interruptible, raise bid in spec.offers or set pricing to OnDemand.',
  ),
  CannotStart: retryable(
    { avoids: 'machine', mayBeImage: true, patience: 'start', ground: 'status' },
    'The stopped machine did not start within spec.timeouts.start; its GPUs may be rented to someone else.',
    'You need not do anything: another machine is rented, unless spec.replacement.policy is Never. To wait longer, raise spec.timeouts.start.',
  ),
  ReplacementOff: terminal(
    { endsForGood: true, isLasting: true, phase: 'Lost' },
    'The machine is lost, and spec.replacement.policy is Never.',
    'Delete the object, or set spec.replacement.policy to Always to rent another.',
  ),
  PriceRaised: retryable(
    { isChosen: true, ground: 'price', endsInMass: true },
    'The machine costs more than its offer said.',
    'Set spec.onPriceAbove to Replace to have it replaced; with Report, or where only a limit of the account is passed, it is kept at this price.',
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
    'The spec changed, and the machine still is as the old spec said.',
    'With spec.updateStrategy.type OnDelete, set the annotation gpurental.dev/replace-at when a replacement suits.',
  ),
  ReplaceRequested: progress(
    { isChosen: true, ground: 'request' },
    'The annotation gpurental.dev/replace-at asks for another machine.',
  ),
  ReplacementBlocked: retryable(
    {},
    'Another machine is due, and none can be rented now, so the present one is kept.',
    'Do what the message names, or revert the change. The operator searches again by itself, at longer and longer intervals.',
  ),
  Surplus: progress({}, 'A second machine of this object is being destroyed.'),
  DestroyFailing: retryable(
    { endsMachine: true, endsService: true },
    'The machine cannot be destroyed, and it bills.',
    "Check the key of the MarketplaceAccount. If the key is lost for ever, set spec.deletionPolicy to Retain, delete the object, and destroy the machine in the marketplace's console.",
  ),
  Destroyed: good('The machine is confirmed gone.'),
  Released: good('The machine was given up as spec.deletionPolicy says, and it still bills.'),
} as const;

/** Whose a machine is. */
const ownershipReasons = {
  NameTaken: retryable(
    {},
    'A Secret, Service, EndpointSlice or ConfigMap of the name that is needed exists and belongs to something else.',
    'Remove or rename the other object, or use another name for this one.',
  ),
  AdoptionTargetInvalid: terminal(
    { waitsFor: 'machine' },
    'The machine in spec.adopt.instanceId cannot be taken over: the marketplace does not list it, or it has an owner.',
    'Make a new object whose spec.adopt.instanceId names an existing machine of this login without a label or claim.',
  ),
  RecordUnreadable: terminal(
    {},
    "The operator's record in the annotation gpurental.dev/rental-intent or in status.record was edited, or is of a newer version, so nothing is rented or destroyed by it.",
    "Install the newer version again, if one wrote it. Otherwise look for machines of this object in the marketplace's console, then delete the object.",
  ),
  CopiedObject: terminal(
    {},
    'The object is a copy, from a backup or of another object, and the machine of the original is still listed.',
    'Delete this object, or remove its annotation: kubectl annotate gpui NAME gpurental.dev/rental-intent-. The machine of the original is not touched.',
  ),
} as const;

/** Why nothing is rented. */
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
    'Check spec.image, spec.disk and spec.ports; another offer is tried.',
  ),
  InvalidSpec: terminal(
    { isLasting: true, isNotItsOwn: true },
    'The spec asks for something that cannot work.',
    'Correct the field that the message names.',
  ),
  RentalUncertain: retryable(
    {},
    'The marketplace did not answer a rental, or named a machine without its label; nothing else is rented until its lists show which machine there is.',
    "Where no machine is named here, you need not do anything unless this stays: then look in the marketplace's console for a machine that this object does not name.",
  ),
  OldMachineNotGone: retryable(
    { endsMachine: true, endsService: true, passes: 'withinMoments' },
    'The old machine is not confirmed gone, so no other is rented.',
    "If this stays, destroy that machine in the marketplace's console.",
  ),
  RepeatedFailure: retryable(
    {},
    'Machine after machine failed in the same way, so the spec is the likely cause and the next rental waits.',
    'Correct the image, its pull Secret, the start script or the probe: a change of the spec ends the wait. The annotation gpurental.dev/requested-at rents once more at once.',
  ),
  TooManyRentals: retryable(
    { isLasting: true, isNotItsOwn: true },
    'As many machines were rented within an hour as spec.replacement.maxPerHour allows, so the next one waits.',
    'Find out in status.history why the machines ended; raise spec.replacement.maxPerHour if so many are meant.',
  ),
  BreakerOpen: retryable(
    { passes: 'asAccountReports', isLasting: true, isNotItsOwn: true },
    'More machines of the account are unhealthy than spec.maxUnhealthy allows, so none is replaced or swept.',
    'Check the status of the marketplace. The breaker closes when the machines recover. After spec.maxUnhealthyHold, or if you set the annotation gpurental.dev/close-breaker on the MarketplaceAccount, machines are replaced one at a time.',
  ),
  Paused: progress(
    { billsWhileIdle: true, isLasting: true, isNotItsOwn: true, phase: 'Paused' },
    'The object is paused: spec.paused is true.',
    'Set spec.paused to false to go on.',
  ),
  Held: progress(
    { billsWhileIdle: true, isNotItsOwn: true },
    'The annotation gpurental.dev/hold keeps the machine from being replaced. Limits of the spec end it all the same.',
    'Remove the annotation to go on.',
  ),
  AccountMissing: retryable(
    { isLasting: true, isNotItsOwn: true },
    'The MarketplaceAccount does not exist, or the operator does not watch its namespace.',
    'Create the account, let the operator watch its namespace, or make a new object whose spec.accountRef names an existing one.',
  ),
  AccountNotReady: retryable(
    { passes: 'asAccountReports', isNotItsOwn: true },
    'The MarketplaceAccount is not ready.',
    'Look at the conditions of the MarketplaceAccount; this object goes on when it is ready.',
  ),
  Suspended: retryable(
    { isLasting: true, isNotItsOwn: true },
    'The MarketplaceAccount is suspended: nothing is rented or started.',
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
    'Kubernetes refuses a write that the operator needs: a right is missing, or a quota or an admission policy forbids it.',
    'Grant the right, raise the quota or change the policy that the message names.',
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
  AccountLimitReached: retryable(
    { isLasting: true, isNotItsOwn: true },
    'A limit of the MarketplaceAccount leaves no room for another machine.',
    'Raise the limit that the message names, or wait until other machines end.',
  ),
  InsufficientCredit: retryable(
    { isLasting: true, isNotItsOwn: true },
    'The login has too little credit.',
    "Add credit in the marketplace's console.",
  ),
  InputMissing: retryable(
    { isLasting: true, needsFix: true, loses: 'account', cause: 'The Secret of the API key cannot be used' },
    'Something that the object needs is missing or cannot be used: a Secret, a key in it, or an SSH key of the login.',
    'Create or correct what the message names, or change the spec.',
  ),
} as const;

/** The account, its login and the machines that no object claims. */
const accountReasons = {
  Authenticated: good('The key proves the pinned login.'),
  Funded: good('Credit and spending leave room for rentals.'),
  ListComplete: good('The marketplace answers with complete lists.'),
  KeyRejected: terminal(
    { loses: 'account', cause: 'Marketplace refused the API key' },
    'The marketplace does not accept the key.',
    'Put a valid key into the Secret.',
  ),
  KeyTooNarrow: terminal(
    { loses: 'account', cause: 'The API key lacks a right' },
    'The key may not do all that is needed, so nothing is rented that could not be destroyed.',
    'Use a key with the categories that the message names.',
  ),
  LoginChanged: terminal(
    {},
    'The key belongs to another login, so nothing is changed or destroyed with it.',
    'Put back a key of the pinned login, and make another MarketplaceAccount for the other one.',
  ),
  UsingKeptKey: retryable(
    { needsFix: true, loses: 'account', cause: 'The API key of the Secret cannot be used' },
    'The Secret is gone, or its key is refused or may not destroy, so the key that the operator kept is used, to list and destroy only.',
    'Restore the Secret, with a key of the same login.',
  ),
  TwoFactorRequired: terminal(
    { loses: 'account', cause: 'Marketplace requires a two-factor login for the key' },
    'The marketplace wants a two-factor login for this key.',
    'Use an API key instead of a session key.',
  ),
  URLNotAllowed: terminal(
    {},
    "The address in spec.url is not one of the operator's marketplaces.",
    'Add it to the operator by --marketplace-url, or make another account with one of them: spec.url cannot change.',
  ),
  Unreachable: retryable(
    { passes: 'withMarketplace', isNotItsOwn: true, loses: 'marketplace' },
    'The marketplace does not answer.',
    'Check the network and the status of the marketplace; it is asked again by itself.',
  ),
  CertificateInvalid: terminal(
    { cause: 'The certificate of the marketplace cannot be trusted' },
    "The marketplace's certificate is not valid.",
    'Check spec.url, the clock of the node and its certificate authorities.',
  ),
  AddressRefused: terminal(
    { cause: 'The operator may not call the address of the marketplace' },
    'The address in spec.url leads to a private or link-local address, which is not called.',
    'Correct spec.url, or start the operator with --allow-private-addresses.',
  ),
  Throttled: retryable(
    {
      passes: 'withMarketplace',
      isNotItsOwn: true,
      loses: 'marketplace',
      cause: 'Marketplace limited the number of requests',
    },
    'The marketplace limits the number of requests, so they are spaced further apart.',
    'You need not do anything. If this stays, raise spec.pollInterval of the MarketplaceAccount.',
  ),
  MalformedReply: retryable(
    { needsFix: true, loses: 'marketplace', cause: 'Marketplace returned a reply that cannot be read' },
    'The marketplace answers something that cannot be read, so it is not believed.',
    'Check that spec.url is the address of a marketplace.',
  ),
  LowCredit: retryable(
    { needsFix: true, loses: 'account', cause: 'Credit is used up' },
    'The credit of the login is not above spec.limits.minCredit.',
    "Add credit in the marketplace's console, or lower spec.limits.minCredit.",
  ),
  SpendLimitReached: retryable(
    { needsFix: true },
    'The spending of the hour or month reached its limit, so nothing is rented.',
    'Raise the limit that the message names, or wait.',
  ),
  CreditUnknown: retryable(
    {},
    'The key may not read the credit of the login.',
    'Use a key with the category user_read.',
  ),
  MachinesRemain: retryable(
    {},
    'Machines of the account remain, so it cannot be removed yet.',
    'Delete the objects that the message names. Machines that no object claims are destroyed first where spec.orphanPolicy is Destroy; set it to Report to let them be.',
  ),
  OrphanFound: retryable(
    {},
    'A machine of ours bills, and no object claims it. This is an event; status.machines.orphaned of the account counts them.',
    'List them by gpu-rent orphans, then destroy them by gpu-rent destroy instance ID --force.',
  ),
  BreakerOpened: retryable(
    {},
    'More machines of the account are unhealthy than spec.maxUnhealthy allows, so replacing and sweeping stopped. This is an event; while it lasts, objects say BreakerOpen.',
    'Check the status of the marketplace. If the machines are gone for good, set the annotation gpurental.dev/close-breaker on the MarketplaceAccount to replace them one at a time.',
  ),
  BreakerReleased: retryable(
    {},
    'Machines stayed unhealthy for spec.maxUnhealthyHold, so they are replaced one at a time, at most 10% in 10 minutes. This is an event.',
    'Check the status of the marketplace. Set the annotation gpurental.dev/hold on objects whose machines must be kept.',
  ),
  LabelCopied: retryable(
    {},
    'A machine carries our label outside its time, beside the original or edited. It bills, and the operator never touches it.',
    "Find out who rented the machine. Destroy it in the marketplace's console if it is not needed; change its label only if it is yours.",
  ),
  LateRental: retryable(
    {},
    'A machine carries our label but started after its time: the marketplace carried a rental out late. It bills.',
    "Destroy it in the marketplace's console. With orphanPolicy Destroy the operator does so when it is older than --late-orphan-age (1h).",
  ),
  IdentityLost: terminal(
    {},
    'The identity of this installation is missing although machines were rented with it, so nothing is rented or destroyed.',
    'Restore the Secret gpu-rental-operator-identity from a backup, or follow the command that the message names.',
  ),
  ClusterChanged: terminal(
    {},
    'The identity of this installation belongs to another cluster, so no orphaned machine is destroyed.',
    'If this cluster is a copy, delete the Secret gpu-rental-operator-identity here.',
  ),
  MassOrphaned: terminal(
    {},
    'More machines lost their GpuInstances at once than maxUnhealthy allows, so no orphaned machine is destroyed.',
    'Restore the objects, or set the annotation gpurental.dev/confirm-orphans on the MarketplaceAccount to a new value, such as the time, to destroy the machines slowly.',
  ),
  MemoryRolledBack: terminal(
    {},
    'Machines of ours are younger than the newest rental on record: the cluster was restored from a backup, so no orphaned machine is destroyed.',
    'Look at the machines that the message names, then set the annotation gpurental.dev/confirm-rollback on the MarketplaceAccount to a value that it has not had, such as the time.',
  ),
} as const;

/** Groups. */
const groupReasons = {
  Stable: good('The number of workers is the desired one.'),
  ScaledToZero: good('No worker is hot, since there is no load.'),
  MetricsFresh: good('Load figures arrive and are believable.'),
  ScalingUp: progress({}, 'Workers are being rented or woken.'),
  ScalingDown: progress({}, 'Workers are being stopped or destroyed.'),
  Waking: progress({}, 'A cold worker is being woken.'),
  RollingUpdate: progress({}, 'Workers of an old template are being replaced.'),
  Draining: progress({}, 'Workers finish their work before they go.'),
  NoReadyWorkers: progress({}, 'No worker is ready.'),
  ScalingPaused: progress(
    {},
    'Scaling is paused by spec.pause.',
    'Set spec.pause.scaleUp or spec.pause.scaleDown to false to go on.',
  ),
  NoReplicas: progress(
    {},
    'No worker is started, since spec.replicas is 0.',
    'Raise spec.replicas, or leave it out.',
  ),
  PickersReport: good('Pickers of the gateway report what they count.'),
  PickersUnseen: progress(
    {},
    'No picker of the gateway has reported since this operator leads.',
    'Run gpu-rent endpoint-picker with the address of the operator, and the operator with --gateway-reports.',
  ),
  PickersSilent: retryable(
    {},
    'No picker of the gateway has reported for 15 s.',
    'Look at the log of gpu-rent endpoint-picker: it says why its reports are not taken.',
  ),
  CallerKeysRead: good('The gateway knows the callers by the Secret of spec.gateway.keys.'),
  CallerKeysUnread: progress(
    {},
    'The gateway has not read the Secret of spec.gateway.keys.',
    'Allow pickers to get that Secret, in the chart by gateway.secrets.',
  ),
  CallerKeysInvalid: retryable(
    {},
    'The Secret of spec.gateway.keys has values that are no SHA-256.',
    'Store the hexadecimal SHA-256 of each key: printf %s "$KEY" | sha256sum.',
  ),
  EndpointsWritten: good('The ConfigMap of the ready workers says which they are.'),
  EndpointsLeftOut: retryable(
    {},
    'The ConfigMap of the ready workers does not list all of them.',
    'Its readers take IPv4 addresses and at most 1 MiB: keep such workers out by the filters of the template, give workers fewer labels, or use several groups.',
  ),
  AtMaxWorkers: retryable({}, 'The load needs more workers than spec.maxWorkers.', 'Raise spec.maxWorkers.'),
  AtSpendCeiling: retryable(
    {},
    'The load needs more workers than spec.maxSpendPerHour pays for.',
    'Raise spec.maxSpendPerHour.',
  ),
  Saturated: retryable(
    {},
    'Every hot worker is full.',
    'You need not do anything while workers are added; otherwise raise spec.maxWorkers or spec.maxSpendPerHour.',
  ),
  TargetQueueTimeTooShort: retryable(
    {},
    'Requests take longer than spec.targetQueueTime, which looks like a queue.',
    'Raise spec.targetQueueTime, or use a load source that tells waiting from running requests.',
  ),
  MetricsMissing: retryable(
    {},
    'No worker reports its load, so the number of workers is not lowered.',
    'Check port and path under spec.load, and that the worker serves its figures.',
  ),
  MetricsInvalid: retryable(
    {},
    'The load figures cannot be true, so no worker is removed by them.',
    'Check the names of the figures under spec.load, and the worker.',
  ),
  LoadSourceUnreachable: retryable(
    {},
    'The load source does not answer.',
    'Check the load source that the message names.',
  ),
  PerfUnknown: retryable(
    {},
    'No worker has reported what it can do, so one is measured first and no more are hot.',
    'Set spec.expectedPerf. The sources Static and Prometheus and the preset VLLM never tell it.',
  ),
  WakeTimedOut: retryable(
    {},
    'A cold worker did not wake within spec.wakeTimeout, so it is replaced.',
    'You need not do anything. If this happens often, raise spec.wakeTimeout.',
  ),
  AddressNotPublishable: retryable(
    {},
    'A worker has an address that may not be published, so it is not used.',
    'You need not do anything: the other workers serve. To get another machine for it, delete the GpuInstance of that worker. Where machines have private addresses on purpose, run the operator with --allow-private-addresses true.',
  ),
  ServicePortsDiffer: retryable(
    {},
    'Groups that share a Service declare different ports.',
    'Give the groups with the same spec.endpointName the same ports.',
  ),
  WriteRefused: retryable(
    {},
    'Kubernetes refuses a write by which the group would change its workers: a quota, an admission policy or a missing right forbids it.',
    'Raise the quota, change the policy or grant the right that the message names. Everything else that the group decides is done meanwhile.',
  ),
  WorkersFailing: retryable(
    { mayBeImage: true },
    'Workers cannot be rented, or they do not boot.',
    'Look at the conditions of the GpuInstances that belong to the group.',
  ),
} as const;

/** Every reason that a condition or an event of ours can carry. */
export const reasons = {
  ...lifeReasons,
  ...rentingReasons,
  ...troubleReasons,
  ...ownershipReasons,
  ...accountReasons,
  ...groupReasons,
} as const satisfies Record<string, ReasonEntry>;

export type Reason = keyof typeof reasons;

/** Entry of the reason of a condition or event, with its facets; without any if this version does not know it. */
export function facetsOf(reason: string | undefined): Partial<ReasonEntry> {
  return reason !== undefined && isReason(reason) ? reasons[reason] : {};
}

/** Narrows a word of a condition to a reason of the catalogue. */
export function isReason(reason: string): reason is Reason {
  return Object.hasOwn(reasons, reason);
}

/** Reasons whose entry has this facet. */
export type ReasonWith<Facet extends keyof ReasonEntry> = {
  [Name in Reason]: (typeof reasons)[Name] extends { readonly [Key in Facet]: unknown } ? Name : never;
}[Reason];

/** Whether a reason stalls its object until a person acts. */
export function isTerminal(reason: Reason): boolean {
  return reasons[reason].kind === 'terminal';
}

const REFERENCE = 'https://github.com/gpu-rental-operator/gpu-rental-operator/blob/main/docs/reference';

/** The kind of object whose controller sets a reason first; a group also shows the reasons of its workers. */
export function reasonKind(reason: string): 'GpuInstance' | 'MarketplaceAccount' | 'EndpointGroup' {
  if (reason in accountReasons) return 'MarketplaceAccount';
  return reason in groupReasons ? 'EndpointGroup' : 'GpuInstance';
}

/** The page of `docs/reference` with the section of a reason, and the anchor of that section. */
export function reasonLink(reason: string): string {
  return `reasons-${reasonKind(reason).toLowerCase()}.md#${reason.toLowerCase()}`;
}

interface Spoken {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

/** The conditions that people read first. */
const LEADING = ['Ready', 'Stalled'];

/** The condition with the link to its reason's section, if something is wrong and people look there first. */
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
