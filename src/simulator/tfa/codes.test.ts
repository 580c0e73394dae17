import { describe, expect, test } from 'vitest';
import { totpCode } from '../../../test/builders/totp.ts';
import { isTotpSecret, provisioningUri, totpStep } from './codes.ts';

/** The ASCII key of RFC 6238 appendix B, in base32. */
const RFC_SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

describe('TOTP by RFC 6238', () => {
  test.for([
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ] as const)('at %i s the code is %s (appendix B, last six digits)', ([seconds, code]) => {
    expect(totpCode(RFC_SECRET, seconds * 1000)).toBe(code);
  });

  test('a code verifies in its own step and one step either way', () => {
    const at = 1_111_111_111_000;
    const code = totpCode(RFC_SECRET, at);
    const stepAt = (offset: number) => totpStep(RFC_SECRET, { code, at: at + offset * 30_000, window: 1 });
    expect([-2, -1, 0, 1, 2].map((offset) => stepAt(offset) !== undefined)).toEqual([
      false,
      true,
      true,
      true,
      false,
    ]);
    expect(stepAt(1)).toBe(stepAt(0));
  });

  test('a secret has at least 80 bits of base32', () => {
    expect(['', 'ABC', 'not base32!', 'jbswy3dp'].map(isTotpSecret)).toEqual([false, false, false, false]);
    expect(isTotpSecret(RFC_SECRET)).toBe(true);
  });

  test('the provisioning URI names issuer, account and secret', () => {
    const uri = new URL(provisioningUri(RFC_SECRET, 'me@example.com'));
    expect(uri.protocol).toBe('otpauth:');
    expect(uri.searchParams.get('secret')).toBe(RFC_SECRET);
    expect(decodeURIComponent(uri.pathname)).toContain('me@example.com');
  });
});
