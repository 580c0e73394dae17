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

test('makes the first authority at once, and signs by it', () => {
  expect(planAuthorities([], 0)).toEqual({ trusted: [], signer: undefined, next: 1 });
  const first = { generation: 1, from: 0, until: AUTHORITY_VALID_MS };
  expect(planAuthorities([first], 1)).toEqual({ trusted: [first], signer: first, next: undefined });
});

test('every certificate of twelve years is believed by everyone who needs to, from issue to end', () => {
  let all: Authority[] = [];
  const issued: { at: number; until: number; by: number; believes: Set<number> }[] = [];
  for (let now = 0; now < 12 * 365 * DAY; now += 5 * DAY) {
    const { next } = planAuthorities(all, now);
    if (next !== undefined) all = [...all, { generation: next, from: now, until: now + AUTHORITY_VALID_MS }];
    const { signer, trusted } = planAuthorities(all, now);
    if (!signer) throw new Error('no authority signs');
    const believed = new Set(trusted.map(({ generation }) => generation));
    // The gateway believes the worker, and the worker believes what the gateway shows now.
    const apart = issued
      .filter(({ until }) => until > now)
      .filter(({ by, believes }) => !believed.has(by) || !believes.has(signer.generation));
    expect(apart).toEqual([]);
    const until = now + WORKER_VALID_MS;
    expect(signer.until).toBeGreaterThanOrEqual(until);
    issued.push({ at: now, until, by: signer.generation, believes: believed });
    expect(trusted.length).toBeLessThanOrEqual(4);
  }
  expect(planAuthorities(all, 12 * 365 * DAY).signer?.generation).toBeGreaterThan(5);
  expect(TRUSTED_BEFORE_MS).toBeGreaterThan(WORKER_VALID_MS);
});

test('a worker is replaced while its certificate is good for weeks yet, whenever in its life it was issued', () => {
  for (let issuedAt = 0; issuedAt < 335 * DAY; issuedAt += 5 * DAY) {
    let now = issuedAt;
    while (!isCertificateEnding({ createdAt: 0 }, now)) now += DAY;
    expect(issuedAt + WORKER_VALID_MS - now).toBeGreaterThanOrEqual(30 * DAY);
  }
  expect(isCertificateEnding({ createdAt: 0 }, 334 * DAY)).toBe(false);
});
