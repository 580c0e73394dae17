import type { TransportRequest } from '../../src/lib/transport.ts';
import type { Fate } from './network.ts';
import type { Side } from './world.ts';

/** Strike of a plan on one effect. `hide` and `stale` affect the watch after it. */
export type Strike =
  | 'crashBefore'
  | 'crashAfter'
  | 'requestLost'
  | 'responseLost'
  | 'late'
  | 'conflict'
  | 'serverError'
  | 'hide'
  | 'stale';

/** A change of a server: a call of the operator, or an action of a user. */
export interface Effect {
  readonly index: number;
  readonly side: Side | 'user';
  readonly what: string;
}

const ON_A_CALL: readonly Strike[] = [
  'crashBefore',
  'crashAfter',
  'requestLost',
  'responseLost',
  'late',
  'serverError',
];
const ON_A_WATCH: readonly Strike[] = ['hide', 'stale'];

/** Returns every strike that is possible on an effect. */
export function strikesOn({ side, what }: Effect): readonly Strike[] {
  switch (side) {
    case 'user':
      return ON_A_WATCH;
    case 'market':
      return ON_A_CALL;
    case 'kube':
      return [...ON_A_CALL, ...(what.startsWith('POST') ? [] : (['conflict'] as const)), ...ON_A_WATCH];
  }
}

/** Returns true if a call changes relevant state; leases and events do not count. */
export function isEffect({ method, path }: TransportRequest): boolean {
  return method !== 'GET' && !/\/leases\/|\/leases$|\/events|selfsubjectaccessreviews/.test(path);
}

/** Returns method and path of a call without what differs between runs. */
export function nameOfCall({ method, path }: TransportRequest): string {
  const plain = (path.split('?')[0] ?? '').replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<uid>');
  return `${method} ${plain.replace(/\/\d+\//g, '/<id>/')}`;
}

const QUIET: Fate = { requestMs: 2, responseMs: 2 };
const LATE_MS = { kube: 4_000, market: 100_000 } as const;

function refusal(status: number, reason: string): Fate {
  const body = JSON.stringify({
    kind: 'Status',
    status: 'Failure',
    reason,
    code: status,
    message: 'injected',
  });
  return { ...QUIET, refusal: { status, body } };
}

/** Returns the fate of the call that a strike hits. */
export function fateOf(strike: Strike, side: Side): Fate {
  switch (strike) {
    case 'crashBefore':
      return { ...QUIET, crash: 'before' };
    case 'crashAfter':
      return { ...QUIET, crash: 'after' };
    case 'requestLost':
      return { ...QUIET, loseRequest: true };
    case 'responseLost':
      return { ...QUIET, loseResponse: true };
    case 'late':
      return { ...QUIET, lateMs: LATE_MS[side] };
    case 'conflict':
      return refusal(409, 'Conflict');
    case 'serverError':
      return refusal(500, 'InternalError');
    case 'hide':
    case 'stale':
      return QUIET;
  }
}
