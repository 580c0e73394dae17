import { DeadlineError } from '../../lib/deadline.ts';
import { MarketplaceError, type MarketplaceErrorKind } from '../../market/errors.ts';
import { ADVICE_BY_KIND } from '../../markets/vast/errors/error-codes.ts';
import { ReachError, type ReachFailure } from '../../reach/reach-error.ts';
import { KubeConfigError } from '../../runtime/kube/kube-config.ts';
import { KubeError, type KubeErrorKind } from '../../runtime/kube/kube-error.ts';
import { printable } from '../../views/printable.ts';
import { CommandError, EXIT, Interrupted } from '../command-error.ts';

/** A failure as text. */
interface FailureParts {
  /** Event and cause; one thought per line. */
  readonly what: readonly string[];
  /** Advice. */
  readonly remedy: string | undefined;
  readonly exitCode: number;
}

/** A failure for the user at the terminal. */
interface FailureText {
  /** Event and cause, then advice; one thought per line. */
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
  forbidden: 'Request the named permission, or use another user: --as, --context.',
  unauthorized: 'Log in to the cluster again, or choose another context: --context.',
  unavailable: 'Check that the cluster runs and can be reached: kubectl cluster-info.',
  throttled: 'Wait and try again.',
  alreadyExists: 'It was created at the same moment: read it, then decide again.',
  conflict: 'It was changed at the same moment: try again.',
  invalid: 'Correct the field that is named.',
};

const KUBECONFIG_ADVICE = 'Name another kubeconfig or context: --kubeconfig, KUBECONFIG, --context.';

/** Text for a change whose reply does not show if it happened. */
export const OPEN_OUTCOME = 'It is unknown whether it took effect.';
export const CHECK_FIRST = 'Check whether it took effect before you repeat it.';

/** Kinds of errors after which a change may have taken effect, although their own advice does not say so. */
const LOST: readonly MarketplaceErrorKind[] = ['unavailable', 'aborted', 'malformedReply'];

/** Converts any error to text for people and an exit code for scripts. */
export function describeFailure(error: unknown): FailureText {
  const { what, remedy, exitCode } = failureParts(error);
  const lines = [`Error: ${what.join('\n')}`, ...(remedy === undefined ? [] : [`What to do: ${remedy}`])];
  return { lines, exitCode };
}

/** Returns any error as text, the event separate from the advice, without control characters. */
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
  // The message ends with the advice, which is printed on a separate line here.
  const message = error.message.replace(advice, '').trimEnd();
  const what = [message.replace(`: ${error.kind}`, `: ${WORDS_BY_KIND[error.kind]}`)];
  if (error.upstreamMessage) what.push(`The service says: ${error.upstreamMessage}`);
  if (error.failCount !== undefined) what.push(`Failed attempts so far: ${error.failCount}.`);
  if (error.lockedUntil !== undefined) {
    what.push(`Locked until ${new Date(error.lockedUntil).toISOString()}.`);
  }
  if (error.outcome === 'unknown') what.push(OPEN_OUTCOME);
  if (error.retryAfterMs !== undefined) what.push(`Try again in ${Math.ceil(error.retryAfterMs / 1000)} s.`);
  // "Try again" could create a second one, and "nothing to do" would be wrong.
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

/**
 * Returns the break-glass advice: a refusal by the operator's admission policies needs no permission, but a group that
 * they exempt.
 */
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
 * Returns a failure after Ctrl-C or SIGTERM. A possible effect is still reported; any other failure is due to the
 * interruption.
 */
export function describeInterruption(error: unknown, exitCode: number): FailureText {
  const isCall = error instanceof MarketplaceError || error instanceof KubeError;
  const isReported = isCall && error.outcome === 'unknown' && !(error.cause instanceof Interrupted);
  const isForPeople = error instanceof CommandError || error instanceof ReachError;
  const lines = isReported || isForPeople ? describeFailure(error).lines : [];
  return { lines: ['Interrupted.', ...lines], exitCode };
}

/** Text for each kind of event. */
export const WORDS_BY_KIND: Readonly<Record<MarketplaceErrorKind, string>> = {
  unauthorized: 'the API key is not accepted',
  sessionExpired: 'the session has ended',
  twoFactorRequired: 'a login with the second factor is needed',
  forbidden: 'the key may not do this',
  offerGone: 'the offer is taken or withdrawn',
  notFound: 'there is no such thing',
  invalidRequest: 'the service rejects the request',
  conflict: 'it does not fit the present state',
  insufficientCredit: 'the credit does not suffice',
  verificationFailed: 'the code was not accepted',
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
