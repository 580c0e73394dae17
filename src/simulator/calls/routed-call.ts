import type { JsonObject } from '../json.ts';
import type { Route } from './route.ts';

/** A call that has been routed and is about to be made. */
export interface Call {
  readonly route: Route;
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly query: URLSearchParams;
  readonly body: JsonObject;
}
