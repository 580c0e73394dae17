import { guardedFromMachines, type SecretUse } from '../../accounts/guarded-secrets.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import {
  CHECKPOINT_ENV,
  gpuInstanceResource,
  labels,
  marketplaceAccountResource,
  REPLACEMENT_ENV,
  RUN_ENV,
} from '../../api/v1alpha1/names.ts';
import { MAX_OFFER_BYTES, trimmedOf } from '../../api/v1alpha1/trimmed-spec.ts';
import { type Launch, launchOf } from '../../instance/launch.ts';
import { isRun } from '../../instance/run.ts';
import { ownValue } from '../../lib/json.ts';
import type { MarketFacts } from '../../market/market.ts';
import type { RegistryLogin } from '../../market/rental.ts';
import { secretResource } from '../../runtime/kube/core-resources.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import type { KubeObject } from '../../runtime/kube/kube-object.ts';
import { wholeObject } from '../../runtime/kube/whole-object.ts';
import { desiredFuse } from './fuse.ts';
import { imageLogin, wrongOfferFields } from './rental.ts';
import { sentRun, sentStart } from './sent-start.ts';
import type { InputsView } from './types.ts';

/** Issuer of a worker's identity for its machine; undefined for an object that needs none. */
export type IssueIdentity = (
  worker: GpuInstance,
) => Promise<
  | { readonly type: 'issued'; readonly env: Readonly<Record<string, string>> }
  | { readonly type: 'problem'; readonly detail: string }
  | undefined
>;

/** Marketplace and circumstances of a rental. */
export interface RentalSetting {
  readonly market: MarketFacts;
  /** Address of the marketplace. */
  readonly url: string;
  /** Remaining lifetime of the object; undefined without `maxLifetime`. */
  readonly lifeMs: number | undefined;
  /** Nonce of the rental, for the result of a run. */
  readonly nonce: string;
  readonly issueIdentity?: IssueIdentity | undefined;
  /** Address of the operator's report server as machines reach it; undefined without one. */
  readonly reportUrl?: string | undefined;
}

interface SecretObject extends KubeObject {
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>>;
}

const LOGIN_KEY = '.dockerconfigjson';

type Problem = Extract<InputsView, { type: 'problem' }>;

/** A value from a Secret, no value if it is optional and missing, or its problem. */
type SecretValue = { readonly type: 'value'; readonly text: string | undefined } | Problem;

/**
 * Prepares the inputs of a rental, and reports their problems before any search. Secrets are read in the object's own
 * namespace; without references nothing is read. A Secret that machines never get ({@link guardedFromMachines}) is a
 * problem. Names and values of the environment and the script have at most {@link MAX_INPUT_BYTES} together, counted
 * before decoding. Of each Secret only the keys that the object names are kept, each decoded once. Rejects with a
 * `conflict` if a trimmed copy is of another generation.
 */
export async function readInputs(
  copy: GpuInstance,
  cluster: KubeClient,
  setting: RentalSetting,
): Promise<InputsView> {
  const { market, issueIdentity } = setting;
  const trimmed = trimmedOf(copy.spec);
  if (trimmed?.offerBytes !== undefined) {
    const detail = `spec.offers has ${trimmed.offerBytes} bytes; the limit is ${MAX_OFFER_BYTES}. Use fewer or shorter filters.`;
    return { type: 'problem', reason: 'InputMissing', detail };
  }
  const object = trimmed ? await wholeObject(cluster, gpuInstanceResource, copy) : copy;
  const wrongFields = wrongOfferFields(object.spec, market.offerFields);
  if (wrongFields !== undefined) return { type: 'problem', reason: 'InvalidSpec', detail: wrongFields };
  try {
    const reader = new InputReader(object, cluster, setting);
    const inputs = await reader.read();
    const refused = await reader.refused();
    if (refused || inputs.type === 'problem') return refused ?? inputs;
    const identity = await issueIdentity?.(object);
    if (identity?.type === 'problem')
      return { type: 'problem', reason: 'InputMissing', detail: identity.detail };
    return identity ? { ...inputs, env: { ...inputs.env, ...identity.env } } : inputs;
  } catch (error) {
    if (!isKubeError(error, 'forbidden')) throw error;
    return {
      type: 'problem',
      reason: 'NotPermitted',
      detail: 'The operator may not get Secrets or list MarketplaceAccounts in this namespace.',
    };
  }
}

/** Maximum bytes of a machine's environment and script, before they are packed. */
const MAX_INPUT_BYTES = 65_536;
/** Most bytes of a docker configuration; one login has a few hundred. */
const MAX_LOGIN_BYTES = 262_144;

function isWithin(bytes: number, limit: number): boolean {
  return bytes <= limit;
}

