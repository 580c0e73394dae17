import type { Random } from '../../lib/random.ts';
import type { FaultName, FaultTarget } from '../fault-catalogue.ts';
import type { Json, JsonObject } from '../json.ts';
import type { MachineDisks } from '../machine-files.ts';
import { notFound, type Refusal, WrongMethod } from '../refusal.ts';
import type { Profile, Settings } from '../settings.ts';
import type { ActiveFault } from '../tables/faults.ts';
import type { ApiKey, User } from '../tables/users.ts';
import type { World } from '../world/world.ts';
import type { CallWriter } from '../world/world-store.ts';
import type { Fields, FieldValues, WrittenFields } from './fields.ts';

export type { Profile } from '../settings.ts';

/** Categories of permission that public clients name. */
export type Category =
  | 'misc'
  | 'user_read'
  | 'user_write'
  | 'instance_read'
  | 'instance_write'
  | 'machine_read'
  | 'machine_write'
  | 'billing_read'
  | 'billing_write'
  | 'team_read'
  | 'team_write';

/** Caller of a call: its valid key, and the user of the key. */
export interface Caller {
  readonly key: ApiKey;
  readonly user: User;
}

/** No field of a body. */
type NoFields = Readonly<Record<never, never>>;

/** Context of the handler of an endpoint with these fields; `query` contains decoded strings. */
export interface RouteContext<F extends Fields = NoFields> {
  /** The present world, already advanced to `now`. */
  readonly world: World;
  /** Rolled back if the call is refused, except for kept writes. */
  readonly write: CallWriter;
  readonly now: number;
  readonly settings: Settings;
  readonly profile: Profile;
  /** The key as sent, valid or not; undefined without one. */
  readonly sentKey: string | undefined;
  /** Undefined only on routes whose `access` is not `key`. Use {@link callerOf} elsewhere. */
  readonly caller: Caller | undefined;
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly query: URLSearchParams;
  /** The whole body; `{}` without one. */
  readonly json: JsonObject;
  /** The fields of the body that the endpoint declares. */
  readonly body: FieldValues<F>;
  readonly random: Random;
  /** Returns and uses up the fault of that name that affects this call; undefined if there is none. */
  readonly fault: (name: FaultName, target?: FaultTarget) => ActiveFault | undefined;
  /** Scheme, host and port of this simulator. */
  readonly origin: string;
  /** Disks and logs of machines that run as processes; undefined if machines are modelled. */
  readonly disks: MachineDisks | undefined;
}

/**
 * A JSON reply, also as rendered text; `text` for a body that is not JSON, also as bytes. Errors are thrown as
 * `Refusal`.
 */
export type Reply =
  | {
      readonly type: 'json';
      readonly status: number;
      readonly body: Json;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly type: 'json-text'; readonly status: number; readonly body: string }
  | {
      readonly type: 'text';
      readonly status: number;
      readonly body: string | Uint8Array;
      readonly contentType: string;
    };

/**
 * An endpoint. `path` is a find-my-way pattern without final slash (`/api/v0/instances/:id`); both slash spellings are
 * served. `access`: `key` requires a valid key; `optional` reads one if it was sent (the 2FA calls that accept a
 * secret); `open` ignores it. `pause` names the class of the rate limit. A handler is synchronous: it reads
 * `ctx.world`, writes by `ctx.write`, and answers, so every call is atomic.
 */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly category: Category | null;
  readonly access: 'key' | 'optional' | 'open';
  readonly pause?: Exclude<keyof Settings['pauses'], 'scale' | 'body' | 'searchesPerDay'>;
  readonly profiles: readonly Profile[];
  /** Fields that the `specification` profile reads of a request; by default those of the public service. */
  readonly written?: WrittenFields;
  /** Set if the body is no JSON: the handler gets its bytes as `json.base64` and its type as `json.contentType`. */
  readonly rawBody?: true;
  readonly fields: Fields;
  readonly handler: (ctx: RouteContext<never>) => Reply;
}

/** For calls in the specification. */
export const BOTH: readonly Profile[] = ['specification', 'public'];
/** For calls that only the public service has. */
export const PUBLIC: readonly Profile[] = ['public'];

/** Returns a JSON reply of status 200, or of the given status. */
export const json = (body: Json, status = 200): Reply => ({ type: 'json', status, body });

/**
 * Returns the caller of a route whose `access` is `key`. Throws a TypeError, which is a bug, if the route admits calls
 * without a key.
 */
export function callerOf(ctx: RouteContext): Caller {
  if (!ctx.caller) throw new TypeError('This route lets callers without a key in: look at ctx.caller.');
  return ctx.caller;
}

import createFindMyWay, { type HTTPMethod } from 'find-my-way';

type Found =
  | {
      readonly type: 'found';
      readonly route: Route;
      readonly params: Readonly<Record<string, string | undefined>>;
    }
  | { readonly type: 'refused'; readonly refusal: Refusal };

/** Finds the route of a request: with and without a final slash, also after a doubled first one. */
export interface Router {
  find(method: string, path: string): Found;
}

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const;

/** Returns a router over the routes of one profile; two routes with equal method and path are an error. */
export function createRouter(routes: readonly Route[], profile: Profile): Router {
  const router = createFindMyWay({
    ignoreTrailingSlash: true,
    ignoreDuplicateSlashes: true,
    maxParamLength: 200,
  });
  for (const route of routes) {
    if (route.profiles.includes(profile)) router.on(route.method, route.path, () => undefined, route);
  }
  const lookup = (method: string, path: string): Found | undefined => {
    const result = router.find(method as HTTPMethod, path);
    return result ? { type: 'found', route: result.store as Route, params: result.params } : undefined;
  };
  return {
    find(method, path) {
      const found = isMethod(method) ? lookup(method, path) : undefined;
      return found ?? { type: 'refused', refusal: refusalOf(lookup, method, path) };
    },
  };
}

const isMethod = (method: string): method is (typeof METHODS)[number] =>
  (METHODS as readonly string[]).includes(method);

function refusalOf(
  lookup: (method: string, path: string) => Found | undefined,
  method: string,
  path: string,
): Refusal {
  const others = METHODS.filter((other) => lookup(other, path) !== undefined);
  const shown = path.slice(0, 200);
  if (others.length === 0) return notFound(`There is no endpoint ${shown}.`);
  return new WrongMethod(others, `${shown} takes ${others.join(', ')}, not ${method.slice(0, 20)}.`);
}

/**
 * Properties of an endpoint in addition to its path. By default `access` is `key` and `profiles` is public only.
 */
export interface EndpointRule<F extends Fields>
  extends Partial<Pick<Route, 'access' | 'profiles' | 'pause' | 'rawBody' | 'written'>> {
  readonly category: Category | null;
  /** The fields of the body that it reads. */
  readonly body?: F;
}

/**
 * Returns an endpoint in one line:
 * `endpoint('POST /api/v0/ssh', { category: 'user_write', body: { ssh_key: text } }, create)`.
 */
export function endpoint<F extends Fields>(
  spec: `${Route['method']} /${string}`,
  { body, ...rule }: EndpointRule<F>,
  handler: (ctx: RouteContext<F>) => Reply,
): Route {
  const [method, path] = spec.split(' ') as [Route['method'], string];
  return { method, path, access: 'key', profiles: PUBLIC, ...rule, fields: body ?? {}, handler };
}
