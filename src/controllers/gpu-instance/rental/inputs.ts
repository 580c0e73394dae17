import { guardedFromMachines, type SecretUse } from '../../../accounts/guarded-secrets.ts';
import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../../api/v1alpha1/marketplace-account.ts';
import { marketplaceAccountResource } from '../../../api/v1alpha1/names.ts';
import { Secret } from '../../../lib/secret.ts';
import { ON_START_LIMIT, packOnStart } from '../../../marketplace/instances/onstart.ts';
import { secretResource } from '../../../runtime/kube/core-resources.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { isKubeError } from '../../../runtime/kube/kube-error.ts';
import type { KubeObject } from '../../../runtime/kube/kube-object.ts';
import type { InputsView } from '../views.ts';
import { imageLogin } from './image-login.ts';
import { wrongOfferFields } from './offer-fields.ts';

interface SecretObject extends KubeObject {
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>>;
}

type Problem = Extract<InputsView, { type: 'problem' }>;

/** A value out of a Secret, nothing where it may be missing, or what is wrong with it. */
type SecretValue = { readonly type: 'value'; readonly text: string | undefined } | Problem;

/**
 * Makes ready what the rental is made of, and says what of it is wrong before anything is searched. Secrets are read
 * in the object's own namespace; without references nothing is read. A Secret that machines never get
 * ({@link guardedFromMachines}) is a problem, whatever else is wrong.
 */
export async function readInputs(object: GpuInstance, cluster: KubeClient): Promise<InputsView> {
  const wrongFields = wrongOfferFields(object.spec);
  if (wrongFields !== undefined) return { type: 'problem', reason: 'InvalidFilter', detail: wrongFields };
  try {
    const reader = new InputReader(object, cluster);
    const inputs = await reader.read();
    return (await reader.refused()) ?? inputs;
  } catch (error) {
    if (!isKubeError(error, 'forbidden')) throw error;
    return {
      type: 'problem',
      reason: 'NotPermitted',
      detail: 'The operator may not get Secrets or list MarketplaceAccounts in this namespace.',
    };
  }
}

function given(text: string | undefined): SecretValue {
  return { type: 'value', text };
}

/** A script in the form in which it is sent. */
function packed(script: SecretValue): SecretValue {
  if (script.type === 'problem' || script.text === undefined) return script;
  const sent = packOnStart(script.text);
  if (sent.type !== 'tooLong') return given(sent.script);
  const { bytes, packedLength } = sent;
  const detail = `The start script has ${bytes} bytes and still ${packedLength} when packed; the marketplace takes ${ON_START_LIMIT}.`;
  return { type: 'problem', reason: 'OnStartTooLong', detail };
}

class InputReader {
  readonly #object: GpuInstance;
  readonly #cluster: KubeClient;
  readonly #secrets = new Map<string, Promise<SecretObject | undefined>>();
  /** What was read, and the field that names it. */
  readonly #uses: (SecretUse & { readonly use: string })[] = [];

  constructor(object: GpuInstance, cluster: KubeClient) {
    this.#object = object;
    this.#cluster = cluster;
  }

  async read(): Promise<InputsView> {
    const env = await this.#environment();
    if (env.type === 'problem') return env;
    const { onStart, onStartFrom } = this.#object.spec;
    const script = packed(
      onStartFrom ? await this.#value(onStartFrom.secretKeyRef, 'onStartFrom') : given(onStart),
    );
    if (script.type === 'problem') return script;
    const login = await this.#login();
    if (login.type === 'problem') return login;
    const imageLogin = login.text === undefined ? undefined : new Secret(login.text);
    return { type: 'ready', env: env.values, onStart: script.text, imageLogin };
  }

  /**
   * The first of the Secrets read that no machine may get. Accounts are listed after the Secrets were read, at the API
   * server: a copy that lags would let the key of a new account through.
   */
  async refused(): Promise<Problem | undefined> {
    if (this.#uses.length === 0) return undefined;
    const { namespace } = this.#object.metadata;
    const { items } = await this.#cluster.list<MarketplaceAccount>(marketplaceAccountResource, { namespace });
    for (const use of this.#uses) {
      const guarded = guardedFromMachines(use, await this.#secret(use.name), items);
      if (guarded === undefined) continue;
      const detail = `Secret ${use.name} (${use.use}) ${guarded}. Name another Secret in the spec.`;
      return { type: 'problem', reason: 'SecretNotAllowed', detail };
    }
    return undefined;
  }

  async #environment(): Promise<
    { readonly type: 'values'; readonly values: Record<string, string> } | Problem
  > {
    const values: Record<string, string> = {};
    for (const { name, value, valueFrom } of this.#object.spec.env ?? []) {
      const read = valueFrom ? await this.#value(valueFrom.secretKeyRef, `env ${name}`) : given(value ?? '');
      if (read.type === 'problem') return read;
      if (read.text !== undefined) values[name] = read.text;
    }
    return { type: 'values', values };
  }

  async #login(): Promise<SecretValue> {
    const { image, imagePullSecretRef } = this.#object.spec;
    if (!imagePullSecretRef || image === undefined) return { type: 'value', text: undefined };
    const reference = { name: imagePullSecretRef.name, key: '.dockerconfigjson', optional: false };
    const config = await this.#value(reference, 'imagePullSecretRef');
    if (config.type === 'problem' || config.text === undefined) return config;
    const login = imageLogin(config.text, image);
    if (login.type === 'login') return { type: 'value', text: login.flags };
    return { type: 'problem', reason: 'SecretInvalid', detail: `Secret ${reference.name}: ${login.problem}` };
  }

  async #value(
    reference: { readonly name: string; readonly key: string; readonly optional?: boolean | undefined },
    use: string,
  ): Promise<SecretValue> {
    this.#uses.push({ name: reference.name, key: reference.key, use });
    const secret = await this.#secret(reference.name);
    const encoded = secret?.data?.[reference.key];
    if (encoded !== undefined)
      return { type: 'value', text: Buffer.from(encoded, 'base64').toString('utf8') };
    if (reference.optional) return { type: 'value', text: undefined };
    if (!secret) {
      return {
        type: 'problem',
        reason: 'SecretMissing',
        detail: `Secret ${reference.name} (${use}) does not exist.`,
      };
    }
    const detail = `Secret ${reference.name} (${use}) has no key ${reference.key}.`;
    return { type: 'problem', reason: 'SecretKeyMissing', detail };
  }

  #secret(name: string): Promise<SecretObject | undefined> {
    const known = this.#secrets.get(name);
    if (known) return known;
    const { namespace } = this.#object.metadata;
    const read = this.#cluster.get<SecretObject>(secretResource, { namespace, name });
    this.#secrets.set(name, read);
    return read;
  }
}
