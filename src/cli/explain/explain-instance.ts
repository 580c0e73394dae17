import type { AdmissionOptions } from '../../accounts/admission.ts';
import { avoidedAt, avoidOf } from '../../accounts/avoid-list.ts';
import { breakerOf } from '../../accounts/breaker.ts';
import { echoOf } from '../../accounts/feed-observer.ts';
import { limitsOf } from '../../accounts/spend-limits.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import {
  type AccountFacts,
  accountFacts,
  asIfConfirmed,
  type Decision,
  desiredFuse,
  type ExplainDeps,
  type Explained,
  explainInstance,
  type Forecast,
  failedSearch,
  forecast,
  fuseLifeMs,
  type InputsView,
  type OffersView,
  type OtherObjects,
  type Reader,
  type RentalSetting,
  readInputs,
  rentalNonce,
  sentRun,
  sentStart,
  tryChildren,
} from '../../controllers/gpu-instance/public.ts';
import { accountRefOf } from '../../instance/account-ref.ts';
import { launchOf } from '../../instance/launch.ts';
import { isRun } from '../../instance/run.ts';
import { systemClock } from '../../lib/clock.ts';
import type { MicroDollars } from '../../lib/money.ts';
import { systemRandom } from '../../lib/random.ts';
import { MarketplaceError } from '../../market/errors.ts';
import type { CompleteList } from '../../market/feed-state.ts';
import type { OfferQuery } from '../../market/offer.ts';
import type { MarketplaceClient } from '../../markets/vast/client.ts';
import { vastFacts } from '../../markets/vast/facts.ts';
import { machineReads } from '../../markets/vast/machine-reads.ts';
import { toMachineRow } from '../../markets/vast/machine-row.ts';
import type { PurchaseConstants } from '../../ownership/constants.ts';
import type { Identity } from '../../ownership/identity.ts';
import { type Login, loginText } from '../../ownership/login.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { uidOf } from '../../runtime/kube/kube-object.ts';
import { allInstances } from '../all-instances.ts';
import { failed } from '../command-error.ts';
import { WORDS_BY_KIND } from '../failures/describe-failure.ts';
import { accountGate, lasting, mayUse, rentalRequest } from '../limits.ts';
import type { MarketplaceSession } from '../sessions/marketplace-session.ts';

/** An account and its login, read once. */
export interface AccountReading {
  readonly account: MarketplaceAccount;
  readonly client: MarketplaceClient;
  readonly identity: Identity;
  readonly userId: string;
  readonly baseUrl: string;
  readonly list: CompleteList;
  readonly sshKeyRegistered: boolean | undefined;
  /** Undefined if the key may not read it. */
  readonly credit: MicroDollars | undefined;
  /** GpuInstances that name the account. */
  readonly objects: readonly GpuInstance[];
  /** The budgets of the object's namespace; undefined without a cluster. */
  readonly budgets?: AdmissionOptions['budgets'] | undefined;
  readonly now: number;
}

/** An object with the facts of its cluster. */
export interface InstanceReading {
  readonly object: GpuInstance;
  /** The GpuInstances of its namespace. */
  readonly others: readonly GpuInstance[];
  /** The constants of the operator. */
  readonly constants: PurchaseConstants;
}

/** An explanation, and the checks that were impossible. */
export interface CheckedExplanation extends Explained {
  readonly account: AccountFacts;
  /** For example `Secrets: you may not read them`. */
  readonly unchecked: readonly string[];
  /** Next action that follows from time alone; undefined if there is none, or if an action is due now. */
  readonly forecast: Forecast | undefined;
}

/** Refusal by the account of a decided purchase or start; undefined if it has room. */
type RefusalOf = (
  decision: Decision,
  object: GpuInstance,
  reading: AccountReading,
) => ReturnType<typeof refusalOf>;

/**
 * Runs the operator's decision on one object, with the limits of its account unless `refuses` says otherwise. Rejects if
 * a read of the cluster fails, or a search of offers in a way that only concerns this call.
 */
