import { describe } from 'vitest';
import { accountDecisionTables } from '../../../test/builders/account-decision-table.ts';
import {
  accountWith,
  failed,
  observed,
  proven,
  session,
  unconfirmed,
} from '../../../test/builders/observed-account.ts';
import type { MarketplaceAccountStatus } from '../../api/v1alpha1/marketplace-account.ts';
import { decide } from './decide.ts';
import type { Observed, SessionFacts } from './types.ts';

const { table, close } = accountDecisionTables('marketplace-account');

const NONE = { type: 'none' } as const;
const url = 'https://market.example';
const pinned = (userId: string): MarketplaceAccountStatus => ({
  login: { url, userId, provenAt: '2026-11-20T00:00:00Z' },
});
const kept = proven({ source: 'kept' });
const userWith = (change: Partial<ReturnType<typeof proven>['user']>) =>
  proven({ user: { ...proven().user, ...change } });
const secretMissing = { type: 'secretMissing', secret: 'key' } as const;

/** The status of an account that is in the state of {@link observed}. */
const SETTLED: MarketplaceAccountStatus = decide(observed()).status;
const settled = (change: MarketplaceAccountStatus = {}) => accountWith({ status: { ...SETTLED, ...change } });

const CONNECTED = ['keepKey', 'connect', 'ready for rentals'] as const;

describe('the key of an account', () => {
  const broken = (reading: Observed['reading'], proof: Observed['proof'] = NONE) => ({ reading, proof });
  table([
    [
      'proves its login for the first time',
      { account: accountWith({ metadata: { finalizers: [] } }) },
      CONNECTED,
    ],
    [
      'proves the login that is pinned',
      { account: accountWith({ status: pinned('7') }), keyKept: true },
      ['connect', 'ready for rentals'],
    ],
    [
      'proves another login',
      { account: accountWith({ status: pinned('9') }) },
      ['disconnect', 'ready LoginChanged', 'event LoginChanged'],
    ],
    [
      'is of a user that one reply named, the first one (CRITICAL 0)',
      { proof: unconfirmed(), session: undefined, account: accountWith({ metadata: { finalizers: [] } }) },
      ['ready for rentals'],
    ],
    [
      'is of another user, as one reply says (CRITICAL 0)',
      { proof: unconfirmed({ login: { url, userId: '8' } }), account: settled(pinned('7')) },
      ['disconnect', 'ready Pending'],
    ],
    [
      'is of the pinned user, as one reply says',
      { proof: unconfirmed(), account: settled(pinned('7')) },
      ['ready Pending'],
    ],
    [
      'may not destroy',
      { proof: proven({ mayDestroy: false }) },
      ['connect', 'ready KeyTooNarrow', 'event KeyTooNarrow'],
    ],
    ['has not been tried', { proof: NONE }, ['disconnect', 'ready Pending']],
    [
      'would be sent to a place that is not allowed',
      {
        account: accountWith({ spec: { url: 'https://x.example' } }),
        url: { type: 'refused', url: 'https://x.example', allowed: [url, 'https://y.example'] },
        proof: NONE,
      },
      ['disconnect', 'ready AddressInvalid', 'event AddressInvalid'],
    ],
    ['has no Secret', broken(secretMissing), ['disconnect', 'ready InputMissing', 'event InputMissing']],
    [
      'has no Secret, and the kept one stands in',
      { ...broken(secretMissing, kept), account: accountWith({ status: pinned('7') }) },
      ['connect', 'ready UsingKeptKey', 'event UsingKeptKey'],
    ],
    [
      'is not accepted, and the kept one stands in',
      {
        proof: { ...kept, insteadOf: failed('unauthorized') },
        account: accountWith({ status: pinned('7') }),
      },
      ['connect', 'ready UsingKeptKey', 'event UsingKeptKey'],
    ],
    [
      'is not in its Secret, which has others',
      broken({ type: 'keyMissing', secret: 'key', key: 'api-key', present: ['token', 'user'] }),
      ['disconnect', 'ready InputMissing', 'event InputMissing'],
    ],
    [
      'is not in its Secret, which is empty',
      broken({ type: 'keyMissing', secret: 'key', key: 'api-key', present: [] }),
      ['disconnect', 'ready InputMissing', 'event InputMissing'],
    ],
    [
      'is no key',
      broken({ type: 'invalid', secret: 'key', key: 'api-key', problem: 'it has a line break' }),
      ['disconnect', 'ready InputMissing', 'event InputMissing'],
    ],
    [
      'is in a Secret that may not be read',
      broken({ type: 'forbidden', secret: 'key' }),
      ['disconnect', 'ready NotPermitted', 'event NotPermitted'],
    ],
    [
      'is refused',
      { proof: failed('unauthorized') },
      ['disconnect', 'ready KeyRejected', 'event KeyRejected'],
    ],
    [
      'is of a session that ended',
      { proof: failed('sessionExpired') },
      ['disconnect', 'ready KeyRejected', 'event KeyRejected'],
    ],
    [
      'wants a second factor',
      { proof: failed('twoFactorRequired') },
      ['disconnect', 'ready KeyRejected', 'event KeyRejected'],
    ],
    [
      'may not read its user',
      { proof: failed('forbidden') },
      ['disconnect', 'ready KeyTooNarrow', 'event KeyTooNarrow'],
    ],
    ['could not be checked yet', { proof: failed('timeout') }, ['ready Unreachable']],
    [
      'could not be checked again',
      { proof: failed('timeout'), account: accountWith({ status: pinned('7') }) },
      ['ready Unreachable'],
    ],
    [
      'tells of a second factor, and has no SSH key',
      { proof: userWith({ twoFactor: 'enabled', sshKey: undefined }) },
      CONNECTED,
    ],
    [
      'tells of a second factor in a word that nobody knows, and of an empty SSH key',
      { proof: userWith({ twoFactor: 'unrecognized', sshKey: '' }) },
      CONNECTED,
    ],
    [
      'may not read whether there is a second factor',
      { proof: userWith({ twoFactor: undefined }) },
      CONNECTED,
    ],
  ]);
});

