import { createHash, timingSafeEqual } from 'node:crypto';
import type { SecretData } from './named-secrets.ts';

/** Keys of callers: what may be known of them is their SHA-256. */
export interface CallerKeys {
  /** Whether any key was found. */
  readonly isUsable: boolean;
  /** Names in the Secret with a line that is no SHA-256, in their order. */
  readonly unusable: readonly string[];
  /** The name of the caller whose key this `Authorization` header carries; undefined for none. In constant time. */
  callerOf(authorization: string | undefined): string | undefined;
}

/** As it stands alone, and as `sha256sum` prints it. */
const HASH = /^(?:sha256:)?([0-9a-fA-F]{64})(?:\s+[*]?-)?$/;

/**
 * The keys of a Secret: each key of its data is the name of a caller, its value the hexadecimal SHA-256 of its bearer
 * key; several stand one a line. Other lines match no key: a key that stands there in plain text is not accepted, since
 * whoever reads the Secret could then call.
 */
export function callerKeys(data: SecretData): CallerKeys {
  const lines = [...data].flatMap(([caller, text]) =>
    text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
      .map((line) => ({ caller, hash: HASH.exec(line)?.[1] })),
  );
  const known = lines.flatMap(({ caller, hash }) =>
    hash === undefined ? [] : [{ caller, hash: Buffer.from(hash, 'hex') }],
  );
  return {
    isUsable: known.length > 0,
    unusable: [...new Set(lines.flatMap(({ caller, hash }) => (hash === undefined ? [caller] : [])))],
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
