import { type Category, PUBLIC, type Route } from '../calls/route.ts';

/** What an endpoint is beside its path: `access` is `key` and `profiles` public only unless said otherwise. */
export interface EndpointRule
  extends Partial<Pick<Route, 'access' | 'profiles' | 'pause' | 'rawBody' | 'written'>> {
  readonly category: Category | null;
}

/** An endpoint in one line: `endpoint('GET /api/v0/ssh', { category: 'user_read' }, list)`. */
export function endpoint(
  spec: `${Route['method']} /${string}`,
  rule: EndpointRule,
  handler: Route['handler'],
): Route {
  const [method, path] = spec.split(' ') as [Route['method'], string];
  return { method, path, access: 'key', profiles: PUBLIC, ...rule, handler };
}