describe('the marketplace', () => {
  const lists = (
    kind: NonNullable<SessionFacts['failure']>['kind'],
    change: Partial<SessionFacts['health']> = {},
    badCertificate = false,
  ) => ({
    session: session({
      health: { consecutiveFailures: 2, lastCompleteAt: 1, ...change },
      failure: { kind, badCertificate },
    }),
  });
  const answered = (reason: string) => ['keepKey', 'connect', `ready ${reason}`];
  table([
    ['has not listed yet', { session: undefined }, answered('Pending')],
    [
      'is listing for the first time',
      { session: session({ health: { consecutiveFailures: 0, lastCompleteAt: undefined } }) },
      answered('Pending'),
    ],
    ['failed one list', lists('timeout', { consecutiveFailures: 1 }), answered('for rentals')],
    ['failed two lists', lists('timeout'), [...answered('Unreachable'), 'event Unreachable']],
    [
      'failed the very first list',
      lists('timeout', { consecutiveFailures: 1, lastCompleteAt: undefined }),
      [...answered('Unreachable'), 'event Unreachable'],
    ],
    ['limits the requests', lists('throttled'), [...answered('Throttled'), 'event Throttled']],
    ['has no quota left for them', lists('quotaExceeded'), [...answered('Throttled'), 'event Throttled']],
    ['answers rubbish', lists('malformedReply'), [...answered('Unreachable'), 'event Unreachable']],
    [
      'answers rubbish still, as was told',
      {
        ...lists('malformedReply'),
        account: accountWith({ status: decide(observed(lists('malformedReply'))).status }),
      },
      answered('Unreachable'),
    ],
    [
      'is where no request may go',
      lists('blockedAddress'),
      [...answered('AddressInvalid'), 'event AddressInvalid'],
    ],
    ['redirects', lists('redirected'), [...answered('Unreachable'), 'event Unreachable']],
    ['lists nothing for this key', lists('forbidden'), [...answered('KeyTooNarrow'), 'event KeyTooNarrow']],
    [
      'has a certificate that cannot be trusted',
      lists('unavailable', {}, true),
      [...answered('AddressInvalid'), 'event AddressInvalid'],
    ],
    [
      'cannot be asked at all, since its certificate cannot be trusted',
      { session: undefined, proof: failed('unavailable', { badCertificate: true }) },
      ['ready AddressInvalid', 'event AddressInvalid'],
    ],
    [
      'cannot be asked at all',
      { session: undefined, proof: failed('unavailable') },
      ['ready Unreachable', 'event Unreachable'],
    ],
    [
      'accepts no key of this account',
      { session: undefined, proof: failed('unauthorized') },
      ['disconnect', 'ready KeyRejected', 'event KeyRejected'],
    ],
  ]);
});

