import { describe, expect, test } from 'vitest';
import {
  failed,
  observed,
  proven,
  SECOND_KEY,
  session,
  unconfirmed,
} from '../../../test/builders/observed-account.ts';
import { statusCodec } from '../../api/v1alpha1/status-codec.ts';
import { storedForm, withStoredForm } from '../../lib/stored-form.ts';
import { authenticated, funded, reachable, ready, stalled, unreadiness } from './conditions.ts';
import { decide } from './decide.ts';
import { failureOf } from './key-proof.ts';
import type { Action, Observed } from './types.ts';

const types = (actions: readonly Action[]) => actions.map(({ type }) => type);

describe('Authenticated', () => {
  test.each([
    ['the key proves its login', observed(), 'True', 'Ready'],
    ['nothing was tried yet', observed({ proof: { type: 'none' } }), 'Unknown', 'Pending'],
    [
      'the URL is not allowed',
      observed({ url: { type: 'refused', url: 'https://x.example', allowed: ['https://y.example'] } }),
      'False',
      'AddressInvalid',
    ],
    [
      'the Secret is missing and no key is kept',
      observed({ reading: { type: 'secretMissing', secret: 'key' }, proof: { type: 'none' } }),
      'False',
      'InputMissing',
    ],
    [
      'the Secret is missing and the kept key works',
      observed({ reading: { type: 'secretMissing', secret: 'key' }, proof: proven({ source: 'kept' }) }),
      'False',
      'UsingKeptKey',
    ],
    [
      'the operator may not read the Secret',
      observed({ reading: { type: 'forbidden', secret: 'key' }, proof: { type: 'none' } }),
      'False',
      'NotPermitted',
    ],
    ['the key is refused', observed({ proof: failed('unauthorized') }), 'False', 'KeyRejected'],
    ['a second factor is wanted', observed({ proof: failed('twoFactorRequired') }), 'False', 'KeyRejected'],
    ['the key may not read its user', observed({ proof: failed('forbidden') }), 'False', 'KeyTooNarrow'],
    ['the marketplace is away', observed({ proof: failed('unavailable') }), 'Unknown', 'Unreachable'],
    [
      'the marketplace answers rubbish',
      observed({ proof: failed('malformedReply') }),
      'Unknown',
      'Unreachable',
    ],
    ['the key is one of another user', pinnedTo('9'), 'False', 'LoginChanged'],
    ['one reply named the user of the key', observed({ proof: unconfirmed() }), 'Unknown', 'Pending'],
    [
      'one reply named another user',
      observed({ proof: unconfirmed(), account: pinnedTo('9').account }),
      'Unknown',
      'Pending',
    ],
    ['the key may not destroy', observed({ proof: proven({ mayDestroy: false }) }), 'False', 'KeyTooNarrow'],
  ] as const)('%s', (_, given, status, reason) => {
    expect(authenticated(given)).toMatchObject({ status, reason });
  });

  test.each([
    ['refused', failed('unauthorized'), 'The marketplace does not accept the key.'],
    ['too narrow', proven({ mayDestroy: false }), 'The key may not destroy machines'],
  ])(
    'names what is wrong with the key when the kept one is used for one that is %s',
    (_, insteadOf, message) => {
      const { reason, message: told } = authenticated(
        observed({ proof: proven({ source: 'kept', insteadOf }) }),
      );
      expect([reason, told]).toEqual(['UsingKeptKey', expect.stringContaining(message)]);
    },
  );

  test('a marketplace that is not allowed is named as what the account says, or as that of its login', () => {
    const url = { type: 'refused', url: 'https://x.example', allowed: ['https://y.example'] } as const;
    const { account } = observed();
    const told = (spec: object) =>
      authenticated(observed({ url, account: { ...account, spec: { ...account.spec, ...spec } } })).message;
    expect(told({ url: url.url })).toContain('spec.url https://x.example is not in');
    expect(told({ url: undefined })).toContain(
      "The marketplace https://x.example of the account's login is not",
    );
  });

  test('reports the key of another user before what it may not do', () => {
    const both = observed({ proof: proven({ mayDestroy: false }), account: pinnedTo('9').account });
    expect(authenticated(both).reason).toBe('LoginChanged');
  });
});

