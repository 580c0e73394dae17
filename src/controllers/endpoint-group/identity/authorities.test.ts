import { expect, test } from 'vitest';
import {
  AUTHORITY_VALID_MS,
  type Authority,
  isCertificateEnding,
  planAuthorities,
  TRUSTED_BEFORE_MS,
  WORKER_VALID_MS,
} from './authorities.ts';

const DAY = 86_400_000;

test('creates the first authority immediately and signs with it', () => {
  expect(planAuthorities([], 0)).toEqual({ trusted: [], signer: undefined, next: 1 });
  const first = { generation: 1, from: 0, until: AUTHORITY_VALID_MS };
  expect(planAuthorities([first], 1)).toEqual({ trusted: [first], signer: first, next: undefined });
});

test('keeps every certificate trusted until its end over twelve years of rotation', () => {
  let all: Authority[] = [];
  const issued: { at: number; until: number; by: number; trusts: Set<number> }[] = [];
  for (let now = 0; now < 12 * 365 * DAY; now += 5 * DAY) {
    const { next } = planAuthorities(all, now);
    if (next !== undefined) all = [...all, { generation: next, from: now, until: now + AUTHORITY_VALID_MS }];
    const { signer, trusted } = planAuthorities(all, now);
    if (!signer) throw new Error('no authority signs');
    const trustedNow = new Set(trusted.map(({ generation }) => generation));
    // The gateway trusts the worker, and the worker trusts the gateway's current certificate.
    const distrusted = issued
      .filter(({ until }) => until > now)
      .filter(({ by, trusts }) => !trustedNow.has(by) || !trusts.has(signer.generation));
    expect(distrusted).toEqual([]);
    const until = now + WORKER_VALID_MS;
    expect(signer.until).toBeGreaterThanOrEqual(until);
    issued.push({ at: now, until, by: signer.generation, trusts: trustedNow });
    expect(trusted.length).toBeLessThanOrEqual(4);
  }
  expect(planAuthorities(all, 12 * 365 * DAY).signer?.generation).toBeGreaterThan(5);
  expect(TRUSTED_BEFORE_MS).toBeGreaterThan(WORKER_VALID_MS);
});

test('replaces a worker at least 30 days before its certificate ends', () => {
  for (let issuedAt = 0; issuedAt < 335 * DAY; issuedAt += 5 * DAY) {
    let now = issuedAt;
    while (!isCertificateEnding({ createdAt: 0 }, now)) now += DAY;
    expect(issuedAt + WORKER_VALID_MS - now).toBeGreaterThanOrEqual(30 * DAY);
  }
  expect(isCertificateEnding({ createdAt: 0 }, 334 * DAY)).toBe(false);
});
