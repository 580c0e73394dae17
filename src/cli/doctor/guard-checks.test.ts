import { describe, expect, test } from 'vitest';
import {
  GUARD_NAME,
  guardBindingSpec,
  guardPolicy,
  type PolicySpec,
} from '../../accounts/installation/in-use.ts';
import { inUseKey, MACHINE_FINALIZER } from '../../api/v1alpha1/names.ts';
import type { KubeClient, ListOptions } from '../../runtime/kube/kube-client.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { KubeObject } from '../../runtime/kube/kube-object.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';
import { guardChecks } from './guard-checks.ts';

const NAMESPACE = 'gpu-rental-system';

/** Returns the policy in the form in which the API server returns it. */
function stored({ resourceRules, ...rest }: PolicySpec) {
  const rules = resourceRules.map((rule) => ({ ...rule, scope: '*' }));
  const matchConstraints = { resourceRules: rules, matchPolicy: 'Equivalent', namespaceSelector: {} };
  return { failurePolicy: 'Fail', ...rest, matchConstraints };
}

const POLICY = stored(guardPolicy('my:break-glass'));
const BINDING = {
  policyName: GUARD_NAME,
  validationActions: ['Deny'],
  ...guardBindingSpec(NAMESPACE),
};

const FORBIDDEN = new KubeError('no', {
  kind: 'forbidden',
  status: 403,
  reason: 'Forbidden',
  outcome: 'refused',
});

const rented = { metadata: { finalizers: [MACHINE_FINALIZER] } };
const STRANGERS = Array.from({ length: 9 }, () => rented);

const base64 = (text: string): string => Buffer.from(text).toString('base64');
/** The operator watches one namespace; objects of another one belong to another operator. */
const IDENTITY = {
  data: { installId: base64('0'.repeat(32)), keys: base64('1'.repeat(64)), scope: base64('team') },
};

interface Found {
  readonly inUse?: string | undefined;
  readonly count?: number;
  readonly policy?: object | undefined;
  readonly binding?: object | undefined;
  readonly forbidden?: boolean;
}

async function examine(found: Found) {
  const { inUse, count, policy, binding, forbidden } = {
    inUse: 'true',
    count: 1,
    policy: POLICY,
    binding: BINDING,
    ...found,
  };
  const answer = async <T>(value: T): Promise<T> => {
    if (forbidden) throw FORBIDDEN;
    return value;
  };
  const rows: Readonly<Record<string, readonly unknown[]>> = {
    configmaps: inUse === undefined ? [] : [{ data: { [inUseKey]: inUse } }],
    secrets: [IDENTITY],
    gpuinstances: Array.from({ length: count }, () => rented),
    validatingadmissionpolicies: policy ? [{ spec: policy }] : [],
    validatingadmissionpolicybindings: binding ? [{ spec: binding }] : [],
  };
  const kube = {
    get: <T extends KubeObject>({ plural }: { readonly plural: string }) => answer(rows[plural]?.[0] as T),
    list: <T extends KubeObject>(
      { plural }: { readonly plural: string },
      { namespace }: ListOptions = {},
    ) => {
      const isElsewhere = plural === 'gpuinstances' && namespace !== 'team';
      return answer({ items: (isElsewhere ? STRANGERS : rows[plural]) as T[], resourceVersion: '1' });
    },
  } as Partial<KubeClient> as KubeClient;
  const cluster = { kube, operatorNamespace: NAMESPACE } as Partial<ClusterSession> as ClusterSession;
  const looked = await Promise.all(guardChecks(cluster).map(async ({ name, run }) => [name, await run()]));
  return Object.fromEntries(looked);
}

const outdated = stored({ ...guardPolicy('g'), variables: [{ name: 'inUse', expression: 'false' }] });
const fewer = {
  ...POLICY,
  matchConstraints: { resourceRules: POLICY.matchConstraints.resourceRules.slice(1) },
};

describe('the doctor looks at what refuses an uninstall', () => {
  test.each<[string, Found, 'in-use record' | 'in-use guard', string, string]>([
    ['all is there', {}, 'in-use guard', 'ok', 'is refused while machines are rented'],
    ['machines are rented', {}, 'in-use record', 'ok', 'machines are rented: 1 object'],
    ['nothing is rented', { inUse: 'false', count: 0 }, 'in-use record', 'ok', 'no machine is rented'],
    ['the record is not there', { inUse: undefined }, 'in-use record', 'warning', 'does not say'],
    ['the record is wrong', { inUse: 'false', count: 2 }, 'in-use record', 'failed', '2 objects have one'],
    ['the policy is not there', { policy: undefined }, 'in-use guard', 'warning', 'There is no Validating'],
    ['nothing binds it', { binding: undefined }, 'in-use guard', 'warning', 'No binding puts'],
    [
      'another operator is bound',
      { binding: { ...BINDING, ...guardBindingSpec('other') } },
      'in-use guard',
      'warning',
      `for ${NAMESPACE}`,
    ],
    [
      'it only audits',
      { binding: { ...BINDING, validationActions: ['Audit'] } },
      'in-use guard',
      'warning',
      'No binding puts',
    ],
    ['it is of another version', { policy: outdated }, 'in-use guard', 'warning', 'another version'],
    ['it holds less', { policy: fewer }, 'in-use guard', 'warning', 'another version'],
    ['it may not be read', { forbidden: true }, 'in-use guard', 'skipped', 'You may not read'],
  ])('%s', async (_, found, name, state, detail) => {
    const finding = (await examine(found))[name];
    expect(finding).toMatchObject({ state, detail: expect.stringContaining(detail) });
    if (state !== 'ok') expect(finding.fix).toMatch(/\w+/);
  });
});
