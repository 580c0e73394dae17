import * as z from 'zod';

const dockerConfig = z.looseObject({
  auths: z.record(
    z.string(),
    z.looseObject({
      username: z.string().optional(),
      password: z.string().optional(),
      auth: z.string().optional(),
    }),
  ),
});

/** The registry login as the marketplace takes it, or what is wrong with the Secret. Never names a value. */
export type ImageLogin =
  | { readonly type: 'login'; readonly flags: string }
  | { readonly type: 'problem'; readonly problem: string };

const DEFAULT_REGISTRY = 'docker.io';

/** Login flags `-u user -p password registry` for an image out of a `kubernetes.io/dockerconfigjson` Secret. */
export function imageLogin(configJson: string, image: string): ImageLogin {
  const parsed = dockerConfig.safeParse(jsonOf(configJson));
  if (!parsed.success)
    return { type: 'problem', problem: '.dockerconfigjson is not a docker configuration with auths.' };
  const registry = registryOf(image);
  const entry = Object.entries(parsed.data.auths).find(([server]) => hostOf(server) === registry);
  if (!entry) return { type: 'problem', problem: `.dockerconfigjson has no login for ${registry}.` };
  const credentials = credentialsOf(entry[1]);
  if (!credentials)
    return { type: 'problem', problem: `The login for ${registry} has no user name and password.` };
  return { type: 'login', flags: `-u ${credentials.username} -p ${credentials.password} ${registry}` };
}

/** The registry of an image reference: what stands before the first slash where that looks like a host. */
function registryOf(image: string): string {
  const [first = '', ...rest] = image.split('/');
  return rest.length > 0 && /[.:]|^localhost$/.test(first) ? first : DEFAULT_REGISTRY;
}

function hostOf(server: string): string {
  const host = server.replace(/^https?:\/\//, '').split('/')[0] ?? '';
  return host === 'index.docker.io' || host === 'registry-1.docker.io' ? DEFAULT_REGISTRY : host;
}

interface AuthEntry {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly auth?: string | undefined;
}

function credentialsOf(entry: AuthEntry): { username: string; password: string } | undefined {
  const [user, ...rest] =
    entry.auth === undefined ? [] : Buffer.from(entry.auth, 'base64').toString('utf8').split(':');
  const username = entry.username ?? user;
  const password = entry.password ?? (rest.length > 0 ? rest.join(':') : undefined);
  if (!isFlagSafe(username) || !isFlagSafe(password)) return undefined;
  return { username, password };
}

/** The login travels as one line of flags: a blank would end the value. */
function isFlagSafe(value: string | undefined): value is string {
  return value !== undefined && value !== '' && !/\s/.test(value);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
