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
  workerDnsName,
} from '../../../api/v1alpha1/worker-link.ts';
import {
  isPair,
  isSignedBy,
  issueAuthority,
  issueLeaf,
  type KeyPair,
  periodOf,
} from '../../../lib/certificates.ts';
import type { Clock } from '../../../lib/clock.ts';
import { Secret } from '../../../lib/secret.ts';
import { parseDuration } from '../../../lib/time.ts';
import { secretResource } from '../../../runtime/kube/core-resources.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { isKubeError } from '../../../runtime/kube/kube-error.ts';
import { controllerReference, type KubeObject, uidOf } from '../../../runtime/kube/kube-object.ts';
import { AUTHORITY_VALID_MS, type Authority, planAuthorities, WORKER_VALID_MS } from './authorities.ts';

interface SecretObject extends KubeObject {
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>> | null;
}

interface KeptAuthority extends Authority {
  readonly pair: KeyPair;
}

/** Of the certificate of gateway and operator; it is renewed when a third of it is left. */
const CLIENT_VALID_MS = 30 * 86_400_000;
const RENEW_MS = CLIENT_VALID_MS / 3;
/** What was written may be changed by hand: it is read again after this time. */
const RECHECK_MS = 600_000;

/** What a machine is given, or why it cannot be issued now. */
export type IssuedEnv =
  | { readonly type: 'issued'; readonly env: Readonly<Record<string, string>> }
  | { readonly type: 'problem'; readonly detail: string };

export interface IdentitiesOptions {
  readonly cluster: Pick<KubeClient, 'get' | 'create' | 'patch'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** The operator as certificate authority of each group that is reached by TLS. Keys stand in its Secret alone. */
export class GroupIdentities {
  readonly #options: IdentitiesOptions;
  readonly #checkedAt = new Map<string, number>();

  constructor(options: IdentitiesOptions) {
    this.#options = options;
  }

  forget(groupUid: string): void {
    this.#checkedAt.delete(groupUid);
  }

  /**
   * Keeps both Secrets of a group as they are to be, looking every ten minutes. Undefined if they are; else what is to be
   * done about it. Rejects with a KubeError other than `forbidden`, `invalid`, `conflict` and `alreadyExists`.
   */
  async ensure(group: EndpointGroup): Promise<string | undefined> {
    const uid = uidOf(group);
    const now = this.#options.clock.now();
    if (linkOfGroup(group) !== 'TLS' || group.metadata.deletionTimestamp !== undefined) return undefined;
    if (now - (this.#checkedAt.get(uid) ?? Number.NEGATIVE_INFINITY) < RECHECK_MS) return undefined;
    try {
      const problem = await this.#write(group, now);
      if (problem === undefined) this.#checkedAt.set(uid, now);
      return problem;
    } catch (error) {
      if (isKubeError(error, 'forbidden', 'invalid'))
        return `The Secrets of its gateway cannot be written: ${error.message}`;
      // Another client wrote it just then; the next pass reads what it is now.
      if (isKubeError(error, 'conflict', 'alreadyExists')) return undefined;
      throw error;
    }
  }

  async #write(group: EndpointGroup, now: number): Promise<string | undefined> {
    const { namespace = '', name } = group.metadata;
    const authorities = await this.#authorities(group, now);
    if (authorities === undefined) return nameTaken(authoritySecretName(name));
    const { trusted, signer } = planAuthorities(authorities, now);
    if (!signer) return `Secret ${authoritySecretName(name)} holds no authority that counts now.`;
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

  /** Undefined where a Secret of that name has another owner. */
  async #authorities(group: EndpointGroup, now: number): Promise<readonly KeptAuthority[] | undefined> {
    const { namespace = '', name } = group.metadata;
    const ref = { namespace, name: authoritySecretName(name) };
    const present = await this.#options.cluster.get<SecretObject>(secretResource, ref);
    if (present && !isOwned(present, uidOf(group), AUTHORITY_SECRET_TYPE)) return undefined;
    const kept = present ? authoritiesIn(present) : [];
    const { next } = planAuthorities(kept, now);
    if (next === undefined) return kept;
    const pair = issueAuthority({
      ...{ now, validMs: AUTHORITY_VALID_MS },
      name: `${groupDnsName({ namespace, name })} ${next}`.slice(-64),
    });
    const data = {
      [`${next}.crt`]: encoded(pair.certificate),
      [`${next}.key`]: encoded(pair.key.reveal()),
    };
    await this.#put(group, present, { name: ref.name, type: AUTHORITY_SECRET_TYPE, data });
    return [...kept, { generation: next, from: now, until: periodOf(pair.certificate).until, pair }];
  }

  async #put(
    group: EndpointGroup,
    present: SecretObject | undefined,
    {
      name,
      type,
      data,
    }: { readonly name: string; readonly type: string; readonly data: Record<string, string> },
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
      data,
    });
  }

  /**
   * A key and a certificate for the machine that a worker rents now; undefined for one that is not reached by TLS. Each
   * call issues others: what a machine was given stands nowhere else.
   */
  async issue(worker: GpuInstance): Promise<IssuedEnv | undefined> {
    const group = tlsGroupOf(worker);
    if (!group) return undefined;
    const { cluster, clock } = this.#options;
    const now = clock.now();
    const ref = { namespace: group.namespace, name: authoritySecretName(group.name) };
    const secret = await cluster.get<SecretObject>(secretResource, ref);
    if (!secret) return problem(`Secret ${ref.name} does not exist yet.`);
    if (!isOwned(secret, group.uid, AUTHORITY_SECRET_TYPE)) return problem(nameTaken(ref.name));
    const { signer, trusted } = planAuthorities(authoritiesIn(secret), now);
    if (!signer) return problem(`Secret ${ref.name} holds no authority that counts now.`);
    const lifetime = parseDuration(worker.spec.maxLifetime) ?? WORKER_VALID_MS;
    const names = [workerDnsName(uidOf(worker), group), groupDnsName(group)];
    const validMs = Math.min(lifetime, WORKER_VALID_MS);
    const pair = issueLeaf({ names, use: 'server', now, validMs }, signer.pair);
    const env = {
      [tlsEnv.certificate]: encoded(pair.certificate),
      [tlsEnv.key]: encoded(pair.key.reveal()),
      [tlsEnv.authorities]: encoded(bundleOf(trusted)),
    };
    return { type: 'issued', env };
  }
}

function problem(detail: string): IssuedEnv {
  return { type: 'problem', detail };
}

function nameTaken(name: string): string {
  return `Secret ${name} exists and is not of this EndpointGroup; delete it, so that the operator can issue certificates.`;
}

function encoded(text: string): string {
  return Buffer.from(text).toString('base64');
}

function bundleOf(trusted: readonly KeptAuthority[]): string {
  return trusted.map(({ pair }) => pair.certificate).join('');
}

/** The type of a Secret cannot be changed; the uid rules out one of an earlier group of the name. */
function isOwned({ metadata, type }: SecretObject, groupUid: string, expected: string): boolean {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller);
  return type === expected && owner?.uid === groupUid;
}

function textOf({ data }: SecretObject, key: string): string | undefined {
  const value = data?.[key];
  return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8');
}

/** A certificate without the key of its own is left out, as is what is no certificate: it was changed by hand. */
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
    return isSignedBy(certificate, signer.pair.certificate) && periodOf(certificate).until - now > RENEW_MS;
  } catch {
    return false;
  }
}
