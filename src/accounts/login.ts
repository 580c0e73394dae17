/**
 * Who a key proved to be: the address it was used at and the user id that address answered with. Pinned in
 * an account's status at the first proof, and part of every intent and claim.
 */
export interface Login {
  /** Origin of the marketplace, without a trailing slash. */
  readonly url: string;
  readonly userId: number;
}

/** One text per login, as intents, claims and the feed registry use it. */
export function loginText(login: Login): string {
  return `${login.userId}@${login.url}`;
}

/** Whether both name the same marketplace user. */
export function sameLogin(a: Login, b: Login): boolean {
  return a.userId === b.userId && a.url === b.url;
}
