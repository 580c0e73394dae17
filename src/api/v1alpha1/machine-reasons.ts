import { good, progress, retryable, terminal } from './reason-entry.ts';

/** The life of a machine as it should go. */
export const lifeReasons = {
  Ready: good('Everything that is wanted holds.'),
  Rented: good('A machine is rented.'),
  Adopted: good('An existing machine was taken over.'),
  Observed: good('An existing machine is watched and never touched.'),
  Running: good('The container runs.'),
  ProbeSucceeded: good('The readiness probe succeeds.'),
  Stopped: good('The machine is stopped, as wanted; its disk bills.'),
  WithinLimits: good('Price, lifetime and total cost are within their limits.'),
  Pending: progress('The operator has not come to it yet; the message says what comes first.'),
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
    'The marketplace reports a state that this operator does not know; the machine is kept as it is.',
    "Look at status.actualStatus, and at the machine in the marketplace's console.",
  ),
  PortsNotMapped: retryable(
    'The machine runs, and does not map every port of spec.ports.',
    'Set the annotation gpurental.dev/replace-at to rent another machine.',
  ),
  ProbeFailing: retryable(
    'The readiness probe fails.',
    "Look at the container's log, and check the port and path of spec.readinessProbe.",
  ),
  ReconcileError: retryable(
    'Reconciling the object fails with an error that the operator does not expect. It retries with backoff; other objects are not affected.',
    "Look at the operator's log for this object at level error, and report it. Reverting the last change of the object may help meanwhile.",
  ),
  ProbeError: retryable(
    'The readiness probe cannot be sent as spec.readinessProbe writes it.',
    'Correct the path or the header that the message names.',
  ),
} as const;

/** Why a machine ended or is not trusted. */
export const troubleReasons = {
  Exited: retryable(
    'The container ended.',
    "Look at the container's log; if spec.image or spec.onStart is at fault, every replacement ends the same way.",
  ),
  HostOffline: retryable(
    'The host of the machine lost its connection to the marketplace.',
    'You need not do anything: if it stays away, another machine is rented, unless spec.replacement.policy is Never.',
  ),
  HostSilent: retryable(
    'The host of the machine sends no heartbeat to the marketplace.',
    'You need not do anything: if it stays silent, another machine is rented, unless spec.replacement.policy is Never.',
  ),
  Vanished: retryable(
    'The machine was destroyed, and not by this operator.',
    'You need not do anything: another machine is rented. Set spec.onVanish to Hold to be asked first.',
  ),
  VanishedHeld: terminal(
    'The machine was destroyed, and not by this operator; spec.onVanish is Hold, so no other is rented.',
    'Set spec.onVanish to Recreate to rent another, or delete the object.',
  ),
  ProvisioningTimedOut: retryable(
    'The machine was not provisioned within spec.timeouts.provisioning.',
    'You need not do anything: another machine is rented. If this happens often, raise spec.timeouts.provisioning.',
  ),
  LoadingTimedOut: retryable(
    'The image did not load within spec.timeouts.loading.',
    'Check that spec.image exists and how large it is; for a large image raise spec.timeouts.loading.',
  ),
  Outbid: retryable(
    'Someone bid more for this machine, so the marketplace stopped it.',
    'Raise bid in spec.offers, or set pricing to OnDemand.',
  ),
  CannotStart: retryable(
    'The stopped machine did not start within spec.timeouts.start; its GPUs may be rented to someone else.',
    'You need not do anything: another machine is rented, unless spec.replacement.policy is Never. To wait longer, raise spec.timeouts.start.',
  ),
  StartUnsupported: terminal(
    'The marketplace has no request that starts a stopped machine.',
    'Set spec.replacement.policy to Always, so that another machine is rented instead.',
  ),
  ReplacementOff: terminal(
    'The machine is lost, and spec.replacement.policy is Never.',
    'Set spec.replacement.policy to Always to rent another, or delete the object.',
  ),
  PriceRaised: retryable(
    'The machine costs more than its offer said.',
    'Set spec.onPriceAbove to Replace to have it replaced; with Report, or where only a limit of the account is passed, it is kept at this price.',
  ),
  SpecChanged: progress(
    'The spec changed, and the machine still is as the old spec said.',
    'With spec.updateStrategy.type OnDelete, set the annotation gpurental.dev/replace-at when a replacement suits.',
  ),
  ReplaceRequested: progress('The annotation gpurental.dev/replace-at asks for another machine.'),
  Surplus: progress('A second machine of this object is being destroyed.'),
  DestroyFailing: retryable(
    'The machine cannot be destroyed, and it bills.',
    "Check the key of the MarketplaceAccount. If the key is lost for ever, set spec.deletionPolicy to Retain, delete the object, and destroy the machine in the marketplace's console.",
  ),
  Destroyed: good('The machine is confirmed gone.'),
  Released: good('The machine was given up as spec.deletionPolicy says, and it still bills.'),
} as const;

