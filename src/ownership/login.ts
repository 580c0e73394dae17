/** Login of one marketplace. Every intent and claim contains it, so a key of another login owns nothing. */
export interface Login {
  readonly url: string;
  readonly userId: string;
}

/** Returns the login as the one string that is signed and stored: `<userId>@<url>`. */
export function loginText(login: Login): string {
  return `${login.userId}@${login.url.replace(/\/+$/, '')}`;
}