/** Returns an account whose login was pinned to another user before. */
function pinnedTo(userId: string): Observed {
  const { account } = observed();
  const login = { url: 'https://market.example', userId, provenAt: '2026-11-20T00:00:00Z' };
  return observed({ account: { ...account, status: { login } } });
}

describe('Reachable', () => {
  const failing = (consecutiveFailures: number, lastCompleteAt: number | undefined = 1, kind = 'throttled') =>
    observed({
      session: session({
        health: { consecutiveFailures, lastCompleteAt },
        failure: { kind: kind as 'throttled', badCertificate: false },
      }),
    });
  const notListed = session({ health: { consecutiveFailures: 0, lastCompleteAt: undefined } });
  const untrusted = {
    type: 'failed',
    source: 'user',
    failure: { kind: 'unavailable', badCertificate: true },
  } as const;

  test.each([
    ['lists arrive', observed(), 'True', 'Ready'],
    ['there is no session yet', observed({ session: undefined }), 'Unknown', 'Pending'],
    ['the first list is on its way', observed({ session: notListed }), 'Unknown', 'Pending'],
    ['one list failed', failing(1), 'True', 'Ready'],
    ['two lists failed', failing(2), 'False', 'Throttled'],
    [
      'the very first list failed',
      {
        ...failing(1),
        session: session({
          health: { consecutiveFailures: 1, lastCompleteAt: undefined },
          failure: { kind: 'timeout', badCertificate: false },
        }),
      },
      'False',
      'Unreachable',
    ],
    ['lists contradict themselves', failing(2, 1, 'malformedReply'), 'False', 'Unreachable'],
    ['the key may not list', failing(2, 1, 'forbidden'), 'False', 'KeyTooNarrow'],
    ['the address is one that may not be called', failing(2, 1, 'blockedAddress'), 'False', 'AddressInvalid'],
    [
      'the key cannot even be tried',
      observed({ session: undefined, proof: failed('unavailable') }),
      'False',
      'Unreachable',
    ],
    [
      'scenario 40: the certificate cannot be trusted',
      observed({ session: undefined, proof: untrusted }),
      'False',
      'AddressInvalid',
    ],
  ] as const)('%s', (_, given, status, reason) => {
    expect(reachable(given)).toMatchObject({ status, reason });
  });

  test.each([
    ['unavailable', 'CERT_HAS_EXPIRED', true],
    ['unavailable', 'DEPTH_ZERO_SELF_SIGNED_CERT', true],
    ['unavailable', 'ERR_TLS_CERT_ALTNAME_INVALID', true],
    ['unavailable', 'ECONNREFUSED', false],
    ['unavailable', undefined, false],
    ['refused', 'CERT_HAS_EXPIRED', false],
  ] as const)('%s with code %s: a bad certificate is %s', (kind, code, badCertificate) => {
    expect(failureOf({ kind, code })).toMatchObject({ kind, badCertificate });
  });
});

describe('Funded', () => {
  const limited = (limits: object, sums: object = {}, credit: number | undefined = 100_000_000) => {
    const { account } = observed();
    return observed({
      account: { ...account, spec: { ...account.spec, limits } },
      proof: proven({ user: { ...proven().user, credit } }),
      session: session({ sums: { ...session().sums, ...sums } }),
    });
  };
  test.each([
    ['credit and no limits', limited({}), 'True', 'Ready'],
    [
      'credit that may not be read',
      observed({ proof: proven({ user: { ...proven().user, credit: undefined } }), session: session() }),
      'Unknown',
      'KeyTooNarrow',
    ],
    ['no credit', limited({}, {}, 0), 'False', 'InsufficientCredit'],
    ['debt', limited({}, {}, -5_000_000), 'False', 'InsufficientCredit'],
    ['credit below minCredit', limited({ minCredit: '100.01' }), 'False', 'InsufficientCredit'],
    [
      'a month that is used up',
      limited({ maxSpendPerMonth: '5' }, { spentThisMonth: 5_000_000 }),
      'False',
      'AtLimit',
    ],
    [
      'an hour that is full',
      limited({ maxSpendPerHour: '2' }, { dollarsPerHour: 2_000_000 }),
      'False',
      'AtLimit',
    ],
    ['an hour with room', limited({ maxSpendPerHour: '2' }, { dollarsPerHour: 1_999_999 }), 'True', 'Ready'],
  ] as const)('%s', (_, given, status, reason) => {
    expect(funded(given)).toMatchObject({ status, reason });
  });

  test('no figure that moves by itself is in the text', () => {
    expect(funded(limited({ minCredit: '7' }, {}, 3_210_000)).message).not.toContain('3.21');
  });
});

