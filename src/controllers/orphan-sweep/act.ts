import type { AccountSession } from '../../accounts/session.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import type { Logger } from '../../lib/logger.ts';
import { MarketplaceError } from '../../marketplace/errors/errors.ts';
import type { EventRecorder } from '../../runtime/events.ts';
import { hourly, warning } from './decide.ts';
import type { Sweep } from './observe.ts';
import type { Action } from './types.ts';

/** What sweeps report beside events. */
export interface SweepMetrics {
  orphanDestroyed(account: { readonly namespace: string; readonly name: string }): void;
}

/** What acts reach. */
export interface SweepEffects {
  readonly events: EventRecorder;
  readonly metrics: SweepMetrics;
  readonly log: Logger;
  /** Asked before each destroy, and again when it has waited for its place. */
  readonly isLeader: () => boolean;
  /** Whether the destroy of that machine is decided again by the newest list and the caches. */
  readonly isStillOrphan: (sweep: Sweep, instanceId: string) => boolean;
  /** Durable when it resolves: that destroy counts among those of the last hour, whatever comes of it. */
  readonly recordSwept: (session: AccountSession, instanceId: string) => Promise<void>;
}

/** Carries out one action on the machines of a login; `account` is where people are told. */
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
 * In the name of an account whose own key may destroy: the sweep destroys only if every account of the login has
 * `orphanPolicy: Destroy`. A destroy that fails is tried again by the next sweep, which finds the
 * machine still listed.
 */
async function destroyOrphan(
  action: Extract<Action, { type: 'destroy' }>,
  { sweep, account }: { readonly sweep: Sweep; readonly account: MarketplaceAccount },
  { events, metrics, log, isLeader, isStillOrphan, recordSwept }: SweepEffects,
): Promise<void> {
  const { instanceId, pricePerHour } = action;
  const mayLeave = () => isLeader() && isStillOrphan(sweep, instanceId);
  if (!mayLeave()) return;
  const session = sweep.sessions.find((each) => each.user.mayDestroy);
  if (!session) {
    events.record({ regarding: account, ...warning('OrphanDestroyFailed', noteNoKey(action)) });
    return;
  }
  await recordSwept(session, instanceId);
  try {
    await session.client.instances.destroy(instanceId, { mayLeave });
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

function noteNoKey({ instanceId, pricePerHour }: Extract<Action, { type: 'destroy' }>): string {
  return `Machine ${instanceId}, which ${hourly(pricePerHour)} and no GpuInstance claims, was not destroyed: no account of this login has a key that may. Put one with the category instance_write into a Secret.`;
}
