import { avoidedAt, avoidOf } from '../../accounts/avoid-list.ts';
import { breakerOf } from '../../accounts/breaker.ts';
import { echoOf } from '../../accounts/feed-observer.ts';
import { limitsOf } from '../../accounts/spend-limits.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { MachineIndex, type SteadyClock } from '../../controllers/gpu-instance/memory.ts';
import type { LoginSnapshot, OtherObjects, Snapshot } from '../../controllers/gpu-instance/observe.ts';
import type { AccountFacts } from '../../controllers/gpu-instance/types.ts';
import { accountRefOf } from '../../instance/account-ref.ts';
import { systemClock } from '../../lib/clock.ts';
import type { MicroDollars } from '../../lib/money.ts';
import { systemRandom } from '../../lib/random.ts';
import type { MarketplaceClient } from '../../marketplace/client.ts';
import type { CompleteList } from '../../marketplace/feed/feed-state.ts';
import type { PurchaseConstants } from '../../ownership/constants.ts';
import type { Identity } from '../../ownership/identity.ts';
import { type Login, loginText } from '../../ownership/login.ts';
import { accountGate, mayUse } from '../limits.ts';

/** An account and its login, read once. */
export interface AccountReading {
  readonly account: MarketplaceAccount;
  readonly client: MarketplaceClient;
  readonly identity: Identity;
  readonly userId: number;
  readonly baseUrl: string;
  readonly list: CompleteList;
  readonly sshKeyRegistered: boolean | undefined;
  /** Undefined if the key may not read it. */
  readonly credit: MicroDollars | undefined;
  /** GpuInstances that name the account. */
  readonly objects: readonly GpuInstance[];
  readonly now: number;
}

/** An object with what is around it in the cluster. */
export interface InstanceReading {
  readonly object: GpuInstance;
  readonly others: readonly GpuInstance[];
  /** The times that the operator runs with. */
  readonly constants: PurchaseConstants;
}

/** What the operator would see of the object, if this one list were its only one. */
export function snapshotOf(
  { object, others, constants }: InstanceReading,
  reading: AccountReading,
  steady: SteadyClock,
): Snapshot {
  const { namespace = '' } = object.metadata;
  return {
    now: systemClock.now(),
    jitter: systemRandom.next(),
    leaseRemainingMs: Number.POSITIVE_INFINITY,
    constants,
    identity: reading.identity,
    account: { type: 'ready', session: loginSnapshot(object, reading, { steady, constants }) },
    isAllowed: accountRefOf(object).namespace === namespace || mayUse(reading.account, namespace),
    others: othersAmong(others, reading),
  };
}

function loginSnapshot(
  object: GpuInstance,
  reading: AccountReading,
  { steady, constants }: { readonly steady: SteadyClock; readonly constants: PurchaseConstants },
): LoginSnapshot {
  const { list, identity } = reading;
  const facts = accountFacts(object, reading);
  const index = new MachineIndex(constants);
  const begunSteady = steady.fromWall(list.begunAt);
  return {
    facts,
    list,
    begunSteady,
    listsBegun: [begunSteady],
    absences: (id) => (list.rows.has(id) ? [] : [begunSteady]),
    labelled: (uid) => index.labelled({ identity, login: facts.login }, list, uid),
    place: undefined,
  };
}

function accountFacts({ metadata }: GpuInstance, reading: AccountReading): AccountFacts {
  const { account, now, sshKeyRegistered } = reading;
  const breaker = breakerOf(account);
  return {
    login: loginOf(reading),
    limits: limitsOf(account),
    breaker,
    openSpans: [],
    blames: breaker.type === 'closed',
    labelEcho: echoOf(account.status?.labelsEchoed),
    permitted: mayUse(account, metadata.namespace ?? ''),
    adoption: account.spec.adoption,
    mayDestroy: true,
    sshKeyRegistered,
    avoided: avoidedAt(avoidOf(account), now),
    reserved: accountGate(reading).reservedFor(metadata.uid ?? ''),
    serviceTime: { type: 'unknown' },
    startUnsupported: false,
  };
}

function loginOf({ account, baseUrl, userId }: AccountReading): Login {
  return account.status?.login ?? { url: baseUrl, userId };
}

/** Only the login of the object's own account is known. */
function othersAmong(all: readonly GpuInstance[], reading: AccountReading): OtherObjects {
  const { namespace, name } = reading.account.metadata;
  const login = loginText(loginOf(reading));
  return {
    all: () => all,
    recording: (id) => all.filter(({ status }) => status?.instanceId === id),
    adopting: (id) => all.filter(({ spec }) => spec.adopt?.instanceId === id),
    loginOf: (object) => {
      const ref = accountRefOf(object);
      return ref.namespace === namespace && ref.name === name ? login : undefined;
    },
  };
}
