import { MarketplaceError, type MarketplaceErrorKind } from '../../market/errors.ts';
import { KubeConfigError } from '../../runtime/kube/kube-config.ts';
import { KubeError, type KubeErrorKind } from '../../runtime/kube/kube-error.ts';
import { CommandError, EXIT } from '../command-error.ts';
import { failureParts } from '../failures/describe-failure.ts';
import { type Answer, refusal } from './contract.ts';
import { messageText } from './text.ts';

const BY_KUBE_KIND: Partial<Readonly<Record<KubeErrorKind, string>>> = {
  forbidden: 'NotPermitted',
  unauthorized: 'NotPermitted',
  invalid: 'InvalidSpec',
  notFound: 'Failed',
  alreadyExists: 'Busy',
  conflict: 'Busy',
  throttled: 'Busy',
  terminating: 'NotPermitted',
};

const BY_MARKETPLACE_KIND: Partial<Readonly<Record<MarketplaceErrorKind, string>>> = {
  unauthorized: 'KeyRejected',
  sessionExpired: 'KeyRejected',
  twoFactorRequired: 'KeyRejected',
  forbidden: 'KeyTooNarrow',
  blockedAddress: 'AddressInvalid',
  throttled: 'Throttled',
  quotaExceeded: 'Throttled',
  unavailable: 'Unreachable',
  timeout: 'Unreachable',
};

const BY_EXIT_CODE: Readonly<Record<number, string>> = {
  [EXIT.usage]: 'InvalidSpec',
  [EXIT.timedOut]: 'Unreachable',
};

const RETRY_AFTER_S: Readonly<Record<string, number>> = {
  Busy: 2,
  ClusterUnreachable: 10,
  Throttled: 30,
  Unreachable: 30,
};

/** Converts any error of a call to a refusal: event and advice on one line, without secrets. */
export function refusalOf(error: unknown): Answer {
  const { what, remedy } = failureParts(error);
  const reason = reasonOf(error);
  const retryAfterSeconds = RETRY_AFTER_S[reason];
  return refusal(reason, messageText([...what, ...(remedy === undefined ? [] : [remedy])].join(' ')), {
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  });
}

function reasonOf(error: unknown): string {
  if (error instanceof KubeError) return BY_KUBE_KIND[error.kind] ?? 'ClusterUnreachable';
  if (error instanceof KubeConfigError) return 'ClusterUnreachable';
  if (error instanceof MarketplaceError) return BY_MARKETPLACE_KIND[error.kind] ?? 'Failed';
  if (error instanceof CommandError) {
    if (error.cause instanceof MarketplaceError) return reasonOf(error.cause);
    return BY_EXIT_CODE[error.exitCode] ?? 'Failed';
  }
  return 'Failed';
}
