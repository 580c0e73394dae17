import { describe, expect, test } from 'vitest';
import type { MarketplaceErrorKind } from '../../../market/errors.ts';
import { classifyFailure } from './classify-failure.ts';
import { ADVICE_BY_KIND, connectionAdvice, ERROR_CATALOGUE, findErrorCode } from './error-codes.ts';

/** Specification 7: every code of two-factor authentication with its status. */
const SPECIFIED: readonly [string, number][] = [
  ['bad_request', 400],
  ['auth_error', 403],
  ['invalid_tfa_method', 400],
  ['missing_auth_value', 400],
  ['missing_auth_value', 401],
  ['missing_params', 400],
  ['email_not_verified', 400],
  ['2fa_expired', 400],
  ['challenge_not_found', 400],
  ['no_challenge_found', 400],
  ['tfa_challenge_exists', 400],
  ['authorization_required', 403],
  ['no_pending_authorization', 400],
  ['invalid_backup_code', 401],
  ['untracked_2fa_found', 400],
  ['duplicate_tfa_method', 400],
  ['twilio_error', 400],
  ['preauth_phone_cap', 429],
  ['sms_rate_limited', 429],
  ['twilio_rate_limited', 429],
  ['tfa_locked', 429],
  ['service_unavailable', 503],
  ['phone_number_mismatch', 400],
  ['2fa_login_failed', 400],
  ['2fa_verification_failed', 400],
  ['team_user_forbidden', 403],
  ['missing_email', 400],
  ['missing_phone_number', 400],
  ['not_found', 404],
  ['tfa_method_not_configured', 400],
  ['challenge_creation_failed', 500],
  ['sms_blocked_number', 400],
  ['sms_fraud_detected', 403],
];

describe('the catalogue', () => {
  test.each(SPECIFIED)('has a row for %s with %d', (code, status) => {
    const row = findErrorCode({ area: 'tfa', code, status, text: '' });
    expect(row?.code).toBe(code);
    expect(row?.advice.length).toBeGreaterThan(10);
  });

  const volumes: readonly [string, MarketplaceErrorKind][] = [
    ['id must be passed in the request body', 'invalidRequest'],
    ['Volume listing does not exist', 'notFound'],
    ['Unable to delete active volume listing', 'conflict'],
    ['Unable to delete volume listing.', 'refused'],
  ];
  test.each(volumes)('knows the unlisting failure "%s" by its text', (text, kind) => {
    expect(findErrorCode({ area: 'volumes', code: 'error', status: 400, text })?.kind).toBe(kind);
  });

  test('has each code once per area, status and text', () => {
    const keys = ERROR_CATALOGUE.flatMap(({ area, code, statuses, text }) =>
      statuses.map((status) => `${area} ${code} ${status} ${text ?? ''}`),
    );
    expect(new Set(keys).size).toBe(keys.length);
  });

  test('has something to do for every kind', () => {
    for (const advice of Object.values(ADVICE_BY_KIND)) expect(advice).toMatch(/^[A-Z].*[.!]$/);
    expect(connectionAdvice('CERT_HAS_EXPIRED')).toMatch(/certificate/);
    expect(connectionAdvice('ECONNREFUSED')).toBeUndefined();
  });

  test('lets no rent failure but a gone offer be certain by its code', () => {
    const certain = ERROR_CATALOGUE.filter(({ area, outcome }) => area === 'rent' && outcome === 'refused');
    expect(new Set(certain.map(({ kind }) => kind))).toEqual(new Set(['offerGone']));
  });
});

describe('a failure', () => {
  const context = { operation: 'try', area: 'tfa', effect: 'write', now: 0 } as const;

  test('of a locked method says how long, in our units', () => {
    const body = JSON.stringify({
      error: 'tfa_locked',
      msg: 'x',
      fail_count: 5,
      locked_until: 1_700_000_900,
    });
    expect(classifyFailure({ status: 429, headers: {}, body }, context)).toMatchObject({
      kind: 'locked',
      outcome: 'refused',
      failCount: 5,
      lockedUntil: 1_700_000_900_000,
      advice: expect.stringMatching(/15 minutes/),
    });
  });

  test.each(['', 'plain text', '[]', 'null', '{"detail":"no"}', '{"error":{"deep":1}}', '{"msg":null}'])(
    'with the body %j is classified by its status',
    (body) => {
      expect(classifyFailure({ status: 403, headers: {}, body }, context).kind).toBe('forbidden');
    },
  );

  test('says nothing that the service wrote but a harmless code', () => {
    const body = JSON.stringify({ error: 'a b<script>', msg: 'secret text' });
    const error = classifyFailure({ status: 400, headers: {}, body }, context);
    expect(error.message).toBe('try: invalidRequest (HTTP 400). Correct the request.');
    expect(error.upstreamMessage).toBe('secret text');
  });
});