describe('Ready and Stalled', () => {
  const lost = { type: 'lost', why: { reason: 'IdentityInvalid', message: 'restore it' } } as const;
  const known = observed().installation;

  test.each([
    ['everything holds', observed(), 'Ready', undefined],
    ['the key is refused', observed({ proof: failed('unauthorized') }), 'KeyRejected', 'KeyRejected'],
    ['the identity is lost', observed({ installation: lost }), 'IdentityInvalid', 'IdentityInvalid'],
    [
      'the marketplace is away',
      observed({ session: undefined, proof: failed('unavailable') }),
      'Unreachable',
      undefined,
    ],
    [
      'the identity belongs to another cluster',
      observed({ installation: { ...known, sweep: 'clusterChanged' } as Observed['installation'] }),
      'Ready',
      'IdentityInvalid',
    ],
    [
      'memory was rolled back',
      observed({
        session: session({
          findings: { orphans: ['5'], unsettled: [], rolledBack: ['5'], confirmedAt: 0, copied: [] },
        }),
      }),
      'Ready',
      'OrphansHeld',
    ],
  ] as const)('%s', (_, given, reason, stall) => {
    expect(ready(given).reason).toBe(reason);
    expect(stalled(given)?.reason).toBe(stall);
  });

  test('a lack of money makes it not Ready, and still gives no reason to refuse teardown', () => {
    const poor = observed({ proof: proven({ user: { ...proven().user, credit: 0 } }) });
    expect(ready(poor)).toMatchObject({ status: 'False', reason: 'InsufficientCredit' });
    expect(unreadiness(poor)).toBeUndefined();
  });
});

describe('what is done', () => {
  test('a first proof sets the finalizer, keeps the key and connects', () => {
    const { account } = observed();
    const first = observed({ account: { ...account, metadata: { ...account.metadata, finalizers: [] } } });
    expect(decide(first).needsFinalizer).toBe(true);
    const unproven = { ...first, proof: { type: 'none' } as const };
    expect(decide(unproven).needsFinalizer).toBe(false);
    expect(types(decide(first).actions)).toEqual(['keepKey', 'connect', 'setReadiness']);
    expect(decide(first).status.login).toMatchObject({ userId: '7', url: 'https://market.example' });
  });

  test('a key that is kept already is not written again', () => {
    expect(types(decide(observed({ keyKept: true })).actions)).toEqual(['connect', 'setReadiness']);
  });

  test('a kept key never pins a login and is never kept again', () => {
    const kept = observed({
      reading: { type: 'secretMissing', secret: 'key' },
      proof: proven({ source: 'kept' }),
    });
    expect(decide(kept).status.login).toBeUndefined();
    expect(types(decide(kept).actions)).not.toContain('keepKey');
  });

  test.each(['unauthorized', 'forbidden', 'twoFactorRequired'] as const)('%s ends the session', (kind) => {
    expect(types(decide(observed({ proof: failed(kind) })).actions)).toContain('disconnect');
  });

  test('a proof that could not be asked for ends nothing', () => {
    expect(types(decide(observed({ proof: failed('unavailable') })).actions)).toEqual(['setReadiness']);
  });

  test('another user’s key ends the session, keeps the pinned login and emits one event', () => {
    const decision = decide(pinnedTo('9'));
    expect(types(decision.actions)).toEqual(['disconnect', 'setReadiness']);
    expect(decision.events).toMatchObject([{ type: 'Warning', reason: 'LoginChanged' }]);
    expect(decision.status.login?.userId).toBe('9');
    const told = observed({ account: { ...observed().account, status: decision.status } });
    expect(decide(told).events).toEqual([]);
  });

  test('an identity that is not known is looked for', () => {
    const pending = { type: 'pending', why: { reason: 'IdentityPending', message: '' } } as const;
    expect(types(decide(observed({ installation: pending })).actions)).toContain('resolveIdentity');
  });

  test('a changed key is kept', () => {
    expect(decide(observed({ proof: proven({ key: SECOND_KEY }) })).actions[0]).toEqual({
      type: 'keepKey',
      key: SECOND_KEY,
    });
  });
});

