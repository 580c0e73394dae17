import * as z from 'zod';
import { fieldName } from '../../api/v1alpha1/former-columns.ts';
import type { GpuInstanceSpec } from '../../api/v1alpha1/gpu-instance.ts';
import { diskGB } from '../../api/v1alpha1/machine-drift.ts';
import { LEASE_PROOF_ENV, WORKER_TOKEN_ENV } from '../../api/v1alpha1/names.ts';
import { isIdFact, isOfferFact, OFFER_FIELDS, type OfferField } from '../../api/v1alpha1/offer-fields.ts';
import type { OfferRequirements } from '../../api/v1alpha1/offer-requirements.ts';
import { omitUndefined } from '../../lib/json.ts';
import { parseDollars } from '../../lib/money.ts';
import { Secret } from '../../lib/secret.ts';
import type { OfferFieldFacts } from '../../market/market.ts';
import type { OfferFact } from '../../market/offer.ts';
import type { RegistryLogin, RentRequest } from '../../market/rental.ts';
import type { InputsView } from './types.ts';

interface RentInput {
  readonly spec: GpuInstanceSpec;
  readonly requirements: OfferRequirements;
  readonly inputs: Extract<InputsView, { type: 'ready' }>;
  readonly label: string;
  /** Token that the worker shows to the operator, and the operator to the worker. */
  readonly workerToken: string;
  /** Proof by which the machine recognizes a renewal of its lease. */
  readonly leaseProof: string;
}

/** Returns the rental in the form of the port. */
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
    env: {
      ...inputs.env,
      [WORKER_TOKEN_ENV]: input.workerToken,
      ...(isReporting(inputs) && { [LEASE_PROOF_ENV]: input.leaseProof }),
    },
    ports: (spec.ports ?? []).map(({ containerPort, protocol }) => ({
      port: containerPort,
      protocol: protocol === 'UDP' ? 'udp' : 'tcp',
    })),
    ssh: inputs.ssh,
    ...(inputs.args && { args: inputs.args }),
  };
}

/** Returns true if the machine requests the renewals of its lease. */
function isReporting({ fuse }: RentInput['inputs']): boolean {
  return fuse?.type === 'fuse' && fuse.isReporting === true;
}

interface NamedField {
  /** Path of the field in the object. */
  readonly path: string;
  readonly name: string;
}

type Alternative = NonNullable<GpuInstanceSpec['offers']>[number];

/** Rows of fields that a search filters by. A row whose fact is no field of an offer does not compile. */
const SEARCHED = Object.entries(OFFER_FIELDS).flatMap(
  ([name, row]): readonly { readonly name: string; readonly row: OfferField; readonly fact: OfferFact }[] =>
    row.of === 'contract' ? [] : [{ name, row, fact: row.fact }],
);

/**
 * Errors in the fields that an alternative sets, filters by or sorts by, and in values that no offer has; undefined
 * without any. A marketplace may ignore a field that it does not know, and would then rent a machine that the field
 * excludes.
 */
export function wrongOfferFields(
  { offers = [] }: Pick<GpuInstanceSpec, 'offers'>,
  fields: OfferFieldFacts,
): string | undefined {
  const unknown = offers.flatMap(namedFields).flatMap(({ path, name }) => {
    const problem = problemOfName(name, fields);
    return problem === undefined ? [] : [`${path}: ${problem}`];
  });
  const missing = offers.flatMap((offer, index) => missingFacts(offer, index, fields));
  const impossible = offers.flatMap((offer, index) => impossibleFilters(offer, index, fields));
  const wrong = [...missing, ...unknown, ...impossible];
  if (wrong.length === 0) return undefined;
  const text = wrong.join('; ');
  return text.endsWith('?') ? text : `${text}.`;
}

const MISSING = 'offers of this market have no such field: remove it, or use an account of another market';

/** Fields of an alternative for which the market's offers have no fact, so that a search would ignore them. */
function missingFacts(offer: Alternative, index: number, { facts }: OfferFieldFacts): readonly string[] {
  const values: Readonly<Record<string, unknown>> = offer;
  return SEARCHED.filter(({ name, row, fact }) => row.asks?.(values[name], 0) && !facts.has(fact)).map(
    ({ name }) => `spec.offers[${index}].${name}: ${MISSING}`,
  );
}

function problemOfName(name: string, fields: OfferFieldFacts): string | undefined {
  const fact = fieldName(name);
  if (isIdFact(fact) || fields.facts.has(fact)) return undefined;
  return isOfferFact(fact) ? MISSING : fields.unknown(name);
}

