import type { AccountSession } from '../../accounts/session.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import type { Logger } from '../../lib/logger.ts';
import { MarketplaceError } from '../../market/errors.ts';
import type { EventRecorder } from '../../runtime/events.ts';
import { hourly, warning } from './decide.ts';
import type { Sweep } from './observe.ts';
import type { Action } from './types.ts';

/** Metrics of sweeps in addition to events. */
export interface SweepMetrics {
  orphanDestroyed(account: { readonly namespace: string; readonly name: string }): void;
}

/** Dependencies of the sweep's actions. */
export interface SweepEffects {
  readonly events: EventRecorder;
  readonly metrics: SweepMetrics;
  readonly log: Logger;
  /**
   * Returns true if this process leads. Checked before each destroy, and again after it has waited in the queue.
   */
  readonly isLeader: () => boolean;
  /** True if the newest list and the caches decide the destroy of that machine again. */
  readonly isStillOrphan: (sweep: Sweep, instanceId: string) => boolean;
  /**
   * Records the destroy durably before it resolves. That destroy counts among those of the last hour, whatever its
   * result.
   */
  readonly recordSwept: (session: AccountSession, instanceId: string) => Promise<void>;
}

/** Carries out one action on the machines of a login. Events go to `account`. */
export async function act(
  action: Action,
  target: { readonly sweep: Sweep; readonly account: MarketplaceAccount },
  effects: SweepEffects,
): Promise<void> {
  switch (action.type) {
    case 'lookAgain':
      target.sweep.sessions[0].feed.pollNow();
      return;
    case 'destroy':
      await destroyOrphan(action, target, effects);
      return;
  }
}

/**
 * Destroys an orphaned machine with the key of an account that may destroy. The sweep destroys only if every account of
 * the login has `orphanPolicy: Destroy`, or if this operator destroyed the machine before. The next sweep retries a
 * failed destroy, because the machine is still listed.
 */
async function destroyOrphan(
  action: Extract<Action, { type: 'destroy' }>,
  { sweep, account }: { readonly sweep: Sweep; readonly account: MarketplaceAccount },
  { events, metrics, log, isLeader, isStillOrphan, recordSwept }: SweepEffects,
): Promise<void> {
  const { instanceId, pricePerHour, wasDestroyed } = action;
  const mayLeave = () => isLeader() && isStillOrphan(sweep, instanceId);
  if (!mayLeave()) return;
  const session = sweep.sessions.find((each) => each.user.mayDestroy);
  if (!session) {
    events.record({ regarding: account, ...warning('OrphanDestroyFailed', noteNoKey(action)) });
    return;
  }
  if (!(await isConfirmed(session, action))) {
    log.info('orphan is kept: its own read does not show the label', { instanceId });
    return;
  }
  // Its first destroy is recorded, and it did not lose its object in a mass event.
  if (!wasDestroyed) await recordSwept(session, instanceId);
  try {
    await session.market.destroy(instanceId, { mayLeave });
  } catch (error) {
    if (!(error instanceof MarketplaceError)) throw error;
    if (!mayLeave()) return;
    log.warn('orphan could not be destroyed', { instanceId, kind: error.kind });
    const note = `Machine ${instanceId}, which ${hourly(pricePerHour)} and no GpuInstance claims, could not be destroyed.`;
    events.record({ regarding: account, ...warning('OrphanDestroyFailed', note) });
    return;
  }
  log.info('orphan destroyed', { instanceId });
  metrics.orphanDestroyed(session.ref);
  const note = `Machine ${instanceId}, which ${hourly(pricePerHour)} and no GpuInstance claimed, was destroyed.`;
  events.record({ regarding: account, ...warning('OrphanDestroyed', note) });
}

/**
 * Returns true if a read of the machine shows the same label and start as the list. A list may show a label of the
 * operator on another machine.
 */
async function isConfirmed(
  { feed }: AccountSession,
  { instanceId, label, startedAt }: Extract<Action, { type: 'destroy' }>,
): Promise<boolean> {
  try {
    const read = await feed.get(instanceId);
    return read?.id === instanceId && read.label === label && read.startedAt === startedAt;
  } catch (error) {
    if (!(error instanceof MarketplaceError)) throw error;
    return false;
  }
}

function noteNoKey({ instanceId, pricePerHour }: Extract<Action, { type: 'destroy' }>): string {
  return `Machine ${instanceId}, which ${hourly(pricePerHour)} and no GpuInstance claims, was not destroyed: no account of this login has a key that may. Put one with the category instance_write into a Secret.`;
}