describe('an event', () => {
  const none = { type: 'none' } as const;
  const toldOf = (given: Observed) => decide(given).events.map(({ reason }) => reason);

  test.each([
    [
      'a Secret that is not there',
      observed({ reading: { type: 'secretMissing', secret: 'key' }, proof: none }),
    ],
    [
      'a Secret without the key',
      observed({ reading: { type: 'keyMissing', secret: 'key', key: 'api-key', present: [] }, proof: none }),
    ],
    [
      'a key that is empty',
      observed({
        reading: { type: 'invalid', secret: 'key', key: 'api-key', problem: 'it is empty' },
        proof: none,
      }),
    ],
    [
      'a Secret that may not be read',
      observed({ reading: { type: 'forbidden', secret: 'key' }, proof: none }),
    ],
    ['a key that is refused', observed({ proof: failed('unauthorized') })],
  ])('emits one event for %s', (_, given) => {
    expect(toldOf(given)).toEqual([ready(given).reason]);
    const told = { ...given, account: { ...given.account, status: decide(given).status } };
    expect(toldOf(told)).toEqual([]);
  });

  test.each([
    ['what is well', observed()],
    ['what has not been tried', observed({ proof: none })],
    ['what goes away by itself', observed({ proof: failed('unavailable') })],
    ['a marketplace that answers rubbish once', observed({ proof: failed('malformedReply') })],
  ])('emits no event for %s', (_, given) => {
    expect(toldOf(given)).toEqual([]);
  });
});

test('a record of a newer version stops the account and stays as it is', () => {
  const { account } = observed();
  const record = '{"v":2,"guards":["7"]}';
  const read = statusCodec.decode({ ...account, status: { record } }) as unknown as typeof account;
  const given = observed({ account: read });
  expect(unreadiness(given)).toMatchObject({ reason: 'RecordUnreadable' });
  expect(stalled(given)?.message).toContain('status.record is of version 2');
  const status = withStoredForm(decide(given).status, storedForm(read.status));
  expect(statusCodec.encode({ ...account, status }).status).toMatchObject({ record });
});

describe('deletion', () => {
  const deleting = (blockers: readonly string[]) => {
    const { account } = observed();
    const metadata = { ...account.metadata, deletionTimestamp: '2026-11-20T12:00:00Z' };
    return observed({ account: { ...account, metadata }, blockers });
  };

  test('waits for machines, names them and keeps the session for their teardown', () => {
    const decision = decide(deleting(['team/a', 'team/b']));
    expect(types(decision.actions)).toEqual(['keepKey', 'connect', 'setReadiness']);
    expect(ready(deleting(['team/a', 'team/b']))).toMatchObject({ reason: 'Deleting' });
    expect(ready(deleting(['team/a', 'team/b'])).message).toContain('team/a, team/b');
    expect(decision.needsFinalizer).toBe(false);
  });

  test('looks for the identity that its last machines are destroyed by, until nothing needs it', () => {
    const pending = { type: 'pending', why: { reason: 'IdentityPending', message: '' } } as const;
    const acts = (blockers: readonly string[]) =>
      types(decide({ ...deleting(blockers), installation: pending }).actions);
    expect(acts(['team/a'])).toEqual(['keepKey', 'connect', 'resolveIdentity', 'setReadiness']);
    expect(acts([])).toEqual(['disconnect', 'dropKeptKey', 'removeFinalizer']);
  });

  test('still closes the breaker that a person wants closed', () => {
    const given = deleting(['team/a']);
    const annotations = { 'gpurental.dev/close-breaker': 'v1' };
    const account = { ...given.account, metadata: { ...given.account.metadata, annotations } };
    const breaker = { type: 'open', since: 1, cause: 'massFailure', unhealthy: 6, message: '' } as const;
    expect(types(decide({ ...given, account, session: session({ breaker }) }).actions)).toContain(
      'closeBreaker',
    );
  });

  test('names ten objects and counts the others', () => {
    const many = Array.from({ length: 12 }, (_, index) => `team/o${index}`);
    expect(ready(deleting(many)).message).toContain('team/o9 and 2 more');
  });

  test('ends with the session, the kept key and the finalizer, in this order', () => {
    expect(types(decide(deleting([])).actions)).toEqual(['disconnect', 'dropKeptKey', 'removeFinalizer']);
  });
});

