export type KubeErrorKind =
  | 'conflict'
  | 'notFound'
  | 'alreadyExists'
  | 'invalid'
  | 'forbidden'
  | 'unauthorized'
  | 'gone'
  | 'throttled'
  | 'terminating'
  | 'unavailable'
  | 'unknown';

/** `refused`: the API server certainly did nothing. `unknown`: it may have acted. */
export type KubeErrorOutcome = 'refused' | 'unknown';

interface KubeErrorDetails {
  readonly kind: KubeErrorKind;
  /** HTTP status; 0 without a reply. */
  readonly status: number;
  readonly reason: string;
  readonly outcome: KubeErrorOutcome;
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/**
 * A failed request to the Kubernetes API server. Branch on `kind` and, after a write, on `outcome`; `message` is for
 * people.
 */
export class KubeError extends Error {
  readonly kind: KubeErrorKind;
  readonly status: number;
  readonly reason: string;
  readonly outcome: KubeErrorOutcome;
  readonly retryAfterMs: number | undefined;

  constructor(message: string, details: KubeErrorDetails) {
    super(message, { cause: details.cause });
    this.name = 'KubeError';
    this.kind = details.kind;
    this.status = details.status;
    this.reason = details.reason;
    this.outcome = details.outcome;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** Returns true if `error` is a {@link KubeError} of one of these kinds. */
export function isKubeError(error: unknown, ...kinds: readonly KubeErrorKind[]): error is KubeError {
  return error instanceof KubeError && (kinds.length === 0 || kinds.includes(error.kind));
}

/** The fields of a metav1.Status in use. */
export interface StatusReply {
  readonly code?: number | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly details?: {
    readonly retryAfterSeconds?: number | undefined;
    readonly causes?: readonly { readonly reason?: string | undefined }[] | undefined;
  };
}

const KIND_BY_CODE: Readonly<Record<number, KubeErrorKind>> = {
  400: 'invalid',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'notFound',
  409: 'conflict',
  410: 'gone',
  413: 'invalid',
  415: 'invalid',
  422: 'invalid',
  429: 'throttled',
  500: 'unavailable',
  502: 'unavailable',
  503: 'unavailable',
  504: 'unavailable',
};

const KIND_BY_REASON: Readonly<Record<string, KubeErrorKind>> = {
  AlreadyExists: 'alreadyExists',
  Expired: 'gone',
  Gone: 'gone',
};

/** Maximum pause, whatever the reply requests. */
const MAX_REST_MS = 86_400_000;

/** Returns the pause that a reply requests in milliseconds; undefined if it requests none or an invalid one. */
export function restMs(seconds: unknown): number | undefined {
  if (typeof seconds !== 'number' || !(seconds >= 0)) return undefined;
  return Math.min(MAX_REST_MS, seconds * 1000);
}

/** Returns the error of a Status, from a reply or from an ERROR event of a watch. */
export function kubeErrorOf(status: number, reply: StatusReply, retryAfterMs?: number): KubeError {
  const seconds = reply.details?.retryAfterSeconds;
  return new KubeError(reply.message ?? `Kubernetes API answered ${status}`, {
    kind: kindOf(status, reply),
    status,
    reason: reply.reason ?? '',
    outcome: status >= 400 && status < 500 ? 'refused' : 'unknown',
    retryAfterMs: retryAfterMs ?? restMs(seconds),
  });
}

function kindOf(status: number, { reason = '', details }: StatusReply): KubeErrorKind {
  const terminating = details?.causes?.some((cause) => cause.reason === 'NamespaceTerminating') ?? false;
  if (terminating) return 'terminating';
  return KIND_BY_REASON[reason] ?? KIND_BY_CODE[status] ?? 'unknown';
}
