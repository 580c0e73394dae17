import { createHash, timingSafeEqual } from 'node:crypto';
import type { SecretData } from './named-secrets.ts';

/** Keys of callers: what may be known of them is their SHA-256. */
export interface CallerKeys {
  /** The name of the caller whose key this `Authorization` header carries; undefined for none. In constant time. */
  callerOf(authorization: string | undefined): string | undefined;
}

/**
 * The keys of a Secret: each key of its data is the name of a caller, its value the hexadecimal SHA-256 of its bearer
 * key; several stand one a line. What is no such hash is passed over.
 */
export function callerKeys(data: SecretData): CallerKeys {
  const known = [...data].flatMap(([caller, text]) =>
    text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => /^[0-9a-fA-F]{64}$/.test(line))
      .map((line) => ({ caller, hash: Buffer.from(line, 'hex') })),
  );
  return {
    callerOf(authorization) {
      const key = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
      if (key === undefined) return undefined;
      const shown = createHash('sha256').update(key).digest();
      let found: string | undefined;
      for (const { caller, hash } of known) if (timingSafeEqual(hash, shown)) found ??= caller;
      return found;
    },
  };
}
