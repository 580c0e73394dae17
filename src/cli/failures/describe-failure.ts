import { DeadlineError } from '../../lib/deadline.ts';
import { MarketplaceError, type MarketplaceErrorKind } from '../../market/errors.ts';
import { ADVICE_BY_KIND } from '../../markets/vast/errors/error-codes.ts';
import { ReachError, type ReachFailure } from '../../reach/reach-error.ts';
import { KubeConfigError } from '../../runtime/kube/kube-config.ts';
import { KubeError, type KubeErrorKind } from '../../runtime/kube/kube-error.ts';
import { printable } from '../../views/printable.ts';
import { CommandError, EXIT, Interrupted } from '../command-error.ts';

/** A failure in words. */
interface FailureParts {
  /** What happened and why; one thought per line. */
  readonly what: readonly string[];
  /** What to do. */
  readonly remedy: string | undefined;
  readonly exitCode: number;
}

/** A failure for the person at the terminal. */
interface FailureText {
  /** What happened and why, then what to do; one thought per line. */
  readonly lines: readonly string[];
  readonly exitCode: number;
}

const MARKETPLACE_EXIT: Partial<Readonly<Record<MarketplaceErrorKind, number>>> = {
  notFound: EXIT.notFound,
  offerGone: EXIT.notFound,
  timeout: EXIT.timedOut,
};

const REACH_EXIT: Readonly<Record<ReachFailure, number>> = {
  input: EXIT.usage,
  missing: EXIT.notFound,
  failed: EXIT.failure,
};

const KUBE_ADVICE: Partial<Readonly<Record<KubeErrorKind, string>>> = {
  notFound: 'Check name and namespace (-n), and that the CRDs are installed: gpu-rent doctor.',
  forbidden: 'Ask for the right that is named, or use another user: --as, --context.',
  unauthorized: 'Log in to the cluster again, or choose another context: --context.',
  unavailable: 'Check that the cluster runs and can be reached: kubectl cluster-info.',
  throttled: 'Wait a little and try again.',
  alreadyExists: 'It was created at the same moment: read it, then decide again.',
  conflict: 'It was changed at the same moment: try again.',
  invalid: 'Correct the field that is named.',
};

const KUBECONFIG_ADVICE = 'Name another kubeconfig or context: --kubeconfig, KUBECONFIG, --context.';

/** For a change whose reply does not say whether it happened. */
export const OPEN_OUTCOME = 'Whether it took effect is not known.';
export const CHECK_FIRST = 'Look whether it took effect before you repeat it.';

/** Kinds whose own advice leaves out what was perhaps changed. */
const LOST: readonly MarketplaceErrorKind[] = ['unavailable', 'aborted', 'malformedReply'];

/** Turns any error into what a person reads, and into the exit code that scripts read. */
export function describeFailure(error: unknown): FailureText {
  const { what, remedy, exitCode } = failureParts(error);
  const lines = [`Error: ${what.join('\n')}`, ...(remedy === undefined ? [] : [`What to do: ${remedy}`])];
  return { lines, exitCode };
}

/** Any error in words, what happened apart from what to do; nothing in them can steer a terminal. */
export function failureParts(error: unknown): FailureParts {
  const { what, remedy, exitCode } = wordsOf(error);
  return { what: what.map(printable), remedy: remedy && printable(remedy), exitCode };
}

function wordsOf(error: unknown): FailureParts {
  if (error instanceof MarketplaceError) return marketplaceFailure(error);
  if (error instanceof KubeError) return kubeFailure(error);
  if (error instanceof CommandError) {
    return { what: [error.message], remedy: error.remedy, exitCode: error.exitCode };
  }
  if (error instanceof ReachError) {
    return { what: [error.message], remedy: error.remedy, exitCode: REACH_EXIT[error.kind] };
  }
  const message = error instanceof Error ? error.message : String(error);
  const remedy = error instanceof KubeConfigError ? KUBECONFIG_ADVICE : undefined;
  return { what: [message], remedy, exitCode: exitCodeOf(error) };
}

