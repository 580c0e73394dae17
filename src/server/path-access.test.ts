import { describe, expect, test } from 'vitest';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import type { Logger } from '../lib/logger.ts';
import { silentLogger } from '../lib/logger.ts';
import type { KubeObject, Resource } from '../runtime/kube/kube-object.ts';
import { PathAccess } from './path-access.ts';

/** Returns an API server that knows two users, of whom only `prometheus` may read. */
function bench() {
  const clock = createVirtualClock();
  const asked: { readonly kind: string; readonly spec: unknown }[] = [];
  const logged: string[] = [];
  const server = { isDown: false, isSilent: false };
  const replyTo = ({ kind, spec }: KubeObject & { readonly spec?: Record<string, unknown> }) => {
    const user = String(spec?.['user'] ?? spec?.['token']);
    if (kind === 'SubjectAccessReview') return { allowed: user === 'prometheus' };
    const isKnown = ['prometheus', 'stranger'].includes(user);
    return isKnown ? { authenticated: true, user: { username: user, groups: ['g'] } } : {};
  };
  const create = async <T extends KubeObject>(_resource: Resource, object: T): Promise<T> => {
    if (server.isDown) throw new Error('connect ECONNREFUSED');
    if (server.isSilent) return new Promise<T>(() => {});
    asked.push({ kind: object.kind, spec: (object as { readonly spec?: unknown }).spec });
    return { ...object, status: replyTo(object) };
  };
  const log: Logger = { ...silentLogger, warn: (message) => logged.push(message) };
  const access = new PathAccess({ client: { create }, clock, log, path: '/metrics', verb: 'get' });
  const status = async (authorization: string | undefined) =>
    (await access.refusal({ authorization }))?.status ?? 200;
  return { clock, asked, logged, server, access, status };
}

describe('metrics with authentication', () => {
  test.each([
    ['are shown to a user who may get /metrics', 'Bearer prometheus', 200],
    ['are refused when the user may not get /metrics', 'Bearer stranger', 403],
    ['are refused when no user has the token', 'Bearer made-up', 401],
    ['are refused without a token', undefined, 401],
    ['are refused with an empty token', 'Bearer ', 401],
    ['are refused with a password', 'Basic prometheus', 401],
  ])('%s', async (_, authorization, expected) => {
    expect(await bench().status(authorization)).toBe(expected);
  });

  test('ask for the user and groups of the token, and for the path as a non-resource URL', async () => {
    const { asked, status } = bench();
    await status('bearer prometheus');
    expect(asked).toEqual([
      { kind: 'TokenReview', spec: { token: 'prometheus' } },
      {
        kind: 'SubjectAccessReview',
        spec: expect.objectContaining({
          user: 'prometheus',
          groups: ['g'],
          nonResourceAttributes: { path: '/metrics', verb: 'get' },
        }),
      },
    ]);
  });

  test('are reviewed again when an answer is a minute old, and a refusal 10 seconds', async () => {
    const { asked, clock, status } = bench();
    const reviews = () => asked.filter(({ kind }) => kind === 'TokenReview').length;
    await Promise.all([status('Bearer prometheus'), status('Bearer prometheus')]);
    await clock.advance(59_999);
    await status('Bearer prometheus');
    expect(reviews()).toBe(1);
    await clock.advance(1);
    await status('Bearer prometheus');
    expect(reviews()).toBe(2);
    await status('Bearer stranger');
    await clock.advance(9_999);
    expect(await status('Bearer stranger')).toBe(403);
    expect(reviews()).toBe(3);
    await clock.advance(1);
    await status('Bearer stranger');
    expect(reviews()).toBe(4);
  });

  test('are shown by an earlier answer while the API server is away, and refused after it', async () => {
    const { clock, logged, server, status } = bench();
    await status('Bearer prometheus');
    server.isDown = true;
    await clock.advance(59_000);
    expect(await status('Bearer prometheus')).toBe(200);
    expect(await status('Bearer stranger')).toBe(503);
    await clock.advance(1_000);
    expect(await status('Bearer prometheus')).toBe(503);
    expect(logged).toHaveLength(1);
    server.isDown = false;
    expect(await status('Bearer prometheus')).toBe(200);
  });

  test('are refused when the API server does not answer in 5 seconds', async () => {
    const { clock, server, status } = bench();
    server.isSilent = true;
    const asking = status('Bearer prometheus');
    await clock.advance(5_000);
    expect(await asking).toBe(503);
  });

  test('cost the API server four reviews at a time, and a reader from before is reviewed beside them', async () => {
    const { clock, asked, server, status } = bench();
    await status('Bearer prometheus');
    await clock.advance(60_000);
    server.isSilent = true;
    for (let at = 0; at < 4; at += 1) void status(`Bearer made-up-${at}`);
    expect(await status('Bearer made-up-4')).toBe(503);
    server.isSilent = false;
    expect(asked).toHaveLength(2);
    expect(await status('Bearer prometheus')).toBe(200);
  });

  test('forget refusals before allowed readers', async () => {
    const { asked, status } = bench();
    await status('Bearer prometheus');
    for (let at = 0; at < 200; at += 1) await status(`Bearer made-up-${at}`);
    asked.length = 0;
    await status('Bearer prometheus');
    await status('Bearer made-up-199');
    expect(asked).toEqual([]);
    await status('Bearer made-up-0');
    expect(asked).toHaveLength(1);
  });
});
