import { describe, expect, test } from 'vitest';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import type { CommandContext } from '../command.ts';
import { accountTarget } from './account-access.ts';
import type { ClusterSession } from './cluster-session.ts';

/* Whose key goes where: an account is written by a tenant, who must not collect the key of an administrator. */

const TENANT = 'https://collector.test';
const OWN = 'https://own.test';

interface Places {
  readonly spec?: string;
  readonly login?: string;
}

function account({ spec, login }: Places): MarketplaceAccount {
  return {
    metadata: { namespace: 'tenant', name: 'x' },
    spec: { ...(spec === undefined ? {} : { url: spec }), apiKeySecretRef: { name: 'k', key: 'api-key' } },
    ...(login === undefined ? {} : { status: { login: { url: login, userId: '7' } } }),
  } as MarketplaceAccount;
}

const data = { 'api-key': Buffer.from('the-key-of-the-account').toString('base64') };
const secret = { metadata: { namespace: 'tenant', name: 'k' }, data };
const cluster = { kube: { get: async () => secret } } as unknown as ClusterSession;
const context = { env: { GPU_RENT_URL: OWN } } as unknown as CommandContext;

const targetOf = (places: Places, options: Readonly<Record<string, unknown>>) =>
  accountTarget(cluster, account(places), { input: { args: [], options }, context });

describe.each([{ apiKey: 'mine' }, { apiKeyFile: '/my/key' }])("the caller's own key %o", (key) => {
  test('never goes to an address that only the account names', async () => {
    await expect(targetOf({ spec: TENANT }, key)).rejects.toMatchObject({
      message: expect.stringMatching(/gpuacct\/x .*https:\/\/collector\.test.*your own key/),
      remedy: expect.stringContaining('name it: --url'),
    });
  });

  test('goes there when the caller names the address', async () => {
    expect(await targetOf({ spec: TENANT }, { ...key, url: TENANT })).toEqual({ baseUrl: TENANT });
    expect(await targetOf({ spec: TENANT, login: TENANT }, { ...key, url: OWN })).toEqual({ baseUrl: OWN });
  });

  test('goes to the address at which the operator proved the login', async () => {
    expect(await targetOf({ spec: TENANT, login: 'https://allowed.test' }, key)).toEqual({
      baseUrl: 'https://allowed.test',
    });
  });

  test("goes to the caller's own default, which the account may name as well", async () => {
    expect(await targetOf({}, key)).toEqual({ baseUrl: OWN });
    expect(await targetOf({ spec: `${OWN}/` }, key)).toEqual({ baseUrl: OWN });
  });
});

test('the key of the account goes where the caller says, then to its proven login, then where it names', async () => {
  const places = { spec: TENANT, login: 'https://allowed.test' };
  expect(await targetOf(places, { url: OWN })).toMatchObject({ baseUrl: OWN });
  expect(await targetOf(places, {})).toMatchObject({ baseUrl: 'https://allowed.test' });
  expect(await targetOf({}, {})).toMatchObject({ baseUrl: OWN });
});

test('the key of the account goes to the address of the account', async () => {
  const { baseUrl, apiKey } = await targetOf({ spec: TENANT }, {});
  expect(baseUrl).toBe(TENANT);
  expect(apiKey?.reveal()).toBe('the-key-of-the-account');
});
