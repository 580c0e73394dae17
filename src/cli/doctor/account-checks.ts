import { readKeySecret } from '../../accounts/api-keys.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { type Outage, outageText } from '../../api/v1alpha1/outage.ts';
import { facetsOf } from '../../api/v1alpha1/reasons.ts';
import { counted } from '../../lib/plural.ts';
import { MarketplaceError, type MarketplaceErrorKind } from '../../market/errors.ts';
import type { MarketplaceClient } from '../../markets/vast/client.ts';
import type { User } from '../../markets/vast/users.ts';
import { dollarText, inDollars } from '../../views/amounts.ts';
import { allInstances } from '../all-instances.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';
import { type Check, type Finding, ok, skipped, warning, wrong } from './check.ts';

/** Returns the checks of the account's object and its Secret. */
export function accountChecks(cluster: ClusterSession, account: MarketplaceAccount): readonly Check[] {
  const area = areaOf(account);
  return [
    { area, name: 'Ready', run: async () => readiness(account) },
    { area, name: 'limits', run: async () => limits(account) },
    { area, name: 'Secret', run: () => keySecret(cluster, account) },
  ];
}

export function areaOf({ metadata }: MarketplaceAccount): string {
  return `gpuacct/${metadata.name} (${metadata.namespace})`;
}

function readiness({ status, metadata }: MarketplaceAccount): Finding {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  if (!ready)
    return warning(
      'The operator has not yet seen it.',
      'Wait; when it stays so, the operator does not run or does not watch this namespace.',
    );
  if (ready.status === 'True') return ok(ready.message);
  if (status?.outage)
    return wrong(`${ready.reason}: ${outageText(status.outage, Date.now())}`, outageFix(status.outage));
  return wrong(
    `${ready.reason}: ${ready.message}`,
    `gpu-rent status gpuacct/${metadata.name} -n ${metadata.namespace} shows what to do.`,
  );
}

/** Returns the remedy of an outage: a service that does not answer proves nothing about the key. */
function outageFix({ reason }: Outage): string {
  return facetsOf(reason).loses === 'marketplace'
    ? SERVICE_FIX
    : 'gpu-rent status of the account shows what to do; the checks below show what the key may do.';
}

const SERVICE_FIX =
  'Wait: the operator retries by itself. Check the status page of the marketplace, and the network if egress fails too.';

/** Limits of one machine, or of the credit, do not limit an account's spending. */
function limits({ spec }: MarketplaceAccount): Finding {
  const { maxSpendPerHour, maxSpendPerMonth, maxInstances } = spec.limits ?? {};
  const bounds = Object.entries({ maxSpendPerHour, maxSpendPerMonth, maxInstances });
  const set = bounds.flatMap(([name, limit]) => (limit === undefined ? [] : [`${name} ${limit}`]));
  if (set.length > 0) return ok(set.join(', '));
  return warning(
    "Only the operator's flags limit what this account spends.",
    'Set spec.limits.maxSpendPerHour, maxSpendPerMonth or maxInstances.',
  );
}

async function keySecret({ kube }: ClusterSession, account: MarketplaceAccount): Promise<Finding> {
  const { name, key } = account.spec.apiKeySecretRef;
  const { namespace } = account.metadata;
  const reading = await readKeySecret(kube, { namespace, name }, key);
  const create = `kubectl create secret generic ${name} -n ${namespace} --from-file=${key}=<file with the key>`;
  switch (reading.type) {
    case 'key':
      return ok(`Secret ${name} holds ${key}`);
    case 'secretMissing':
      return wrong(`Secret ${name} does not exist.`, create);
    case 'keyMissing':
      return wrong(
        `Secret ${name} has no key ${key}; it has ${reading.present.join(', ') || 'none'}.`,
        `Add it, or set spec.apiKeySecretRef.key. ${create}`,
      );
    case 'invalid':
      return wrong(`Key ${key} of Secret ${name}: ${reading.problem}.`, `Create it again. ${create}`);
    case 'forbidden':
      return skipped(`You may not read Secret ${name}.`, 'Request permission to get it.');
  }
}

const KEY_UNPROVEN = skipped(
  'Skipped: the key could not be verified.',
  'Fix the key problem reported above first.',
);
const SERVICE_SILENT = skipped(
  'Skipped: the marketplace did not answer, so nothing is known of the key.',
  'Run gpu-rent doctor again when the marketplace answers.',
);

