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

/** Why a machine ended or is not trusted. */
export const troubleReasons = {
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
export const ownershipReasons = {
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
