import { type Category, PUBLIC, type Route } from '../route.ts';

/** An endpoint of account, volumes or groups, in one line: `endpoint('GET /api/v0/ssh', 'user_read', list)`. */
export function endpoint(
  spec: `${Route['method']} /${string}`,
  category: Category | null,
  handler: Route['handler'],
  options: Partial<Pick<Route, 'access' | 'profiles' | 'pause'>> = {},
): Route {
  const [method, path] = spec.split(' ') as [Route['method'], string];
  return { method, path, category, access: 'key', profiles: PUBLIC, handler, ...options };
}
