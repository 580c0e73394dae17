import { randomBytes, randomUUID } from 'node:crypto';

/** Random numbers as an argument: seeded in simulation, otherwise those of the system. */
export interface Random {
  /** Returns a number in [0, 1). */
  next(): number;
  /** Returns `length` bytes, unpredictable in production. */
  bytes(length: number): Uint8Array;
  /** Returns a version 4 UUID. */
  uuid(): string;
}

/**
 * Random numbers of the system: cryptographically strong if that matters (`bytes`, `uuid`), fast otherwise (`next`).
 */
export const systemRandom: Random = {
  next: () => Math.random(),
  bytes: (length) => new Uint8Array(randomBytes(length)),
  uuid: () => randomUUID(),
};

/** Two hexadecimal digits for each byte. */
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/**
 * Returns a small seeded generator (mulberry32): the same seed gives the same sequence on every machine. For simulation
 * and catalogs only, never for secrets.
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
