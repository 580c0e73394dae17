import { createHash, timingSafeEqual } from 'node:crypto';
import type { SecretData } from './named-secrets.ts';

/** Keys of callers, of which only the SHA-256 is known. */
export interface CallerKeys {
  /** True if at least one key is valid. */
  readonly isUsable: boolean;
  /** Names in the Secret with a line that is no SHA-256, in their order. */
  readonly unusable: readonly string[];
  /**
   * Returns the name of the caller whose key this `Authorization` header carries, in constant time; undefined if there
   * is none.
   */
  callerOf(authorization: string | undefined): string | undefined;
}

/** A hash alone, or in the output format of `sha256sum`. */
const HASH = /^(?:sha256:)?([0-9a-fA-F]{64})(?:\s+[*]?-)?$/;

/**
 * Returns the keys of a Secret. Each key of its data is the name of a caller, its value the hexadecimal SHA-256 of its
 * bearer key, with one per line. Other lines match no key: a key in plain text is not accepted, since anyone who reads
 * the Secret could then call.
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
