import type { JsonObject } from './json.ts';

/** Text for people, and further fields of the body. */
type RefusalFields = JsonObject & { readonly msg: string };

/**
 * Thrown by a handler or a reader of the body to answer with an error. It becomes
 * `{"success": false, "error": code, "msg": text, …extra}`: every error body has a string `msg`.
 */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly extra: JsonObject;
  constructor(status: number, code: string, message: string | RefusalFields) {
    const { msg, ...extra } = typeof message === 'string' ? { msg: message } : message;
    super(msg);
    this.name = 'Refusal';
    this.status = status;
    this.code = code;
    this.extra = extra;
  }
}

/** 405: the path exists and accepts other methods, which the `Allow` header names (RFC 9110 15.5.6). */
export class WrongMethod extends Refusal {
  readonly allowed: readonly string[];
  constructor(allowed: readonly string[], msg: string) {
    super(405, 'method_not_allowed', msg);
    this.allowed = allowed;
  }
}

/** Returns the refusal 400 `bad_request`: the body fails validation (specification section 7). */
export const badRequest = (msg: string): Refusal => new Refusal(400, 'bad_request', msg);

/** Returns the refusal 400 `invalid_args`: the fields have valid types and an invalid meaning. */
export const invalidArgs = (msg: string): Refusal => new Refusal(400, 'invalid_args', msg);

/** Returns the refusal 404 `not_found`: the object does not exist, or belongs to another account. */
export const notFound = (msg: string): Refusal => new Refusal(404, 'not_found', msg);