describe('P5: an account that is suspended', () => {
  const spec = { suspend: true };
  const billing = session({ counts: { ...session().counts, billing: 2 } as SessionFacts['counts'] });
  const before = decide(observed({ account: accountWith({ spec }), session: billing })).status;
  table([
    [
      'is not ready, and names how many machines still bill',
      { account: accountWith({ spec }), session: billing },
      ['keepKey', 'connect', 'ready for rentals', 'event Suspended'],
    ],
    [
      'reports the suspension once',
      { account: accountWith({ spec, status: before }), session: billing, keyKept: true },
      ['connect', 'ready for rentals'],
    ],
    [
      'reports that it was resumed',
      { account: accountWith({ spec: { suspend: false }, status: before }), keyKept: true },
      ['connect', 'ready for rentals', 'event Resumed'],
    ],
    [
      'says first that its key is refused',
      { account: accountWith({ spec }), session: undefined, proof: failed('unauthorized') },
      ['disconnect', 'ready KeyRejected', 'event KeyRejected', 'event Suspended'],
    ],
  ]);
});

describe('money', () => {
  const spending = (
    limits: Observed['account']['spec']['limits'],
    sums: Partial<SessionFacts['sums']> = {},
    credit: number | undefined = 100_000_000,
  ) => ({
    account: accountWith({ spec: { limits } }),
    proof: userWith({ credit }),
    session: session({ sums: { ...session().sums, ...sums } }),
  });
  const lasting = (hours: number) =>
    [1, 2].map((checkedAt) => ({ checkedAt, credit: hours * 1_000_000, pricePerHour: 1_000_000 }));
  const LOW = decide(observed({ creditReadings: lasting(23) })).status;
  const OPEN = ['keepKey', 'connect', 'ready for rentals'];
  table([
    ['is gone', spending({}, {}, 0), [...OPEN, 'event InsufficientCredit']],
    ['is exactly what has to remain', spending({ minCredit: '100' }), [...OPEN, 'event InsufficientCredit']],
    [
      'of a month is used up',
      spending({ maxSpendPerMonth: '5' }, { spentThisMonth: 5_000_000 }),
      [...OPEN, 'event AtLimit'],
    ],
    [
      'of an hour is used up',
      spending({ maxSpendPerHour: '2' }, { dollarsPerHour: 2_000_000 }),
      [...OPEN, 'event AtLimit'],
    ],
    [
      'runs low by two readings: a condition and an event',
      { ...spending({}), creditReadings: lasting(23) },
      [...OPEN, 'event CreditLow'],
    ],
    [
      'lasts long again by two readings: an event',
      { account: accountWith({ status: LOW }), creditReadings: lasting(31) },
      [...OPEN, 'event CreditSufficient'],
    ],
    [
      'is low on record while the marketplace does not answer: nothing changes',
      { account: accountWith({ status: LOW }), proof: failed('timeout'), creditReadings: lasting(23) },
      ['ready Unreachable'],
    ],
    ['may not be read', spending({}, { credit: 1 }, undefined), OPEN],
    [
      'is told by the session while no key is proven',
      { proof: failed('timeout'), session: session({ sums: { ...session().sums, credit: 7_000_000 } }) },
      ['ready Unreachable'],
    ],
    [
      'moves, and so do the figures that were written an hour ago',
      {
        ...spending({}, { dollarsPerHour: 4_000_000 }, 50_000_000),
        account: settled(),
        figuresWrittenAt: observed().now - 3_600_000,
      },
      CONNECTED,
    ],
    [
      'moves, but the figures were written a moment ago',
      {
        ...spending({}, { dollarsPerHour: 4_000_000 }, 50_000_000),
        account: settled({ credit: '90.00', pricePerHour: '1.00', runway: '90h' }),
        figuresWrittenAt: observed().now - 3_599_999,
      },
      CONNECTED,
    ],
    [
      'moves a little while a condition changes: then figures are written, too',
      {
        ...spending({ minCredit: '100' }),
        account: accountWith({
          status: { ...SETTLED, credit: '100.01', pricePerHour: '0.00' },
          spec: { limits: { minCredit: '100' } },
        }),
        figuresWrittenAt: observed().now,
      },
      [...OPEN, 'event InsufficientCredit'],
    ],
    [
      'moves as machines come: then, too, since their number is written at once',
      {
        ...spending({}, { dollarsPerHour: 4_000_000 }),
        session: session({
          counts: { objects: 2, rented: 2, billing: 2, retained: 0, orphaned: 0, foreign: 0 },
          sums: { ...session().sums, dollarsPerHour: 4_000_000 },
        }),
        account: settled(),
        figuresWrittenAt: observed().now,
      },
      CONNECTED,
    ],
    [
      'moves a little while one trouble gives way to another: then, too',
      {
        ...spending({ maxSpendPerHour: '2' }, { dollarsPerHour: 2_000_000 }),
        account: accountWith({
          status: { ...decide(observed(spending({}, {}, 0))).status, credit: '100.01' },
          spec: { limits: { maxSpendPerHour: '2' } },
        }),
        figuresWrittenAt: observed().now,
      },
      [...OPEN, 'event ServiceRestored', 'event AtLimit'],
    ],
    [
      'stays as it was written while there is no session',
      { session: undefined, account: settled({ credit: '90.00', pricePerHour: '1.00', runway: '90h' }) },
      ['keepKey', 'connect', 'ready Pending'],
    ],
  ]);
});