function tooLarge(limit: number): Problem {
  const detail = `env and the start script have more than ${limit} bytes together. Put large data into the image, or download it at the start.`;
  return { type: 'problem', reason: 'InputMissing', detail };
}

function placeOf({ name, key }: SecretUse): string {
  return `${name}/${key}`;
}

function given(text: string | undefined): SecretValue {
  return { type: 'value', text };
}

class InputReader {
  readonly #object: GpuInstance;
  readonly #cluster: KubeClient;
  readonly #setting: RentalSetting;
  readonly #secrets = new Map<string, Promise<SecretObject | undefined>>();
  /** Decoded values by Secret and key. */
  readonly #values = new Map<string, string>();
  /** Values that exceed the limit, by Secret and key. */
  readonly #tooLong = new Set<string>();
  #keptBytes = 0;
  #bytes = 0;
  /** Secrets read, each with the field that names it. */
  readonly #uses: (SecretUse & { readonly use: string })[] = [];

  constructor(object: GpuInstance, cluster: KubeClient, setting: RentalSetting) {
    this.#object = object;
    this.#cluster = cluster;
    this.#setting = setting;
  }

  async read(): Promise<InputsView> {
    const env = await this.#environment();
    if (env.type === 'problem') return env;
    const { spec } = this.#object;
    const launch = launchOf(spec);
    const text = await this.#startText(launch);
    if (text.type === 'problem') return text;
    const fuse = desiredFuse({ ...this.#setting, spec, launch, env: Object.keys(env.values) });
    const start = isRun(this.#object)
      ? sentRun(spec, { ...this.#setting, script: text.text, fuse })
      : sentStart(launch, { script: text.text, fuse }, this.#setting.market.script);
    if (start.type === 'refused') return { type: 'problem', reason: 'InvalidSpec', detail: start.detail };
    const login = await this.#login();
    if (login.type === 'problem') return login;
    const { ssh } = launch;
    const { onStart, args, fuse: sent } = start;
    return {
      ...{
        type: 'ready',
        env: { ...this.#runEnvironment(), ...env.values },
        ssh,
        args,
        onStart,
        imageLogin: login.login,
      },
      ...(sent && { fuse: sent }),
    };
  }

  /** Returns the variables that a run adds to its environment. */
  #runEnvironment(): Readonly<Record<string, string>> {
    if (!isRun(this.#object)) return {};
    return {
      [RUN_ENV]: this.#setting.nonce,
      [REPLACEMENT_ENV]: String(this.#object.status?.run?.attempts ?? 0),
      [CHECKPOINT_ENV.name]: CHECKPOINT_ENV.value,
    };
  }

  /** Returns the start text of the container, unchanged. */
  #startText({ onStart }: Launch): Promise<SecretValue> | SecretValue {
    return onStart?.type === 'secret'
      ? this.#value(onStart.secretKeyRef, 'onStartFrom')
      : this.#given(onStart?.text);
  }

  /**
   * Returns the first of the read Secrets that no machine may get. Accounts are listed at the API server after the
   * Secrets were read: a lagging copy would release the key of a new account.
   */
  async refused(): Promise<Problem | undefined> {
    if (this.#uses.length === 0) return undefined;
    const { namespace } = this.#object.metadata;
    const options = { namespace, keep: keyOfAccount };
    const { items } = await this.#cluster.list<MarketplaceAccount>(marketplaceAccountResource, options);
    for (const use of this.#uses) {
      const guarded = guardedFromMachines(use, await this.#secret(use.name), items);
      if (guarded === undefined) continue;
      const detail = `Secret ${use.name} (${use.use}) ${guarded}. Name another Secret in the spec.`;
      return { type: 'problem', reason: 'InputMissing', detail };
    }
    return undefined;
  }

  async #environment(): Promise<
    { readonly type: 'values'; readonly values: Record<string, string> } | Problem
  > {
    const values = new Map<string, string>();
    for (const { name, value, valueFrom } of this.#object.spec.env ?? []) {
      this.#bytes += Buffer.byteLength(name);
      const read = valueFrom
        ? await this.#value(valueFrom.secretKeyRef, `env ${name}`)
        : this.#given(value ?? '');
      if (read.type === 'problem') return read;
      if (read.text !== undefined) values.set(name, read.text);
    }
    return { type: 'values', values: Object.fromEntries(values) };
  }

  async #login(): Promise<{ readonly type: 'login'; readonly login: RegistryLogin | undefined } | Problem> {
    const { image, imagePullSecretRef } = this.#object.spec;
    if (!imagePullSecretRef || image === undefined) return { type: 'login', login: undefined };
    const reference = { name: imagePullSecretRef.name, key: LOGIN_KEY, optional: false };
    this.#bytes = 0;
    const config = await this.#value(reference, 'imagePullSecretRef', MAX_LOGIN_BYTES);
    if (config.type === 'problem') return config;
    if (config.text === undefined) return { type: 'login', login: undefined };
    const login = imageLogin(config.text, image);
    if (login.type === 'login') return login;
    return { type: 'problem', reason: 'InputMissing', detail: `Secret ${reference.name}: ${login.problem}` };
  }

  #given(text: string | undefined): SecretValue {
    return this.#tooLarge(Buffer.byteLength(text ?? ''), MAX_INPUT_BYTES) ?? given(text);
  }

  /** Counts bytes; returns the problem if they exceed the limit. */
  #tooLarge(bytes: number, limit: number): Problem | undefined {
    this.#bytes += bytes;
    return isWithin(this.#bytes, limit) ? undefined : tooLarge(limit);
  }

  async #value(
    reference: { readonly name: string; readonly key: string; readonly optional?: boolean | undefined },
    use: string,
    limit = MAX_INPUT_BYTES,
  ): Promise<SecretValue> {
    this.#uses.push({ name: reference.name, key: reference.key, use });
    const secret = await this.#secret(reference.name);
    if (this.#tooLong.has(placeOf(reference))) return tooLarge(limit);
    const encoded = ownValue(secret?.data, reference.key);
    if (encoded !== undefined)
      return (
        this.#tooLarge(Buffer.byteLength(encoded, 'base64'), limit) ??
        given(this.#decoded(reference, encoded))
      );
    if (reference.optional) return { type: 'value', text: undefined };
    if (!secret) {
      return {
        type: 'problem',
        reason: 'InputMissing',
        detail: `Secret ${reference.name} (${use}) does not exist.`,
      };
    }
    const detail = `Secret ${reference.name} (${use}) has no key ${reference.key}.`;
    return { type: 'problem', reason: 'InputMissing', detail };
  }

  #decoded(use: SecretUse, encoded: string): string {
    const place = placeOf(use);
    const known = this.#values.get(place);
    if (known !== undefined) return known;
    const text = Buffer.from(encoded, 'base64').toString('utf8');
    this.#values.set(place, text);
    return text;
  }

  #secret(name: string): Promise<SecretObject | undefined> {
    const known = this.#secrets.get(name);
    if (known) return known;
    const { namespace } = this.#object.metadata;
    const read = this.#cluster
      .get<SecretObject>(secretResource, { namespace, name })
      .then((secret) => secret && this.#kept(name, secret));
    this.#secrets.set(name, read);
    return read;
  }

  /**
   * Returns the part of a Secret that this object names, up to the size that a machine may get. The whole may be a
   * megabyte, or a hundred thousand keys.
   */
  #kept(name: string, { apiVersion, kind, metadata, type, data }: SecretObject): SecretObject {
    const kept = [...this.#namedKeys(name)].flatMap((key) => {
      const encoded = ownValue(data, key);
      return encoded !== undefined && this.#isKept({ name, key }, encoded) ? [[key, encoded] as const] : [];
    });
    const managedBy = metadata.labels?.[labels.managedBy];
    return {
      ...{ apiVersion, kind },
      metadata: { name, ...(managedBy !== undefined && { labels: { [labels.managedBy]: managedBy } }) },
      ...(type !== undefined && { type }),
      data: Object.fromEntries(kept),
    };
  }

  /**
   * Returns true if a value is kept until its use: all named values may be used, so together they have the limit of
   * one.
   */
  #isKept(use: SecretUse, encoded: string): boolean {
    const bytes = Buffer.byteLength(encoded, 'base64');
    const isLogin = use.key === LOGIN_KEY && use.name === this.#object.spec.imagePullSecretRef?.name;
    if (!isLogin) this.#keptBytes += bytes;
    const isKept = isLogin ? isWithin(bytes, MAX_LOGIN_BYTES) : isWithin(this.#keptBytes, MAX_INPUT_BYTES);
    if (!isKept) this.#tooLong.add(placeOf(use));
    return isKept;
  }

  #namedKeys(secret: string): ReadonlySet<string> {
    const { env = [], onStartFrom, imagePullSecretRef } = this.#object.spec;
    const named = [...env.map(({ valueFrom }) => valueFrom?.secretKeyRef), onStartFrom?.secretKeyRef];
    const keys = named.flatMap((ref) => (ref?.name === secret ? [ref.key] : []));
    return new Set(imagePullSecretRef?.name === secret ? [...keys, LOGIN_KEY] : keys);
  }
}

/** Returns the part of an account that names the Secret of its key; the whole may be a megabyte. */
function keyOfAccount({ apiVersion, kind, metadata, spec }: MarketplaceAccount): MarketplaceAccount {
  const { name, namespace } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, namespace },
    spec: { ...spec, allowedNamespaces: { from: 'Same' } },
  };
}
