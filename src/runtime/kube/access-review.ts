import type { Clock } from '../../lib/clock.ts';
import type { KubeClient } from './kube-client.ts';
import type { KubeObject, Resource } from './kube-object.ts';

/** A request for permission, in the terms of authorization.k8s.io/v1. */
export interface AccessQuestion {
  readonly verb: string;
  readonly resource: Resource;
  readonly subresource?: string;
  readonly namespace: string;
}

interface SelfSubjectAccessReview extends KubeObject {
  readonly spec: { readonly resourceAttributes: Readonly<Record<string, string>> };
  readonly status?: { readonly allowed?: boolean };
}

const reviews: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'selfsubjectaccessreviews',
  kind: 'SelfSubjectAccessReview',
  namespaced: false,
};

/** Milliseconds for which an answer is cached: a removed permission is noticed within this time. */
const BELIEVED_MS = { allowed: 60_000, denied: 5_000 } as const;

interface Answer {
  readonly allowed: Promise<boolean>;
  until: number;
}

/** Permissions of this process, reviewed by the API server on demand and cached for a minute. */
export class AccessReviews {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #answers = new Map<string, Answer>();

  constructor(client: KubeClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /**
   * Returns false only if the API server denies the permission. Never rejects: an API server that does not answer
   * denies nothing.
   */
  may({ verb, resource, subresource, namespace }: AccessQuestion): Promise<boolean> {
    const attributes = {
      ...{ verb, group: resource.group, resource: resource.plural, namespace },
      ...(subresource !== undefined && { subresource }),
    };
    const key = JSON.stringify(attributes);
    const known = this.#answers.get(key);
    if (known && known.until > this.#clock.monotonic()) return known.allowed;
    const dated = (allowed: boolean): boolean => {
      answer.until = this.#clock.monotonic() + BELIEVED_MS[allowed ? 'allowed' : 'denied'];
      return allowed;
    };
    const answer: Answer = { allowed: this.#ask(attributes).then(dated), until: Number.POSITIVE_INFINITY };
    this.#answers.set(key, answer);
    return answer.allowed;
  }

  async #ask(resourceAttributes: Readonly<Record<string, string>>): Promise<boolean> {
    try {
      const { status } = await this.#client.create<SelfSubjectAccessReview>(reviews, {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        metadata: { name: '' },
        spec: { resourceAttributes },
      });
      return status?.allowed !== false;
    } catch {
      return true;
    }
  }
}