/** Whose a machine is. */
export const ownershipReasons = {
  NameTaken: retryable(
    'A Secret, Service or EndpointSlice of the name that is needed exists and belongs to something else.',
    'Remove or rename the other object, or use another name for this one.',
  ),
  AlreadyOwned: terminal(
    'The machine in spec.adopt carries the label of another installation or is claimed by another object.',
    'Make a new object whose spec.adopt.instanceId names a machine that is free.',
  ),
  AdoptionNotAllowed: terminal(
    'The MarketplaceAccount does not allow adoption.',
    'Set spec.adoption of the MarketplaceAccount to Unlabelled.',
  ),
  AdoptionTargetMissing: terminal(
    'The machine in spec.adopt.instanceId is not listed by the marketplace.',
    'Make a new object whose spec.adopt.instanceId names an existing machine of this login.',
  ),
  IntentTampered: terminal(
    'The record of a rental in the annotation gpurental.dev/rental-intent was changed by someone else, so nothing is rented or destroyed by it.',
    "Look for machines of this object in the marketplace's console, then delete the object.",
  ),
  IntentUnknown: terminal(
    'The record of a rental was written by a newer version of the operator, so this one leaves everything as it is.',
    'Install the newer version again; it can also delete the object.',
  ),
  RestoredElsewhere: terminal(
    'The object was restored from a copy, and the machine of the original is still listed.',
    'Delete this object, or destroy that machine; after that another is rented.',
  ),
  LabelCopied: retryable(
    'A machine carries our label outside its time, beside the original or edited. It bills, and the operator never touches it.',
    "Find out who rented the machine. Destroy it in the marketplace's console if nobody needs it; change its label only if it is yours.",
  ),
  LateRental: retryable(
    'A machine carries our label but started after its time: the marketplace carried a rental out late. It bills.',
    "Destroy it in the marketplace's console. With orphanPolicy Destroy the operator does so when it is older than --late-orphan-age (1h).",
  ),
  IdentityLost: terminal(
    'The identity of this installation is missing although machines were rented with it, so nothing is rented or destroyed.',
    'Restore the Secret gpu-rental-operator-identity from a backup, or follow the command that the message names.',
  ),
  ClusterChanged: terminal(
    'The identity of this installation belongs to another cluster, so no unclaimed machine is destroyed.',
    'If this cluster is a copy, delete the Secret gpu-rental-operator-identity here.',
  ),
  MassOrphaned: terminal(
    'More machines lost their GpuInstances at once than maxUnhealthy allows, so no unclaimed machine is destroyed.',
    'Restore the objects, or set the annotation gpurental.dev/confirm-orphans on the MarketplaceAccount to a new value, such as the time, to destroy the machines slowly.',
  ),
  MemoryRolledBack: terminal(
    'Machines of ours are younger than the newest rental on record: the cluster was restored from a backup, so no unclaimed machine is destroyed.',
    'Look at the machines that the message names, then set the annotation gpurental.dev/confirm-rollback on the MarketplaceAccount to a value that it has not had, such as the time.',
  ),
} as const;