/** Failures of the service, which prove nothing about the key. */
const SERVICE_KINDS: ReadonlySet<MarketplaceErrorKind> = new Set<MarketplaceErrorKind>([
  'unavailable',
  'timeout',
  'malformedReply',
  'quotaExceeded',
]);

function outcomeText({ status, code }: MarketplaceError): string {
  if (status !== undefined) return `marketplace returned HTTP ${status}`;
  return code === undefined ? 'marketplace sent no reply in time' : `marketplace unreachable (${code})`;
}

/** Returns the checks of the key's login and permissions. `area` is the account, or the caller's own key. */
export function keyChecks(
  client: MarketplaceClient,
  area: string,
  pinned?: MarketplaceAccount,
): readonly Check[] {
  let user: User | undefined;
  let isServing = true;
  const notProven = () => (isServing ? KEY_UNPROVEN : SERVICE_SILENT);
  const needsUser = (check: (known: User) => Finding) => async () => (user ? check(user) : notProven());
  return [
    {
      area,
      name: 'key',
      run: async () => {
        try {
          user = await client.users.current();
        } catch (error) {
          if (!(error instanceof MarketplaceError)) throw error;
          isServing = !SERVICE_KINDS.has(error.kind) && error.kind !== 'throttled';
          if (!SERVICE_KINDS.has(error.kind)) throw error;
          return wrong(`Cannot verify the API key: ${outcomeText(error)}.`, SERVICE_FIX);
        }
        const login = pinned?.status?.login;
        if (login && login.userId !== user.id) {
          return wrong(
            `The key belongs to user ${user.id}; the account is pinned to user ${login.userId}.`,
            'Put a key of the pinned login into the Secret; another login is another MarketplaceAccount.',
          );
        }
        return ok(`user ${user.id}${user.email ? ` (${user.email})` : ''}`);
      },
    },
    { area, name: 'may read machines', run: async () => (user ? mayRead(client) : notProven()) },
    { area, name: 'may search', run: async () => (user ? maySearch(client) : notProven()) },
    { area, name: 'may destroy', run: async () => (user ? mayDestroy(client) : notProven()) },
    { area, name: 'credit', run: needsUser(credit) },
    { area, name: 'SSH key', run: needsUser(sshKey) },
  ];
}

const NARROW = 'Use a key with this permission: gpu-rent create api-key --for-operator.';

async function mayRead(client: MarketplaceClient): Promise<Finding> {
  return permitted(
    async () => `${counted((await allInstances(client)).length, 'machine')} of the login listed`,
  );
}

async function maySearch(client: MarketplaceClient): Promise<Finding> {
  return permitted(async () => {
    const filters = [{ field: 'rentable', operator: 'eq', value: true } as const];
    const offers = await client.offers.search({ filters, limit: 1 });
    return offers.length > 0 ? 'offers are found' : 'searching works; no offer is rentable now';
  });
}

async function permitted(call: () => Promise<string>): Promise<Finding> {
  try {
    return ok(await call());
  } catch (error) {
    if (!(error instanceof MarketplaceError) || error.kind !== 'forbidden') throw error;
    return wrong(error.message, NARROW);
  }
}

/**
 * Id that no instance has: with permission to destroy the answer is that it does not exist, otherwise that it is
 * forbidden.
 */
const NO_INSTANCE = '0';

async function mayDestroy(client: MarketplaceClient): Promise<Finding> {
  try {
    await client.instances.destroy(NO_INSTANCE);
  } catch (error) {
    if (!(error instanceof MarketplaceError)) throw error;
    if (error.kind === 'forbidden' || error.kind === 'unauthorized')
      return wrong('The key may not destroy machines.', NARROW);
    if (!['notFound', 'invalidRequest', 'refused'].includes(error.kind)) throw error;
  }
  return ok('the key may destroy what it rents');
}

function credit({ credit: left }: User): Finding {
  if (left === undefined) return skipped('The key may not read the credit.', NARROW);
  const text = dollarText(inDollars(left)) ?? '';
  return left > 0 ? ok(text) : wrong(`${text}: nothing can be rented.`, 'Add credit at the marketplace.');
}

function sshKey({ sshKey: key }: User): Finding {
  if (key) return ok('registered');
  return warning(
    'None is registered: objects with ssh: true wait.',
    'gpu-rent create ssh-key ~/.ssh/id_ed25519.pub',
  );
}