function namedFields({ filters = [], order }: Alternative, index: number): readonly NamedField[] {
  const offer = `spec.offers[${index}]`;
  return [
    ...filters.map(({ field }, at) => ({ path: `${offer}.filters[${at}].field`, name: field })),
    ...order.map(({ field }, at) => ({ path: `${offer}.order[${at}].field`, name: field })),
  ];
}

/** Filters that would find nothing, or exclude nothing, because of the unit of their values. */
function impossibleFilters(
  { filters = [] }: Alternative,
  index: number,
  fields: OfferFieldFacts,
): readonly string[] {
  return filters.flatMap(({ field, value, values }, at) => {
    const given = [...(value === undefined ? [] : [value]), ...(values ?? [])].map(Number);
    const problems = given.map((number) =>
      Number.isNaN(number) ? undefined : fields.impossible(field, number),
    );
    const first = problems.find((text) => text !== undefined);
    return first === undefined ? [] : [`spec.offers[${index}].filters[${at}].value: ${first}`];
  });
}

const dockerConfig = z.looseObject({ auths: z.record(z.string(), z.unknown()) });

const login = z.looseObject({
  username: z.string().optional(),
  password: z.string().optional(),
  auth: z.string().optional(),
});

/** The registry login, or the problem of the Secret. Never contains a value. */
type ImageLogin =
  | { readonly type: 'login'; readonly login: RegistryLogin }
  | { readonly type: 'problem'; readonly problem: string };

const problem = (text: string): ImageLogin => ({ type: 'problem', problem: text });

/**
 * Returns the login for an image from a `kubernetes.io/dockerconfigjson` Secret. As with the kubelet the login of the
 * longest path counts, and the form of other logins does not matter
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
    if (entries.some(({ entry }) => isJsonKey(entry)))
      return problem(
        `The password of _json_key for ${host} is a JSON text, which the marketplace's login cannot carry. Use the user _json_key_base64 with the key in base64 (base64 -w0 key.json), or oauth2accesstoken with an access token.`,
      );
    return problem(
      `The login for ${host} in .dockerconfigjson has no user name and password; give it both, without blanks, quotes, backslashes and control characters.`,
    );
  }
  const { username, password } = credentials;
  return { type: 'login', login: { host, username, password: new Secret(password) } };
}

/** Place of images: a registry, and the prefix of their names there, with its slash if it is not empty. */
interface Place {
  readonly host: string;
  readonly path: string;
}

const HUB = 'docker.io';
const HUB_NAMES: ReadonlySet<string> = new Set([HUB, 'index.docker.io', 'registry-1.docker.io']);

const hostOf = (name: string): string => (HUB_NAMES.has(name.toLowerCase()) ? HUB : name.toLowerCase());

/**
 * Returns the registry and prefix of an image. The part before the first slash is a registry if it looks like a host.
 */
function placeOfImage(image: string): Place {
  const slash = image.indexOf('/');
  const first = image.slice(0, Math.max(0, slash));
  const isHost = /[.:]|^localhost$/.test(first);
  const name = isHost ? image.slice(slash + 1) : image;
  return { host: isHost ? hostOf(first) : HUB, path: name.replace(/@.*$/, '').replace(/:[^/:]*$/, '') };
}

/** Returns the registry and prefix of a server; paths of the registry's own interface mean the whole registry. */
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

/** Returns the credentials from `auth`, which takes precedence, or from separate fields. */
function credentialsOf(entry: unknown): Credentials | undefined {
  const { data } = login.safeParse(entry);
  const [user, ...rest] = Buffer.from(data?.auth ?? '', 'base64')
    .toString('utf8')
    .split(':');
  const decoded = { username: user, password: rest.join(':').replace(/\0+$/, '') };
  return [decoded, { username: data?.username, password: data?.password }].find(isComplete);
}

/** Returns true for a key of a Google service account in its downloaded form. */
function isJsonKey(entry: unknown): boolean {
  const { data } = login.safeParse(entry);
  const decoded = Buffer.from(data?.auth ?? '', 'base64').toString('utf8');
  return data?.username === '_json_key' || decoded.startsWith('_json_key:');
}

const isComplete = (given: {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}): given is Credentials => isFlagSafe(given.username) && isFlagSafe(given.password);

/** Above the length of registry tokens, the longest values. */
const MAX_FLAG_LENGTH = 8192;

/**
 * Returns true if a login is safe in one line of flags that a market splits: a blank, a quote or a backslash would
 * end or change the value, an initial dash would begin another flag, and a control character may end the line.
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
