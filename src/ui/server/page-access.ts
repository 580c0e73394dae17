import { timingSafeEqual } from 'node:crypto';
import { Secret } from '../../lib/secret.ts';

/** Returns this many random bytes. */
export type RandomBytes = (count: number) => Buffer;

/**
 * Access to the page of one process. The printed URL has a token; the page exchanges it for a cookie, which ends with the
 * process. Neither is derived from the other, and both have 256 random bits.
 */
export class PageAccess {
  readonly token: Secret;
  readonly #cookie: Secret;

  constructor(randomBytes: RandomBytes) {
    this.token = new Secret(randomBytes(32).toString('base64url'));
    this.#cookie = new Secret(randomBytes(32).toString('base64url'));
  }

  /** Returns the header that sets the cookie; undefined for another token. Cookies are shared by ports: the name has it. */
  open(token: unknown, port: number): string | undefined {
    if (typeof token !== 'string' || !isSame(token, this.token)) return undefined;
    return `${cookieName(port)}=${this.#cookie.reveal()}; HttpOnly; SameSite=Strict; Path=/`;
  }

  /** Returns true if the `Cookie` header of a request has the cookie of this process. */
  isOpen(header: string | undefined, port: number): boolean {
    const prefix = `${cookieName(port)}=`;
    const values = (header ?? '')
      .split(';')
      .map((part) => part.trim())
      .filter((part) => part.startsWith(prefix));
    return values.some((part) => isSame(part.slice(prefix.length), this.#cookie));
  }
}

function cookieName(port: number): string {
  return `gpu-rent-${port}`;
}

function isSame(text: string, secret: Secret): boolean {
  const [left, right] = [Buffer.from(text), Buffer.from(secret.reveal())];
  return left.length === right.length && timingSafeEqual(left, right);
}