export async function explainWithLimits(
  { object, others, constants }: InstanceReading,
  reading: AccountReading,
  { kube, refuses = refusalOf }: { readonly kube: KubeClient | undefined; readonly refuses?: RefusalOf },
): Promise<CheckedExplanation> {
  const { account, identity, list } = reading;
  const unchecked: string[] = [];
  const { namespace = '' } = object.metadata;
  const facts = factsOf(object, reading);
  const deps: ExplainDeps = {
    clock: systemClock,
    random: systemRandom,
    identity,
    constants,
    account: facts,
    list,
    isAllowed: accountRefOf(object).namespace === namespace || mayUse(account, namespace),
    others: othersAmong(others, reading),
    notReady: unprovenKey(account),
    reader: readerOf(reading, { kube, unchecked }),
    refusalOf: (decision) => refuses(decision, object, reading),
  };
  const explained = await explainInstance(object, deps);
  const follows = explained.stage.type === 'machine' ? await forecast(object, deps, explained) : undefined;
  return { ...explained, account: facts, unchecked: [...new Set(unchecked)], forecast: follows };
}

/**
 * Returns the reason why the key is not proven: the operator rents with a proven key only. Undefined while no condition
 * contradicts it.
 */
function unprovenKey({ status }: MarketplaceAccount) {
  const proof = status?.conditions?.find(({ type }) => type === 'Authenticated');
  return proof?.status === 'False' ? { reason: proof.reason, message: proof.message } : undefined;
}

function factsOf({ metadata }: GpuInstance, reading: AccountReading): AccountFacts {
  const { account, now, sshKeyRegistered, credit } = reading;
  return accountFacts({
    login: loginOf(reading),
    market: vastFacts,
    limits: limitsOf(account),
    breaker: breakerOf(account),
    labelEcho: echoOf(account.status?.labelsEchoed),
    credit,
    suspended: account.spec.suspend === true,
    permitted: mayUse(account, metadata.namespace ?? ''),
    adoption: account.spec.adoption,
    mayDestroy: true,
    sshKeyRegistered,
    avoided: avoidedAt(avoidOf(account), now),
    reserved: accountGate(reading).reservedFor(metadata.uid ?? ''),
    watched: undefined,
  });
}

function loginOf({ account, baseUrl, userId }: AccountReading): Login {
  return account.status?.login ?? { url: baseUrl, userId };
}

/** Returns the machines of other objects; only the login of the object's own account is known. */
function othersAmong(all: readonly GpuInstance[], reading: AccountReading): OtherObjects {
  const { namespace, name } = reading.account.metadata;
  const login = loginText(loginOf(reading));
  return {
    all: () => all,
    recording: (id) => all.filter(({ status }) => status?.instanceId === id),
    adopting: (id) => all.filter(({ spec }) => spec.adopt?.instanceId === id),
    rentedBy: (id) => all.filter(({ status }) => status?.offerId === id),
    loginOf: (object) => {
      const ref = accountRefOf(object);
      return ref.namespace === namespace && ref.name === name ? login : undefined;
    },
  };
}

interface Checks {
  /** Undefined without a cluster: Secrets, names and quotas count as valid. */
  readonly kube: KubeClient | undefined;
  /** Filled with the checks that the caller may not make. */
  readonly unchecked: string[];
}

/** Reads from the cluster and the marketplace directly, without the queues of the operator. */
function readerOf(reading: AccountReading, checks: Checks): Reader {
  const { account, client, userId } = reading;
  return {
    room: ({ object, purchase: { uid } }, { offerId, pricePerHour }) =>
      accountGate(reading).requestReplacement({
        ...{ objectUid: uid, namespace: object.metadata.namespace ?? '' },
        ...{ offerId, pricePerHour },
      }),
    inputs: (observed) => checkedInputs(observed, { ...checks, url: loginOf(reading).url }),
    offers: (_observed, { queries: [query] }) => searchOffers(client, query),
    keepFirstSearch: asIfConfirmed,
    machine: (instanceId) => machineReads(client.instances).machine(instanceId),
    proveLogin: async () => userId === (account.status?.login?.userId ?? userId),
  };
}

/** A permission that the caller lacks does not affect the operator's. */
const OWN_RIGHT = / cannot (get|list|create|patch|update|delete) resource /;

/** Stands for the operator's flag --worker-report-url, which a plan does not know. */
const ANY_REPORT_URL = 'https://reports.example.com/';

