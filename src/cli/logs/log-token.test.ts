import { beforeEach, describe, expect, test } from 'vitest';
import { answeredBy, type MemoryCluster, memoryCluster } from '../../../test/builders/memory-cluster.ts';
import { noCredentials } from '../../../test/builders/no-credentials.ts';
import type { Credentials } from '../../runtime/kube/credentials.ts';
import { logCredentials } from './log-token.ts';

const MINUTE = 60_000;

let cluster: MemoryCluster;
let issued: number;
let lifetime: number | undefined;
beforeEach(() => {
  cluster = memoryCluster();
  issued = 0;
  lifetime = undefined;
  cluster.intercept = ({ method, path }) => {
    if (method !== 'POST' || !path.endsWith('/serviceaccounts/reader/token')) return undefined;
    issued += 1;
    const spec = lifetime === undefined ? undefined : { expirationSeconds: lifetime };
    return answeredBy(201, { kind: 'TokenRequest', spec, status: { token: `t${issued}` } });
  };
});

const credentials = (): Promise<Credentials> => {
  const { kube, clock } = cluster;
  const options = { logServiceAccount: 'reader' };
  return logCredentials(options, { kube, clock, namespace: 'team', credentials: noCredentials });
};

describe('the token of --log-service-account', () => {
  test.each([
    ['an hour', undefined, 48],
    ['the ten minutes that the API server chose', 600, 8],
  ])('is requested again after 80 %% of %s', async (_, seconds, minutes) => {
    lifetime = seconds;
    const { headers } = await credentials();
    await cluster.clock.advance(minutes * MINUTE - 1);
    expect(await headers()).toEqual({ authorization: 'Bearer t1' });
    await cluster.clock.advance(1);
    expect(await headers()).toEqual({ authorization: 'Bearer t2' });
    expect(await headers()).toEqual({ authorization: 'Bearer t2' });
  });
});