describe('the breaker on record', () => {
  const open = { type: 'open', since: 1_000, cause: 'massFailure', unhealthy: 6, message: 'six' } as const;

  test('records a mass failure and emits one event', () => {
    const decision = decide(observed({ session: session({ breaker: open }) }));
    expect(decision.status.breaker).toEqual({ open: true, since: '1970-01-01T00:00:01Z', unhealthy: 6 });
    expect(decision.events).toMatchObject([{ type: 'Warning', reason: 'BreakerOpen' }]);
  });

  test('a list that failed is not worth a write', () => {
    const failedList = { ...open, cause: 'listFailed' } as const;
    expect(decide(observed({ session: session({ breaker: failedList }) })).status.breaker).toBeUndefined();
  });

  test('a new value of the annotation closes it, and is remembered', () => {
    const { account } = observed();
    const metadata = { ...account.metadata, annotations: { 'gpurental.dev/close-breaker': 'v1' } };
    const status = { breaker: { open: true, since: '2026-11-20T00:00:00Z', unhealthy: 6 } };
    const given = observed({
      account: { ...account, metadata, status },
      session: session({ breaker: open }),
    });
    // Whatever comes before it could fail, and the word is on record as handled.
    expect(types(decide(given).actions)[0]).toBe('closeBreaker');
    expect(decide(given).status.breaker).toMatchObject({ open: false, closedBy: 'v1' });
    const again = observed({
      account: { ...account, metadata, status: decide(given).status },
      session: session({ breaker: open }),
    });
    expect(types(decide(again).actions)).not.toContain('closeBreaker');
  });
});

describe('a word that is to close the breaker', () => {
  const annotated = (status: Observed['account']['status']) => {
    const { account } = observed();
    const metadata = { ...account.metadata, annotations: { 'gpurental.dev/close-breaker': 'v1' } };
    return { ...account, metadata, ...(status && { status }) };
  };
  const open = (cause: 'massFailure' | 'listFailed') =>
    session({ breaker: { type: 'open', since: 1_000, cause, unhealthy: 6, message: 'six' } });

  test.each([
    ['while nothing is to be closed', session(), []],
    ['while lists fail', open('listFailed'), ['closeBreaker']],
  ] as const)('is used up %s, and closes no failure that comes later', (_, facts, acts) => {
    const early = decide(observed({ account: annotated(undefined), session: facts }));
    expect(early.status.breaker).toMatchObject({ open: false, unhealthy: 0, closedBy: 'v1' });
    expect(types(early.actions).filter((type) => type === 'closeBreaker')).toEqual(acts);
    const weeksLater = observed({ account: annotated(early.status), session: open('massFailure') });
    expect(types(decide(weeksLater).actions)).not.toContain('closeBreaker');
    expect(decide(weeksLater).status.breaker).toMatchObject({ open: true, unhealthy: 6, closedBy: 'v1' });
  });

  test('leaves what is on record of an earlier failure', () => {
    const breaker = { open: false, since: '2026-11-20T00:00:00Z', unhealthy: 6, closedBy: 'v0' };
    const given = observed({ account: annotated({ breaker }) });
    expect(decide(given).status.breaker).toEqual({ ...breaker, closedBy: 'v1' });
  });

  test('waits for a session: before, the state of the breaker is unknown', () => {
    const breaker = { open: true, since: '2026-11-20T00:00:00Z', unhealthy: 6 };
    const given = observed({ account: annotated({ breaker }), session: undefined });
    expect(decide(given).status.breaker).toEqual(breaker);
  });
});