describe('the installation', () => {
  const seen = { 'gpurental.dev/confirm-rollback': 'seen' };
  const ELSEWHERE = { ...observed().installation, sweep: 'clusterChanged' } as Observed['installation'];
  table([
    [
      'is not known yet',
      { installation: { type: 'pending', why: { reason: 'IdentityPending', message: 'Wait.' } } },
      ['keepKey', 'connect', 'resolveIdentity', 'ready Pending'],
    ],
    [
      'has lost its identity',
      { installation: { type: 'lost', why: { reason: 'IdentityInvalid', message: 'Restore it.' } } },
      ['keepKey', 'connect', 'resolveIdentity', 'ready IdentityInvalid', 'event IdentityInvalid'],
    ],
    ['belongs to another cluster', { installation: ELSEWHERE }, [...CONNECTED, 'event IdentityInvalid']],
    [
      'belongs to another cluster, as was told',
      {
        installation: ELSEWHERE,
        account: accountWith({ status: decide(observed({ installation: ELSEWHERE })).status }),
      },
      CONNECTED,
    ],
    [
      'was rolled back',
      {
        session: session({
          findings: {
            orphans: ['5', '6'],
            unsettled: [],
            rolledBack: ['5', '6'],
            confirmedAt: 0,
            copied: [],
          },
        }),
      },
      [...CONNECTED, 'event OrphansHeld'],
    ],
    [
      'was rolled back, which no restart and no later rental makes undone',
      { account: accountWith({ status: { rolledBack: ['5'] } }), newestRentalAt: observed().now },
      [...CONNECTED, 'event OrphansHeld'],
    ],
    [
      'was rolled back, and a person has looked',
      {
        account: accountWith({ metadata: { annotations: seen }, status: { rolledBack: ['5'] } }),
        session: session({
          findings: { orphans: ['5'], unsettled: [], rolledBack: ['5'], confirmedAt: 0, copied: [] },
        }),
      },
      CONNECTED,
    ],
    [
      'was rolled back after what a person said of another time',
      {
        account: accountWith({
          metadata: { annotations: seen },
          status: { rolledBack: ['5'], rollbackConfirmed: 'seen' },
        }),
      },
      [...CONNECTED, 'event OrphansHeld'],
    ],
    [
      'has nothing that was rolled back, and what a person said is remembered',
      { account: accountWith({ metadata: { annotations: seen } }) },
      CONNECTED,
    ],
  ]);
});

