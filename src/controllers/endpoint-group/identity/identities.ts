import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import { labels, OPERATOR_NAME } from '../../../api/v1alpha1/names.ts';
import {
  AUTHORITY_SECRET_TYPE,
  authoritySecretName,
  CLIENT_SECRET_TYPE,
  clientKeys,
  clientSecretName,
  groupDnsName,
  linkOfGroup,
  tlsEnv,
  tlsGroupOf,
  type WorkerGroup,
  workerDnsName,
} from '../../../api/v1alpha1/worker-link.ts';
import { inBackground } from '../../../lib/background.ts';
import {
  isPair,
  isSignedBy,
  issueAuthority,
  issueLeaf,
  type KeyPair,
  periodOf,
} from '../../../lib/certificates.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { CallerTls, MutualTls } from '../../../lib/mutual-tls.ts';
import { Secret } from '../../../lib/secret.ts';
import { secretResource } from '../../../runtime/kube/core-resources.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { isKubeError } from '../../../runtime/kube/kube-error.ts';
import { controllerReference, type KubeObject, objectKey, uidOf } from '../../../runtime/kube/kube-object.ts';
import type { Receipt } from '../../../runtime/writes.ts';
import type { IdentityView } from '../types.ts';
import { AUTHORITY_VALID_MS, type Authority, planAuthorities, WORKER_VALID_MS } from './authorities.ts';

interface SecretObject extends KubeObject {
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>> | null;
}

interface KeptAuthority extends Authority {
  readonly pair: KeyPair;
}

/** Validity of the certificate of gateway and operator. It is renewed when a third is left. */
const CLIENT_VALID_MS = 30 * 86_400_000;
const RENEW_BEFORE_MS = CLIENT_VALID_MS / 3;
/** Interval after a check without a problem, since a person may change a Secret. */
const RECHECK_MS = 600_000;
/** Interval after a check with a problem. */
const RETRY_MS = 5_000;

/** Data of a Secret; null removes a key. */
type SecretPatch = Readonly<Record<string, string | null>>;

/** State of the Secrets of a group. */
interface SecretsState {
  /** Check that is under way. Settles at its end and never rejects. */
  checking: Promise<unknown> | undefined;
  problem: string | undefined;
  /** Time of the next check. */
  nextAt: number;
}

/** Environment of a machine with its certificate, or the reason why the operator cannot issue one now. */
export type IssuedEnv =
  | { readonly type: 'issued'; readonly env: Readonly<Record<string, string>> }
  | { readonly type: 'problem'; readonly detail: string };

export interface IdentitiesOptions {
  readonly cluster: Pick<KubeClient, 'get' | 'create' | 'patch'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** Times for which a successful and a failed read of a client Secret are used. */
const CALLER_READ_MS = 30_000;
const CALLER_RETRY_MS = 2_000;

/** Certificate and key of gateway and operator, or the reason why they are unknown. */
type Caller = Omit<MutualTls, 'serverName'> | string;

interface ReadCaller {
  readonly value: Promise<Caller>;
  /** End of its use; undefined while the read is under way. */
  until: number | undefined;
}

/** The operator as certificate authority of each group with TLS to its workers. Only its Secret contains the keys of an authority. */
export class GroupIdentities {
  readonly #options: IdentitiesOptions;
  /** States by uid of the group. */
  readonly #states = new Map<string, SecretsState>();
  /** Reads of client Secrets by uid of the group. */
  readonly #callers = new Map<string, ReadCaller>();

  constructor(options: IdentitiesOptions) {
    this.#options = options;
  }

  forget(groupUid: string): void {
    this.#states.delete(groupUid);
    this.#callers.delete(groupUid);
  }

