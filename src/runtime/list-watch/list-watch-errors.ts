import { DeadlineError } from '../../lib/deadline.ts';
import { MalformedReplyError } from '../kube/json-stream.ts';
import { isKubeError } from '../kube/kube-error.ts';

/** The list is older than what was already seen: a server that lags behind, or a cluster restored from a backup. */
export class StaleListError extends Error {
  override readonly name = 'StaleListError';
}

/** The watch is given up on purpose, for a fresh list. */
export class RelistRequest extends Error {
  override readonly name = 'RelistRequest';
}

/** A state that was asked for as a stream and did not come as one. */
export class InitialStateError extends Error {
  override readonly name = 'InitialStateError';
}

/** A watch that the server ended before it said anything. */
export class ShortWatchError extends Error {
  override readonly name = 'ShortWatchError';
}

/** Older servers refuse the parameters or do not know what they mean. */
export function isRefusalToStream(error: unknown): boolean {
  return (
    isKubeError(error, 'invalid') ||
    error instanceof InitialStateError ||
    error instanceof DeadlineError ||
    error instanceof MalformedReplyError
  );
}