describe('what is on record', () => {
  const avoid = (id: string, type: 'host' | 'machine') =>
    ({ target: { type, id }, until: observed().now + 3_600_000, failures: 2, reason: 'Exited' }) as const;
  const breaker = (cause: 'massFailure' | 'listFailed') =>
    session({ breaker: { type: 'open', since: 1_000, cause, unhealthy: 6, message: 'Six at once.' } });
  const wanted = { 'gpurental.dev/close-breaker': 'v1' };
  const wasOpen = { breaker: { open: true, since: '2026-11-20T11:00:00Z', unhealthy: 6 } };
  table([
    ['stays as it is where nothing changes', { account: settled(), figuresWrittenAt: 0 }, CONNECTED],
    [
      'stays while a process that has just started knows nothing',
      { account: settled(), session: undefined, proof: NONE },
      ['disconnect', 'ready Pending'],
    ],
    [
      'is said anew where the spec is another one, even if little is known',
      {
        account: accountWith({ status: SETTLED, metadata: { generation: 2 } }),
        session: undefined,
        proof: NONE,
      },
      ['disconnect', 'ready Pending'],
    ],
    [
      'has what was seen of machines, labels and hosts to avoid',
      {
        session: session({
          counts: { objects: 1, rented: 2, billing: 3, retained: 4, orphaned: 5, foreign: 6 },
          labelEcho: 'notEchoed',
          avoid: [avoid('3', 'host'), avoid('4', 'machine')],
        }),
      },
      CONNECTED,
    ],
    [
      'reports that orphanPolicy has no effect when its market keeps no labels',
      {
        account: accountWith({ spec: { orphanPolicy: 'Destroy' } }),
        session: session({ labelEcho: 'notEchoed' }),
      },
      CONNECTED,
    ],
    [
      'has no counts before there are any, and labels that come back',
      { session: session({ counts: undefined, labelEcho: 'echoed' }) },
      CONNECTED,
    ],
    [
      'loses hosts that are avoided no more',
      {
        account: accountWith({
          status: {
            avoid: [{ kind: 'Host', id: '3', until: '2026-11-20T11:00:00Z', failures: 1, reason: 'Exited' }],
          },
        }),
      },
      CONNECTED,
    ],
    [
      'answers a person who asks to be looked at',
      {
        account: accountWith({
          metadata: { annotations: { 'gpurental.dev/requested-at': '2026-11-20T12:00:00Z' } },
        }),
      },
      CONNECTED,
    ],
    ['has the newest rental of any object', { newestRentalAt: observed().now - 60_000 }, CONNECTED],
    [
      'has a mass failure, told once',
      { session: breaker('massFailure') },
      [...CONNECTED, 'event BreakerOpen'],
    ],
    [
      'has a mass failure that goes on, since its first poll',
      { session: breaker('massFailure'), account: accountWith({ status: wasOpen }) },
      CONNECTED,
    ],
    ['has no list that failed', { session: breaker('listFailed') }, CONNECTED],
    ['has the end of a mass failure', { account: accountWith({ status: wasOpen }) }, CONNECTED],
    [
      'keeps when a mass failure ended',
      { account: accountWith({ status: { breaker: { ...wasOpen.breaker, open: false } } }) },
      CONNECTED,
    ],
    [
      'has a mass failure that a person ends',
      {
        session: breaker('massFailure'),
        account: accountWith({ status: wasOpen, metadata: { annotations: wanted } }),
      },
      ['closeBreaker', 'keepKey', 'connect', 'ready for rentals'],
    ],
    [
      'has the next mass failure after one that a person ended',
      {
        session: breaker('massFailure'),
        account: accountWith({
          status: { breaker: { ...wasOpen.breaker, open: false, closedBy: 'v1' } },
          metadata: { annotations: wanted },
        }),
      },
      [...CONNECTED, 'event BreakerOpen'],
    ],
    [
      'remembers that a person wanted a breaker closed that was not open',
      { account: accountWith({ metadata: { annotations: wanted } }) },
      CONNECTED,
    ],
    [
      'tells trouble again after it was another',
      {
        reading: secretMissing,
        proof: NONE,
        account: accountWith({
          status: decide(observed({ proof: failed('unauthorized') })).status,
        }),
      },
      ['disconnect', 'ready InputMissing', 'event InputMissing'],
    ],
  ]);
});