  /** Returns the result of the last check of a group's Secrets, and whether the next check is due. */
  view(group: EndpointGroup): IdentityView {
    if (!hasIdentities(group)) return NO_IDENTITY;
    const state = this.#stateOf(uidOf(group));
    const isDue = state.checking === undefined && isCheckDue(state, this.#options.clock.now());
    return { problem: state.problem, isDue };
  }

  /**
   * Starts a check of both Secrets of a group, which writes missing or outdated data. The caller does not wait, so
   * that workers are not delayed. Calls `onChange` if the result differs from the last one. Never throws.
   */
  check({ object: group }: Receipt<EndpointGroup>, onChange: () => void): void {
    const state = this.#stateOf(uidOf(group));
    const found = (problem: string | undefined) => {
      const isNew = problem !== state.problem;
      const restMs = problem === undefined ? RECHECK_MS : RETRY_MS;
      Object.assign(state, { checking: undefined, problem, nextAt: this.#options.clock.now() + restMs });
      if (isNew) onChange();
    };
    inBackground(
      { task: 'Secrets of a gateway', object: objectKey(group.metadata) },
      () => {
        const check = this.ensure(group);
        state.checking = check.catch(() => undefined);
        return check.then(found);
      },
      (error) => found(notWritten(error)),
    );
  }

  #stateOf(groupUid: string): SecretsState {
    const known = this.#states.get(groupUid);
    const state = known ?? { checking: undefined, problem: undefined, nextAt: Number.NEGATIVE_INFINITY };
    if (!known) this.#states.set(groupUid, state);
    return state;
  }

  /**
   * Writes both Secrets of a group if they are not as desired. Resolves with undefined, or with the problem and its
   * fix. Rejects with a KubeError other than `forbidden` and `invalid`.
   */
  async ensure(group: EndpointGroup): Promise<string | undefined> {
    if (!hasIdentities(group)) return undefined;
    const write = () => this.#write(group, this.#options.clock.now());
    try {
      return await write().catch((error: unknown) => {
        // Another client wrote it in between: read it again.
        if (isKubeError(error, 'conflict', 'alreadyExists')) return write();
        throw error;
      });
    } catch (error) {
      if (isKubeError(error, 'forbidden', 'invalid')) return notWritten(error);
      throw error;
    }
  }

  async #write(group: EndpointGroup, now: number): Promise<string | undefined> {
    const { namespace = '', name } = group.metadata;
    const authorities = await this.#authorities(group, now);
    if (authorities === undefined) return nameTaken(authoritySecretName(name));
    const { trusted, signer } = planAuthorities(authorities, now);
    if (!signer) return `Secret ${authoritySecretName(name)} contains no valid certificate authority.`;
    const present = await this.#options.cluster.get<SecretObject>(secretResource, {
      namespace,
      name: clientSecretName(name),
    });
    if (present && !isOwned(present, uidOf(group), CLIENT_SECRET_TYPE))
      return nameTaken(clientSecretName(name));
    const bundle = bundleOf(trusted);
    if (present && isClientCurrent(present, { signer, bundle, now })) return undefined;
    const names = [`gateway.${groupDnsName({ namespace, name })}`];
    const pair = issueLeaf({ names, use: 'client', now, validMs: CLIENT_VALID_MS }, signer.pair);
    await this.#put(group, present, {
      name: clientSecretName(name),
      type: CLIENT_SECRET_TYPE,
      data: {
        [clientKeys.certificate]: encoded(pair.certificate),
        [clientKeys.key]: encoded(pair.key.reveal()),
        [clientKeys.authorities]: encoded(bundle),
      },
    });
    return undefined;
  }

  /**
   * Returns the valid authorities of a group, after it removed ended ones and created one that was due. Undefined if
   * another owner has a Secret of that name.
   */
  async #authorities(group: EndpointGroup, now: number): Promise<readonly KeptAuthority[] | undefined> {
    const { namespace = '', name } = group.metadata;
    const ref = { namespace, name: authoritySecretName(name) };
    const present = await this.#options.cluster.get<SecretObject>(secretResource, ref);
    if (present && !isOwned(present, uidOf(group), AUTHORITY_SECRET_TYPE)) return undefined;
    const kept = present ? authoritiesIn(present) : [];
    const { next, trusted } = planAuthorities(kept, now);
    const ended = kept.filter((authority) => !trusted.includes(authority));
    const removed = Object.fromEntries(
      ended.flatMap(({ generation }) => keysOf(generation)).map((key) => [key, null]),
    );
    if (next === undefined) {
      if (ended.length > 0)
        await this.#put(group, present, { name: ref.name, type: AUTHORITY_SECRET_TYPE, data: removed });
      return trusted;
    }
    const pair = issueAuthority({
      ...{ now, validMs: AUTHORITY_VALID_MS },
      name: `${groupDnsName({ namespace, name })} ${next}`.slice(-64),
    });
    const [certificate, key] = keysOf(next);
    const data = {
      ...removed,
      [certificate]: encoded(pair.certificate),
      [key]: encoded(pair.key.reveal()),
    };
    await this.#put(group, present, { name: ref.name, type: AUTHORITY_SECRET_TYPE, data });
    return [...trusted, { generation: next, from: now, until: periodOf(pair.certificate).until, pair }];
  }

  async #put(
    group: EndpointGroup,
    present: SecretObject | undefined,
    { name, type, data }: { readonly name: string; readonly type: string; readonly data: SecretPatch },
  ): Promise<void> {
    const { cluster } = this.#options;
    const { namespace = '' } = group.metadata;
    if (present) {
      const { uid, resourceVersion } = present.metadata;
      const body = { metadata: { uid, resourceVersion }, data };
      await cluster.patch(secretResource, { namespace, name }, { type: 'merge', body });
      return;
    }
    const metadata = {
      ...{ namespace, name, labels: { [labels.managedBy]: OPERATOR_NAME } },
      ownerReferences: [controllerReference(group as KubeObject)],
    };
    await cluster.create<SecretObject>(secretResource, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata,
      type,
      data: data as Record<string, string>,
    });
  }

  /**
   * Returns the TLS settings with which the operator calls a worker: the certificate of the gateway, and the worker's
   * DNS name. Undefined for a worker without TLS. A read of the Secret is used for 30 s. Never rejects.
   */
  async callerOf(worker: GpuInstance): Promise<CallerTls | undefined> {
    const group = tlsGroupOf(worker);
    if (!group) return undefined;
    const caller = await this.#caller(group);
    if (typeof caller === 'string') return { type: 'problem', detail: caller };
    return { type: 'tls', tls: { ...caller, serverName: workerDnsName(uidOf(worker), group) } };
  }

  /** Returns the client certificate of a group. One read serves all calls until its use ends. */
  #caller(group: WorkerGroup): Promise<Caller> {
    const { clock } = this.#options;
    const known = this.#callers.get(group.uid);
    if (known && (known.until === undefined || clock.now() < known.until)) return known.value;
    const read: ReadCaller = { value: this.#readCaller(group), until: undefined };
    this.#callers.set(group.uid, read);
    return read.value.then((caller) => {
      read.until = clock.now() + (typeof caller === 'string' ? CALLER_RETRY_MS : CALLER_READ_MS);
      return caller;
    });
  }

  async #readCaller({ namespace, name: groupName, uid }: WorkerGroup): Promise<Caller> {
    const name = clientSecretName(groupName);
    try {
      const secret = await this.#options.cluster.get<SecretObject>(secretResource, { namespace, name });
      if (!secret) return `Secret ${name} does not exist yet.`;
      return isOwned(secret, uid, CLIENT_SECRET_TYPE) ? callerIn(secret) : nameTaken(name);
    } catch (error) {
      return `Cannot read Secret ${name}: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  /**
   * Issues a key and a certificate for the machine that a worker rents now; undefined for a worker without TLS. Each
   * call issues a new pair, which only the machine stores.
   */
  async issue(worker: GpuInstance): Promise<IssuedEnv | undefined> {
    const group = tlsGroupOf(worker);
    if (!group) return undefined;
    const { cluster, clock } = this.#options;
    // The check may be creating the Secrets of a new group.
    await this.#states.get(group.uid)?.checking;
    const now = clock.now();
    const ref = { namespace: group.namespace, name: authoritySecretName(group.name) };
    const secret = await cluster.get<SecretObject>(secretResource, ref);
    if (!secret) return problem(`Secret ${ref.name} does not exist yet.`);
    if (!isOwned(secret, group.uid, AUTHORITY_SECRET_TYPE)) return problem(nameTaken(ref.name));
    const { signer, trusted } = planAuthorities(authoritiesIn(secret), now);
    if (!signer) return problem(`Secret ${ref.name} contains no valid certificate authority.`);
    const names = [workerDnsName(uidOf(worker), group), groupDnsName(group)];
    const pair = issueLeaf({ names, use: 'server', now, validMs: WORKER_VALID_MS }, signer.pair);
    const env = {
      [tlsEnv.certificate]: encoded(pair.certificate),
      [tlsEnv.key]: encoded(pair.key.reveal()),
      [tlsEnv.authorities]: encoded(bundleOf(trusted)),
    };
    return { type: 'issued', env };
  }
}

function callerIn(secret: SecretObject): Caller {
  const certificate = textOf(secret, clientKeys.certificate);
  const key = textOf(secret, clientKeys.key);
  const authorities = textOf(secret, clientKeys.authorities);
  if (certificate === undefined || key === undefined || authorities === undefined)
    return `Secret ${secret.metadata.name} has no certificate, no key or no authorities.`;
  return { certificate, key: new Secret(key), authorities };
}

const NO_IDENTITY: IdentityView = { problem: undefined, isDue: false };

function hasIdentities(group: EndpointGroup): boolean {
  return linkOfGroup(group) === 'TLS' && group.metadata.deletionTimestamp === undefined;
}

/** Returns true if the next check is due. A time further ahead than any interval was set before the clock went back. */
function isCheckDue({ nextAt }: SecretsState, now: number): boolean {
  return now >= nextAt || nextAt > now + RECHECK_MS;
}

function notWritten(error: unknown): string {
  return `Cannot write the Secrets of its gateway: ${error instanceof Error ? error.message : String(error)}`;
}

/** Returns the keys of an authority in its Secret. */
function keysOf(generation: number): readonly [certificate: string, key: string] {
  return [`${generation}.crt`, `${generation}.key`];
}

function problem(detail: string): IssuedEnv {
  return { type: 'problem', detail };
}

function nameTaken(name: string): string {
  return `Secret ${name} does not belong to this EndpointGroup; delete it so that the operator can issue certificates.`;
}

function encoded(text: string): string {
  return Buffer.from(text).toString('base64');
}

function bundleOf(trusted: readonly KeptAuthority[]): string {
  return trusted.map(({ pair }) => pair.certificate).join('');
}

/**
 * Returns true if the Secret has this type, which is immutable, and this group controls it. The uid excludes an
 * earlier group of the same name.
 */
function isOwned({ metadata, type }: SecretObject, groupUid: string, expected: string): boolean {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller);
  return type === expected && owner?.uid === groupUid;
}

function textOf({ data }: SecretObject, key: string): string | undefined {
  const value = data?.[key];
  return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8');
}

/**
 * Returns the authorities in a Secret. It skips a certificate without its own key, and invalid text, since a person
 * may have changed the Secret.
 */
function authoritiesIn(secret: SecretObject): readonly KeptAuthority[] {
  return Object.keys(secret.data ?? {}).flatMap((key): readonly KeptAuthority[] => {
    const generation = Number(/^(\d+)\.crt$/.exec(key)?.[1] ?? Number.NaN);
    const certificate = textOf(secret, key);
    const privateKey = textOf(secret, `${generation}.key`);
    if (Number.isNaN(generation) || certificate === undefined || privateKey === undefined) return [];
    try {
      const pair = { certificate, key: new Secret(privateKey) };
      return isPair(pair) ? [{ generation, ...periodOf(certificate), pair }] : [];
    } catch {
      return [];
    }
  });
}

function isClientCurrent(
  present: SecretObject,
  { signer, bundle, now }: { readonly signer: KeptAuthority; readonly bundle: string; readonly now: number },
): boolean {
  const certificate = textOf(present, clientKeys.certificate);
  const key = textOf(present, clientKeys.key);
  if (certificate === undefined || key === undefined) return false;
  if (textOf(present, clientKeys.authorities) !== bundle) return false;
  try {
    if (!isPair({ certificate, key: new Secret(key) })) return false;
    return (
      isSignedBy(certificate, signer.pair.certificate) && periodOf(certificate).until - now > RENEW_BEFORE_MS
    );
  } catch {
    return false;
  }
}
