import { randomBytes, randomUUID } from 'node:crypto';

/** Chance as an argument: seeded in simulation, the machine's own otherwise. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
  /** `length` bytes, unpredictable in production. */
  bytes(length: number): Uint8Array;
  /** A version 4 UUID. */
  uuid(): string;
}

/** Cryptographically strong where it matters (`bytes`, `uuid`), fast where it does not (`next`). */
export const systemRandom: Random = {
  next: () => Math.random(),
  bytes: (length) => new Uint8Array(randomBytes(length)),
  uuid: () => randomUUID(),
};

/** Each byte in two hexadecimal digits. */
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/**
 * A small seeded generator (mulberry32): the same seed gives the same sequence on every machine.
 * For simulation and catalogs only, never for secrets.
 */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const bytes = (length: number): Uint8Array => {
    const drawn = new Uint8Array(length);
    for (let index = 0; index < length; index += 1) drawn[index] = Math.floor(next() * 256);
    return drawn;
  };
  return {
    next,
    bytes,
    uuid() {
      const raw = bytes(16);
      raw[6] = ((raw[6] ?? 0) & 0x0f) | 0x40;
      raw[8] = ((raw[8] ?? 0) & 0x3f) | 0x80;
      let hex = '';
      for (const byte of raw) hex += HEX[byte] ?? '';
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
    },
  };
}