function marketplaceFailure(error: MarketplaceError): FailureParts {
  const advice = error.advice ?? ADVICE_BY_KIND[error.kind];
  // The message ends with the advice; here it gets a line of its own.
  const message = error.message.replace(advice, '').trimEnd();
  const what = [message.replace(`: ${error.kind}`, `: ${WORDS_BY_KIND[error.kind]}`)];
  if (error.upstreamMessage) what.push(`The service says: ${error.upstreamMessage}`);
  if (error.failCount !== undefined) what.push(`Failed attempts so far: ${error.failCount}.`);
  if (error.lockedUntil !== undefined) {
    what.push(`Locked until ${new Date(error.lockedUntil).toISOString()}.`);
  }
  if (error.outcome === 'unknown') what.push(OPEN_OUTCOME);
  if (error.retryAfterMs !== undefined) what.push(`Try again in ${Math.ceil(error.retryAfterMs / 1000)} s.`);
  // "Try again" would make a second one of what was made, and "nothing to do" is not so.
  const isLost = error.outcome === 'unknown' && LOST.some((kind) => advice === ADVICE_BY_KIND[kind]);
  const remedy = isLost ? CHECK_FIRST : advice;
  return { what, remedy, exitCode: MARKETPLACE_EXIT[error.kind] ?? EXIT.failure };
}

function kubeFailure(error: KubeError): FailureParts {
  const remedy = breakGlass(error.message) ?? KUBE_ADVICE[error.kind];
  return { what: [error.message], remedy, exitCode: kubeExit(error) };
}

function kubeExit({ kind, cause }: KubeError): number {
  if (cause instanceof DeadlineError) return EXIT.timedOut;
  return kind === 'notFound' ? EXIT.notFound : EXIT.failure;
}

/** What our admission policies refuse takes no right that could be asked for, but a group that they let through. */
function breakGlass(message: string): string | undefined {
  const [, group] = /act as a member of ([^\s"]+?)\.?(?=["\s]|$)/.exec(message) ?? [];
  if (group === undefined || !message.includes('denied request')) return undefined;
  return `In an emergency repeat the command with --as="$(id -un)" --as-group=system:masters --as-group=${group} (you need the right to impersonate them): docs/how-to/recovery.md, Break glass.`;
}

function exitCodeOf(error: unknown): number {
  const code = error instanceof Error && 'exitCode' in error ? error.exitCode : undefined;
  return typeof code === 'number' ? code : EXIT.failure;
}

/**
 * A failure after Ctrl-C or SIGTERM. What may have taken effect is still reported; anything else failed because it
 * was given up.
 */
export function describeInterruption(error: unknown, exitCode: number): FailureText {
  const isCall = error instanceof MarketplaceError || error instanceof KubeError;
  const isReported = isCall && error.outcome === 'unknown' && !(error.cause instanceof Interrupted);
  const isForPeople = error instanceof CommandError || error instanceof ReachError;
  const lines = isReported || isForPeople ? describeFailure(error).lines : [];
  return { lines: ['Interrupted.', ...lines], exitCode };
}

/** What happened, as a person says it. */
export const WORDS_BY_KIND: Readonly<Record<MarketplaceErrorKind, string>> = {
  unauthorized: 'the API key is not accepted',
  sessionExpired: 'the session has ended',
  twoFactorRequired: 'a login with the second factor is needed',
  forbidden: 'the key may not do this',
  offerGone: 'the offer is taken or withdrawn',
  notFound: 'there is no such thing',
  invalidRequest: 'the service does not take the request',
  conflict: 'it does not fit the present state',
  insufficientCredit: 'the credit does not suffice',
  verificationFailed: 'the code was not taken',
  throttled: 'too many requests',
  quotaExceeded: 'the quota is used up',
  locked: 'the method is locked',
  gone: 'the service no longer serves this',
  redirected: 'the service redirects elsewhere',
  unavailable: 'the service failed or cannot be reached',
  timeout: 'no reply in time',
  malformedReply: 'the reply cannot be read',
  aborted: 'given up',
  blockedAddress: 'our own rules refuse the address',
  refused: 'the service refused',
};
