import { believedNow } from '../../accounts/service-clock.ts';
import type { AccountSession } from '../../accounts/session.ts';
import { accountKey } from '../../instance/account-ref.ts';
import { loginText } from '../../ownership/login.ts';
import type { ControllerOptions, ReconcileContext } from '../../runtime/controller.ts';
import { type Controller, createController, done, type Result } from '../../runtime/controller.ts';
import { refOfKey } from '../../runtime/kube/kube-object.ts';
import { act, type SweepEffects } from './act.ts';
import { decide } from './decide.ts';
import { observe, observeAgain, type Sweep, type SweepSources } from './observe.ts';

export interface OrphanSweepOptions
  extends SweepSources,
    Omit<SweepEffects, 'metrics' | 'isStillOrphan' | 'recordSwept'>,
    Pick<ControllerOptions, 'random' | 'log' | 'metrics'> {
  readonly sweepMetrics: SweepEffects['metrics'];
}

/**
 * Creates the controller that finds machines of this installation without an object. It runs after each complete list,
 * once per login; its events go to the first account of the login.
 */
export function createOrphanSweep(options: OrphanSweepOptions): Controller {
  const { registry, accounts } = options;
  const effects: SweepEffects = {
    ...options,
    metrics: options.sweepMetrics,
    isStillOrphan: (sweep, instanceId) => isStillOrphan(sweep, instanceId, options),
    recordSwept: async (session, instanceId) => {
      const { clock } = options;
      const at = believedNow(session.serviceClock.now(), clock.now());
      await registry.statusWriter(session.ref)?.recordSwept({ instanceId, at });
    },
  };

  const reconcile = async (key: string, { aside }: ReconcileContext): Promise<Result> => {
    const sweep = sweepOf(key, options);
    const account = accounts.get(key);
    if (!sweep || !account) return done;
    const decision = decide(await observe(sweep, options));
    for (const session of sweep.sessions) session.recordSweep(decision.findings, sweep.list);
    if (decision.kept !== undefined) {
      options.log.debug('no orphan is destroyed', { because: decision.kept, ...decision.findings });
    }
    for (const note of decision.events) options.events.record({ regarding: account, ...note });
    const carryOut = async () => {
      for (const action of decision.actions) await act(action, { sweep, account }, effects);
    };
    // Destroys wait for their place in the pace of one login: the sweeps of other logins do not.
    await (decision.actions.length > 0 ? aside(carryOut) : undefined);
    return done;
  };

  const controller = createController({ ...options, name: 'orphansweep', reconcile });
  registry.onEvent((ref, events) => {
    if (events.type === 'list') controller.queue.add(accountKey(ref));
  });
  return controller;
}

/**
 * Returns true if the machine is still an orphan when its destroy call reaches the front of the queue. In the
 * meantime an object may have claimed it, or many machines may have lost their objects.
 */
function isStillOrphan(sweep: Sweep, instanceId: string, sources: SweepSources): boolean {
  const observed = observeAgain(sweep, sources);
  const actions = observed ? decide(observed).actions : [];
  return actions.some((action) => action.type === 'destroy' && action.instanceId === instanceId);
}

/** Returns the sweep of an account's key; undefined if another account of the login runs it. */
function sweepOf(key: string, { registry, installation }: OrphanSweepOptions): Sweep | undefined {
  const { namespace = '', name } = refOfKey(key);
  const session = registry.session({ namespace, name });
  const list = session?.feed.latest();
  if (!session || !list || installation.state().type !== 'known') return undefined;
  const [first, ...others] = sameLogin(registry.proven(), session);
  return first === session ? { sessions: [session, ...others], list } : undefined;
}

/** Returns all sessions of the login, ordered by name. */
function sameLogin(all: readonly AccountSession[], session: AccountSession): readonly AccountSession[] {
  const login = loginText(session.login);
  return all
    .filter((other) => loginText(other.login) === login)
    .toSorted((a, b) => accountKey(a.ref).localeCompare(accountKey(b.ref)));
}
