import createFindMyWay, { type HTTPMethod } from 'find-my-way';
import { Refusal, WrongMethod } from './refusal.ts';
import type { Profile, Route } from './route.ts';

type Found =
  | {
      readonly type: 'found';
      readonly route: Route;
      readonly params: Readonly<Record<string, string | undefined>>;
    }
  | { readonly type: 'refused'; readonly refusal: Refusal };

/** Finds the route of a request: with and without a final slash, also behind a doubled first one. */
export interface Router {
  find(method: string, path: string): Found;
}

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const;

/** A router over the routes of one profile; two routes with equal method and path are an error. */
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
      return found ?? { type: 'refused', refusal: notFound(lookup, method, path) };
    },
  };
}

const isMethod = (method: string): method is (typeof METHODS)[number] =>
  (METHODS as readonly string[]).includes(method);

function notFound(
  lookup: (method: string, path: string) => Found | undefined,
  method: string,
  path: string,
): Refusal {
  const others = METHODS.filter((other) => lookup(other, path) !== undefined);
  const shown = path.slice(0, 200);
  if (others.length === 0) return new Refusal(404, 'not_found', `There is no endpoint ${shown}.`);
  return new WrongMethod(others, `${shown} takes ${others.join(', ')}, not ${method.slice(0, 20)}.`);
}
