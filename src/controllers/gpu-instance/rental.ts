import * as z from 'zod';
import type { GpuInstanceSpec } from '../../api/v1alpha1/gpu-instance.ts';
import { diskGB } from '../../api/v1alpha1/machine-drift.ts';
import { WORKER_TOKEN_ENV } from '../../api/v1alpha1/names.ts';
import type { OfferRequirements } from '../../api/v1alpha1/offer-requirements.ts';
import { omitUndefined } from '../../lib/json.ts';
import { parseDollars } from '../../lib/money.ts';
import type { RentRequest } from '../../marketplace/instances/rent.ts';
import { findOfferField, unknownFieldMessage } from '../../marketplace/offers/offer-fields.ts';
import type { InputsView } from './types.ts';

interface RentInput {
  readonly spec: GpuInstanceSpec;
  readonly requirements: OfferRequirements;
  readonly inputs: Extract<InputsView, { type: 'ready' }>;
  readonly label: string;
  /** Shown by the worker to the operator and the other way round. */
  readonly workerToken: string;
}

/** The rent call's body in our names (specification 4.5 and what the public service adds). */
export function rentRequest(input: RentInput): RentRequest {
  const { spec, requirements, inputs } = input;
  const bid = parseDollars(requirements.bid);
  return {
    ...omitUndefined({
      image: spec.image,
      onStart: inputs.onStart,
      bidPerHour: bid,
      imageLogin: inputs.imageLogin,
    }),
    diskGB: diskGB(spec),
    label: input.label,
    env: { ...inputs.env, [WORKER_TOKEN_ENV]: input.workerToken },
    ports: (spec.ports ?? []).map(({ containerPort, protocol }) => ({
      port: containerPort,
      protocol: protocol === 'UDP' ? 'udp' : 'tcp',
    })),
    ...(spec.ssh ? { runType: 'ssh_direc ssh_proxy' } : {}),
    cancelUnavailable: true,
  };
}

interface NamedField {
  /** Where it stands in the object. */
  readonly path: string;
  readonly name: string;
}

/**
 * What is wrong with the fields that offers are filtered and sorted by; undefined where nothing is. A marketplace
 * may pass over a field that it does not know, and then rents what was to be ruled out.
 */
export function wrongOfferFields({ offers = [] }: Pick<GpuInstanceSpec, 'offers'>): string | undefined {
  const wrong = offers.flatMap(namedFields).filter(({ name }) => findOfferField(name).type === 'unknown');
  if (wrong.length === 0) return undefined;
  const text = wrong.map(({ path, name }) => `${path}: ${unknownFieldMessage(name)}`).join('; ');
  return text.endsWith('?') ? text : `${text}.`;
}

function namedFields(
  { filters = [], order }: NonNullable<GpuInstanceSpec['offers']>[number],
  index: number,
): readonly NamedField[] {
  const offer = `spec.offers[${index}]`;
  return [
    ...filters.map(({ field }, at) => ({ path: `${offer}.filters[${at}].field`, name: field })),
    ...order.map(({ field }, at) => ({ path: `${offer}.order[${at}].field`, name: field })),
  ];
}

const dockerConfig = z.looseObject({ auths: z.record(z.string(), z.unknown()) });

const login = z.looseObject({
  username: z.string().optional(),
  password: z.string().optional(),
  auth: z.string().optional(),
});

/** The registry login as the marketplace takes it, or what is wrong with the Secret. Never names a value. */
type ImageLogin =
  | { readonly type: 'login'; readonly flags: string }
  | { readonly type: 'problem'; readonly problem: string };

const problem = (text: string): ImageLogin => ({ type: 'problem', problem: text });

/**
 * Login flags `-u user -p password registry` for an image out of a `kubernetes.io/dockerconfigjson` Secret. As with the
 * kubelet the login of the longest path counts, and what other logins look like does not matter
 * (kubernetes/kubernetes:pkg/credentialprovider/keyring.go).
 */
export function imageLogin(configJson: string, image: string): ImageLogin {
  const parsed = dockerConfig.safeParse(jsonOf(configJson));
  if (!parsed.success) {
    return problem(
      '.dockerconfigjson is not a docker configuration with auths; make the Secret with kubectl create secret docker-registry.',
    );
  }
  const { host, path } = placeOfImage(image);
  const entries = Object.entries(parsed.data.auths)
    .map(([server, entry]) => ({ place: placeOfServer(server), entry }))
    .filter(({ place }) => place.host === host && `${path}/`.startsWith(place.path))
    .sort((a, b) => b.place.path.length - a.place.path.length);
  if (entries.length === 0) return problem(`.dockerconfigjson has no login for ${host}; add it to auths.`);
  const [credentials] = entries.flatMap(({ entry }) => credentialsOf(entry) ?? []);
  if (!credentials) {
    return problem(
      `The login for ${host} in .dockerconfigjson has no user name and password; give it both, without blanks, quotes, backslashes and control characters.`,
    );
  }
  return { type: 'login', flags: `-u ${credentials.username} -p ${credentials.password} ${host}` };
}

/** Where images are: a registry, and the beginning of their names there, with its slash where it is not empty. */
interface Place {
  readonly host: string;
  readonly path: string;
}

const HUB = 'docker.io';
const HUB_NAMES: ReadonlySet<string> = new Set([HUB, 'index.docker.io', 'registry-1.docker.io']);

const hostOf = (name: string): string => (HUB_NAMES.has(name.toLowerCase()) ? HUB : name.toLowerCase());

/** What stands before the first slash is a registry where it looks like a host. */
function placeOfImage(image: string): Place {
  const slash = image.indexOf('/');
  const first = image.slice(0, Math.max(0, slash));
  const isHost = /[.:]|^localhost$/.test(first);
  const name = isHost ? image.slice(slash + 1) : image;
  return { host: isHost ? hostOf(first) : HUB, path: name.replace(/@.*$/, '').replace(/:[^/:]*$/, '') };
}

/** The paths of the registry's own interface stand for all of it. */
function placeOfServer(server: string): Place {
  const [host = '', ...rest] = server.replace(/^https?:\/\//, '').split('/');
  const path = rest
    .join('/')
    .replace(/^v[12](\/|$)/, '')
    .replace(/\/+$/, '');
  return { host: hostOf(host), path: path === '' ? '' : `${path}/` };
}

interface Credentials {
  readonly username: string;
  readonly password: string;
}

/** Out of `auth`, which counts where it is there, or out of fields of their own. */
function credentialsOf(entry: unknown): Credentials | undefined {
  const { data } = login.safeParse(entry);
  const [user, ...rest] = Buffer.from(data?.auth ?? '', 'base64')
    .toString('utf8')
    .split(':');
  const decoded = { username: user, password: rest.join(':').replace(/\0+$/, '') };
  return [decoded, { username: data?.username, password: data?.password }].find(isComplete);
}

const isComplete = (given: {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}): given is Credentials => isFlagSafe(given.username) && isFlagSafe(given.password);

/** Longer than tokens of registries, which are what is long. */
const MAX_FLAG_LENGTH = 8192;

/**
 * The login travels as one line of flags that the other side splits: a blank, a quote or a backslash would end or change
 * the value, a first dash would begin another flag, and a control character may end the line.
 */
function isFlagSafe(value: string | undefined): value is string {
  return value !== undefined && value.length <= MAX_FLAG_LENGTH && /^(?!-)[^\s\p{C}"'`\\]+$/u.test(value);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