describe('what is written', () => {
  test('deciding twice about the same writes the same', () => {
    const first = decide(observed());
    const second = decide(
      observed({
        account: { ...observed().account, status: first.status },
        figuresWrittenAt: observed().now,
      }),
    );
    expect(second.status).toEqual(first.status);
  });

  test('a process that has just started leaves the conditions as they stand', () => {
    const before = decide(observed()).status;
    const started = observed({
      account: { ...observed().account, status: before },
      session: undefined,
      proof: { type: 'none' },
    });
    expect(decide(started).status.conditions).toEqual(before.conditions);
  });

  test('what this pass does not know stays: deleted objects, retained machines, avoid list', () => {
    const status = {
      deletedObjects: { month: '2026-11', spent: '3.00', rentals: [] },
      retained: [
        {
          instanceId: '4',
          owner: 'team/a',
          ownerUid: 'u',
          since: '2026-11-20T11:59:59Z',
          policy: 'Retain' as const,
        },
      ],
    };
    const given = observed({ account: { ...observed().account, status } });
    expect(decide(given).status).toMatchObject(status);
  });

  describe('the two-factor login of the user', () => {
    const { account } = observed();
    const seen = { ...account, status: { ...account.status, twoFactor: 'Enabled' as const } };
    const { user } = proven();

    test('is forgotten where a key may not read it', () => {
      const proof = proven({ user: { ...user, twoFactor: undefined } });
      expect(decide(observed({ account: seen, proof })).status.twoFactor).toBeUndefined();
    });

    test('stays as it was seen while no key proves the login', () => {
      const proof = failed('unavailable');
      expect(decide(observed({ account: seen, proof })).status.twoFactor).toBe('Enabled');
    });
  });

  describe('a retained machine that lists show no more', () => {
    const kept = {
      instanceId: '4',
      owner: 'team/a',
      ownerUid: 'u',
      since: '2026-11-19T00:00:00Z',
      policy: 'Retain' as const,
    };
    const provenGone = new Set(['4']);
    const open = { type: 'open', since: 1, cause: 'listFailed', unhealthy: 0, message: '' } as const;
    test.each([
      ['leaves the list once it is gone for long', {}, {}, 0],
      ['stays after a list without it', { provenGone: new Set<string>() }, {}, 1],
      ['stays while the service is not to be believed', { breaker: open }, {}, 1],
      ['stays while the key is not proven', {}, { proof: failed('unavailable') }, 1],
      ['stays while the key is one of another user', {}, { account: pinnedTo('9').account }, 1],
    ] as const)('%s', (_, facts, changes, left) => {
      const given = observed({ session: session({ provenGone, ...facts }), ...changes });
      const status = { ...given.account.status, retained: [kept] };
      const account = { ...given.account, status };
      expect(decide({ ...given, account }).status.retained).toHaveLength(left);
    });
  });

  test('a copy of our label is on record until it is gone for long, also when its original has ended (H6)', () => {
    const findings = { orphans: [], unsettled: [], rolledBack: [], confirmedAt: 0, copied: ['9', '5'] };
    const first = observed({ session: session({ findings }) });
    expect(decide(first).status.labelCopies).toEqual(['5', '9']);
    const account = { ...first.account, status: { ...first.account.status, labelCopies: ['4', '5', '9'] } };
    const none = { ...findings, copied: [] };
    const later = observed({ account, session: session({ findings: none, provenGone: new Set(['4']) }) });
    expect(decide(later).status.labelCopies).toEqual(['5', '9']);
    expect(decide(observed()).status.labelCopies).toBeUndefined();
  });

  test('the newest rental on record never goes back', () => {
    const status = { lastRentalAt: '2026-11-20T11:00:00Z' };
    const older = observed({
      account: { ...observed().account, status },
      newestRentalAt: Date.parse('2026-11-20T10:00:00Z'),
    });
    expect(decide(older).status.lastRentalAt).toBe('2026-11-20T11:00:00Z');
    const newer = observed({
      account: { ...observed().account, status },
      newestRentalAt: Date.parse('2026-11-20T11:30:00Z'),
    });
    expect(decide(newer).status.lastRentalAt).toBe('2026-11-20T11:30:00Z');
  });
});
