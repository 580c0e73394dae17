import { timingSafeEqual } from 'node:crypto';
import { Secret } from '../../lib/secret.ts';

/** Returns this many random bytes. */
export type RandomBytes = (count: number) => Buffer;

/**
 * Access to the data of one process by a token of 256 random bits, which the printed URL has in its fragment and the page
 * sends as a header. There is no cookie: a browser sends cookies to every port of a host, so also to other users' programs.
 */
export class PageAccess {
  readonly token: Secret;

  constructor(randomBytes: RandomBytes) {
    this.token = new Secret(randomBytes(32).toString('base64url'));
  }

  /** Returns true if the header of a request has the token of this process. */
  isOpen(header: unknown): boolean {
    if (typeof header !== 'string') return false;
    const [left, right] = [Buffer.from(header), Buffer.from(this.token.reveal())];
    return left.length === right.length && timingSafeEqual(left, right);
  }
}
