import { createHash } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import { withDeadline } from '../lib/deadline.ts';
import type { Logger } from '../lib/logger.ts';
import { accessReviewResource, tokenReviewResource } from '../runtime/kube/core-resources.ts';
import type { KubeClient } from '../runtime/kube/kube-client.ts';
import type { KubeObject } from '../runtime/kube/kube-object.ts';
import { type Page, type PageRequest, textPage } from './http-server.ts';

interface User {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

interface TokenReview extends KubeObject {
  readonly spec: { readonly token: string };
  readonly status?: { readonly authenticated?: boolean; readonly user?: User };
}

interface SubjectAccessReview extends KubeObject {
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status?: { readonly allowed?: boolean };
}

type Verdict = 'allowed' | 'unauthenticated' | 'forbidden';

const UNAUTHENTICATED = textPage(401, 'Unauthorized: send the bearer token of a Kubernetes user.\n');
const BUSY = textPage(503, 'Too many unknown tokens at a time.\n');

/** Permission that a caller needs: on a path (nonResourceURL), or on a part of an object. */
export type Permission =
  | { readonly path: string; readonly verb: 'get' | 'post' }
  | {
      readonly group: string;
      readonly resource: string;
      readonly subresource: string;
      readonly verb: 'get';
      readonly namespace: string;
      readonly name: string;
    };

/** Milliseconds for which an answer is cached: a removed permission ends within this time. */
const VALID_MS: Readonly<Record<Verdict, number>> = {
  allowed: 60_000,
  unauthenticated: 10_000,
  forbidden: 10_000,
};
/** Timeout of both reviews together; below the usual scrape timeout of 10 s. */
const REVIEW_MS = 5_000;
/** Maximum number of concurrent reviews of unknown tokens: a flood of tokens uses few connections to the API server. */
const MAX_REVIEWS = 4;
const MAX_ANSWERS = 128;
const LOG_EVERY_MS = 60_000;

interface Answer {
  readonly verdict: Verdict;
  readonly until: number;
}

export interface CallerAccessOptions {
  readonly client: Pick<KubeClient, 'create'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Maximum number of cached answers. Default 128. */
  readonly maxAnswers?: number;
}

export interface PathAccessOptions extends CallerAccessOptions {
  /** Verb that callers need on a nonResourceURL (RBAC). */
  readonly verb: 'get' | 'post';
  readonly path: string;
}

/** Restricts one path, as {@link CallerAccess} does. */
export class PathAccess {
  readonly #access: CallerAccess;
  readonly #permission: Permission;

  constructor({ path, verb, ...options }: PathAccessOptions) {
    this.#access = new CallerAccess(options);
    this.#permission = { path, verb };
  }

  /** Returns the page that refuses this request; undefined if it may be answered. Never rejects. */
  refusal(request: PageRequest): Promise<Page | undefined> {
    return this.#access.refusal(request, this.#permission);
  }
}

/**
 * Restricts requests to callers whose bearer token the API server accepts (TokenReview) and who have a permission
 * (SubjectAccessReview). It caches approvals for a minute and refusals for ten seconds. If the API server does not
 * answer, it refuses every caller.
 */
export class CallerAccess {
  readonly #options: CallerAccessOptions;
  /** Answers by hash of token and permission, oldest first: a memory dump contains no tokens of callers. */
  readonly #answers = new Map<string, Answer>();
  readonly #reviews = new Map<string, Promise<Verdict>>();
  #silentUntil = Number.NEGATIVE_INFINITY;

  constructor(options: CallerAccessOptions) {
    this.#options = options;
  }

  /** Returns the page that refuses this request; undefined if it may be answered. Never rejects. */
  async refusal({ authorization = '' }: PageRequest, permission: Permission): Promise<Page | undefined> {
    const token = /^Bearer +(\S+) *$/i.exec(authorization)?.[1];
    if (token === undefined) return UNAUTHENTICATED;
    const key = createHash('sha256')
      .update(JSON.stringify([token, permission]))
      .digest('base64');
    const known = this.#answers.get(key);
    if (known && known.until > this.#options.clock.monotonic()) return pageOf(known.verdict, permission);
    // A caller that was approved before is reviewed outside the limit for unknown tokens.
    const isBusy = known?.verdict !== 'allowed' && this.#reviews.size >= MAX_REVIEWS;
    if (isBusy && !this.#reviews.has(key)) return BUSY;
    try {
      return pageOf(await this.#review(key, token, permission), permission);
    } catch (error) {
      this.#logFailure(error, permission);
      const what = textOf(permission);
      return textPage(503, `The API server did not answer whether this token may ${what}.\n`);
    }
  }

  /** Reviews a token once for all its concurrent requests. */
  #review(key: string, token: string, permission: Permission): Promise<Verdict> {
    const running = this.#reviews.get(key);
    if (running) return running;
    const review = this.#ask(token, permission)
      .then((verdict) => this.#remember(key, verdict))
      .finally(() => this.#reviews.delete(key));
    this.#reviews.set(key, review);
    return review;
  }

  #remember(key: string, verdict: Verdict): Verdict {
    this.#answers.delete(key);
    if (this.#answers.size >= (this.#options.maxAnswers ?? MAX_ANSWERS)) this.#forgetOne();
    this.#answers.set(key, { verdict, until: this.#options.clock.monotonic() + VALID_MS[verdict] });
    return verdict;
  }

  /** Removes the oldest refusal: invented tokens evict each other before approved ones. */
  #forgetOne(): void {
    const refused = [...this.#answers].find(([, { verdict }]) => verdict !== 'allowed');
    const [key] = refused ?? [...this.#answers.keys()];
    if (key !== undefined) this.#answers.delete(key);
  }

  #ask(token: string, permission: Permission): Promise<Verdict> {
    const { client, clock } = this.#options;
    return withDeadline({ clock, limitMs: REVIEW_MS }, async (signal) => {
      const { status: known } = await client.create<TokenReview>(
        tokenReviewResource,
        {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenReview',
          metadata: { name: '' },
          spec: { token },
        },
        { signal },
      );
      if (known?.authenticated !== true || !known.user) return 'unauthenticated';
      const { username, uid, groups, extra } = known.user;
      const attributes =
        'path' in permission ? { nonResourceAttributes: permission } : { resourceAttributes: permission };
      const question: SubjectAccessReview = {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        metadata: { name: '' },
        spec: { user: username, uid, groups, extra, ...attributes },
      };
      const { status } = await client.create<SubjectAccessReview>(accessReviewResource, question, { signal });
      return status?.allowed === true ? 'allowed' : 'forbidden';
    });
  }

  /** Logs a failure at most once a minute: any caller can cause one. */
  #logFailure(error: unknown, permission: Permission): void {
    const { clock, log } = this.#options;
    const now = clock.monotonic();
    if (now < this.#silentUntil) return;
    this.#silentUntil = now + LOG_EVERY_MS;
    log.warn('a request was refused: its token could not be reviewed', { ...permission, error });
  }
}

function pageOf(verdict: Verdict, permission: Permission): Page | undefined {
  switch (verdict) {
    case 'allowed':
      return undefined;
    case 'unauthenticated':
      return UNAUTHENTICATED;
    case 'forbidden':
      return textPage(403, `Forbidden: the user of this token may not ${textOf(permission)}.\n`);
  }
}

function textOf(permission: Permission): string {
  if ('path' in permission) return `${permission.verb} ${permission.path}`;
  const { verb, group, resource, subresource, namespace } = permission;
  return `${verb} ${resource}/${subresource} of ${group} in namespace ${namespace}`;
}