/** Returns the operator's checks before a rental, as far as the caller's permissions allow. */
async function checkedInputs(
  observed: Parameters<Reader['inputs']>[0],
  { kube, unchecked, url }: Checks & { readonly url: string },
): Promise<InputsView> {
  const { object, purchase } = observed;
  const nonce = rentalNonce(observed);
  const setting = { market: vastFacts, url, lifeMs: fuseLifeMs(observed), nonce, reportUrl: ANY_REPORT_URL };
  if (!kube) return inputsAlone(object, setting);
  const inputs = await readInputs(object, kube, setting);
  if (inputs.type === 'problem' && inputs.reason !== 'NotPermitted') return inputs;
  if (inputs.type === 'problem') unchecked.push('Secrets: you may not read them');
  const problem = await tryChildren(object, { cluster: kube, keys: purchase.identity.keys });
  if (problem?.type === 'nameTaken') return { type: 'problem', reason: 'NameTaken', detail: problem.detail };
  if (problem && !OWN_RIGHT.test(problem.detail))
    return { type: 'problem', reason: 'NotPermitted', detail: problem.detail };
  if (problem) unchecked.push('names of Secret and Service: you may not create them');
  return inputs.type === 'ready' ? inputs : inputsAlone(object, setting);
}

/** Returns the inputs of the object alone. */
function inputsAlone({ spec }: GpuInstance, setting: RentalSetting): InputsView {
  const launch = launchOf(spec);
  const fuse = desiredFuse({ ...setting, spec, launch, env: (spec.env ?? []).map(({ name }) => name) });
  const start = isRun({ spec })
    ? sentRun(spec, { ...setting, script: spec.onStart, fuse })
    : sentStart(launch, { fuse }, vastFacts.script);
  if (start.type === 'refused') return { type: 'problem', reason: 'InvalidSpec', detail: start.detail };
  const { ssh } = launch;
  const { args } = start;
  return {
    ...{ type: 'ready', ssh, args, env: {}, onStart: undefined, imageLogin: undefined },
    ...(start.fuse && { fuse: start.fuse }),
  };
}

/** Failures of this call only: the operator uses another key at another time. */
const OF_THE_MOMENT: ReadonlySet<string> = new Set(['throttled', 'quotaExceeded', 'unavailable', 'timeout']);

/** Resolves to the result. Rejects if the operator's result cannot be predicted. */
async function searchOffers(client: MarketplaceClient, query: OfferQuery): Promise<OffersView> {
  try {
    return { type: 'found', offers: await client.offers.search(query) };
  } catch (error) {
    if (!(error instanceof MarketplaceError) || !OF_THE_MOMENT.has(error.kind)) return failedSearch(error);
    throw failed(
      `The search of offers failed (${WORDS_BY_KIND[error.kind]}), so the operator's decision is unknown.`,
      'Try again in a minute; gpu-rent status shows what the operator reported last.',
      error,
    );
  }
}

/** Returns the account's refusal of the decided purchase or start; undefined if it has room. */
function refusalOf({ record, actions }: Decision, object: GpuInstance, reading: AccountReading) {
  const admission = accountGate(reading);
  const objectUid = uidOf(object);
  const { namespace = '' } = object.metadata;
  const start = actions.find((action) => action.type === 'start');
  if (record.type === 'intent') {
    const { offer, pricePerHour } = record.purchase;
    return lasting(
      admission.request(rentalRequest({ objectUid, namespace, offerId: offer.id, pricePerHour })),
    );
  }
  return (
    start &&
    lasting(admission.requestStart({ objectUid, namespace, pricePerHour: start.pricePerHour, timeoutMs: 0 }))
  );
}

/** Reads one complete list and the user, like the operator's feed. Rejects with a MarketplaceError. */
export async function readLogin({ client, baseUrl }: Pick<MarketplaceSession, 'client' | 'baseUrl'>) {
  const begunAt = Date.now();
  const [instances, user] = await Promise.all([allInstances(client), client.users.current()]);
  const now = Date.now();
  const rows = new Map(instances.map((row) => [row.id, toMachineRow(row)]));
  const sshKeyRegistered = user.sshKey !== undefined && user.sshKey !== '';
  const list = { begunAt, endedAt: now, rows };
  return { client, baseUrl, now, userId: user.id, credit: user.credit, sshKeyRegistered, list };
}