describe('an account that is deleted', () => {
  const deletionTimestamp = '2026-11-20T12:00:00Z';
  const going = accountWith({ metadata: { deletionTimestamp } });
  const GOES = ['disconnect', 'dropKeptKey', 'removeFinalizer'];
  const WAITS = ['keepKey', 'connect', 'ready Deleting'];
  const machines = { objects: 0, rented: 0, billing: 2, retained: 0, orphaned: 2, foreign: 0 };
  const ON_RECORD = { machines };
  const destroying = (status?: MarketplaceAccountStatus) =>
    accountWith({
      metadata: { deletionTimestamp },
      spec: { orphanPolicy: 'Destroy' },
      ...(status && { status }),
    });
  table([
    [
      'waits for the machines of its objects',
      { account: going, blockers: ['team/a', 'team/b'] },
      ['keepKey', 'connect', 'ready Deleting'],
    ],
    ['goes when there are none', { account: going }, GOES],
    [
      'waits for machines that no object claims, where its policy is to destroy them',
      { account: destroying(), session: session({ pendingOrphans: ['5', '6'] }) },
      WAITS,
    ],
    [
      'waits for those of its objects first, and names them',
      { account: destroying(), session: session({ pendingOrphans: ['5'] }), blockers: ['team/a'] },
      WAITS,
    ],
    [
      'names ten machines that no object claims and counts the others',
      {
        account: destroying(),
        session: session({ pendingOrphans: Array.from({ length: 12 }, (_, index) => String(index + 1)) }),
      },
      WAITS,
    ],
    [
      'waits for those on record while this process has not swept yet',
      { account: destroying(ON_RECORD), session: session({ pendingOrphans: undefined }) },
      WAITS,
    ],
    [
      'waits for those on record while the marketplace does not answer',
      { account: destroying(ON_RECORD), session: undefined, proof: failed('unavailable') },
      ['ready Deleting'],
    ],
    [
      'waits for them while it is being found out who this installation is',
      {
        account: destroying(),
        session: session({ pendingOrphans: ['5'] }),
        installation: { type: 'pending', why: { reason: 'IdentityPending', message: '' } },
      },
      ['keepKey', 'connect', 'resolveIdentity', 'ready Deleting'],
    ],
    [
      'goes where none is on record and this process has not swept yet',
      { account: destroying(), session: session({ pendingOrphans: undefined }) },
      GOES,
    ],
    [
      'goes where another account of the login sweeps them',
      { account: destroying(), session: session({ pendingOrphans: ['5'] }), beside: 'sweeps' },
      GOES,
    ],
    [
      'names them and goes where an account of the login that nobody can use wants them reported',
      { account: destroying(), session: session({ pendingOrphans: ['5'] }), beside: 'reports' },
      [...GOES, 'event OrphanFound'],
    ],
    [
      'names them and goes where its policy is to report them',
      { account: going, session: session({ pendingOrphans: ['5', '6'] }) },
      [...GOES, 'event OrphanFound'],
    ],
    [
      'names them and goes where its key is refused, since nothing destroys them then',
      { account: destroying(ON_RECORD), session: undefined, proof: failed('unauthorized') },
      [...GOES, 'event OrphanFound'],
    ],
    [
      'names them and goes where its key may not destroy',
      {
        account: destroying(),
        session: session({ pendingOrphans: ['5'] }),
        proof: proven({ mayDestroy: false }),
      },
      [...GOES, 'event OrphanFound'],
    ],
    [
      'names them and goes where nothing is swept before a person has looked',
      {
        account: destroying(),
        session: session({ pendingOrphans: ['5'] }),
        installation: { ...observed().installation, sweep: 'scopeShrunk' } as Observed['installation'],
      },
      [...GOES, 'event OrphanFound'],
    ],
    [
      'names them and goes where memory was rolled back',
      { account: destroying({ rolledBack: ['5'] }), session: session({ pendingOrphans: ['5'] }) },
      [...GOES, 'event OrphanFound'],
    ],
    [
      'is let go at once where it never had a login',
      {
        account: accountWith({ metadata: { deletionTimestamp, finalizers: ['someone/else'] } }),
        proof: NONE,
      },
      ['disconnect'],
    ],
  ]);
});

close();
