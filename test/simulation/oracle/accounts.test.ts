import { describe, expect, test } from 'vitest';
import { OTHER_NAMESPACE } from '../installer.ts';
import { Bench } from './bench.ts';
import { abandoned, atWork, givesUpOneOfFour } from './situations.ts';

const FAR = `far.${OTHER_NAMESPACE}`;
const SWEPT = { strict: false, orphanPolicy: 'Destroy' } as const;

/** Makes an object of another namespace name the account of this one. */
function goFar(bench: Bench, allowedNamespaces: { from: string }): void {
  bench.users.createNamespace(OTHER_NAMESPACE);
  bench.users.account.set({ allowedNamespaces });
  bench.users.createInstance(FAR);
}

/** Returns a machine without an object, seen in two lists and old enough. */
async function orphaned(bench: Bench): Promise<number> {
  const { id } = await abandoned(bench);
  await bench.pass(60);
  for (let poll = 0; poll < 2; poll += 1) await bench.poll(10);
  return id;
}

/** Makes a status claim a machine that is gone, and reads five lists. */
async function claimsInVain(bench: Bench, apiKey = ''): Promise<void> {
  bench.setStatus({ instanceId: '7', phase: 'Running' });
  for (let poll = 0; poll < 5; poll += 1) await bench.poll(10, { apiKey });
}

type Case = readonly [
  name: string,
  bench: Bench,
  live: (bench: Bench) => Promise<void> | void,
  said?: RegExp,
];

const BROKEN: readonly Case[] = [
  [
    'a machine is swept while fewer namespaces are watched than before',
    new Bench({ ...SWEPT, flags: { watchNamespace: ['default'] } }),
    async (bench) => bench.sendDestroy(await orphaned(bench)),
    /^I1 .* was swept while fewer namespaces are watched than before$/,
  ],
  [
    'a machine is swept that another account of its login only reports',
    new Bench(SWEPT),
    async (bench) => {
      bench.users.second.create('Report');
      bench.sendDestroy(await orphaned(bench));
    },
    /^I1 .* was swept although the policy is to report it$/,
  ],
  [
    'a machine is swept earlier than the operator was told',
    new Bench({ ...SWEPT, flags: { orphanAge: '2m' } }),
    async (bench) => bench.sendDestroy(await orphaned(bench)),
    /^I1 .* was swept 80 s after it began$/,
  ],
  [
    'an object rents whose namespace the account has ceased to allow',
    new Bench(),
    async (bench) => {
      goFar(bench, { from: 'All' });
      bench.users.account.set({ allowedNamespaces: { from: 'Same' } });
      await bench.pass(40);
      bench.sendRent(1, FAR);
    },
    /^Access far rents by default\/default, which is not for its namespace$/,
  ],
  [
    'an object rents whose namespace has lost the label that the account asks for',
    new Bench(),
    async (bench) => {
      goFar(bench, { from: 'Selector', ...{ selector: { matchLabels: { team: 'gpu' } } } });
      await bench.pass(210);
      bench.sendRent(1, FAR);
    },
    /^Access far rents by default\/default, which is not for its namespace$/,
  ],
  [
    'an object rents whose account has been suspended for a while (P5)',
    new Bench(),
    async (bench) => {
      bench.users.account.suspend();
      await bench.pass(31);
      bench.sendRent(1);
    },
    /^Suspended a rents, and default\/default has been suspended for 3\d/,
  ],
  [
    'a machine is started whose account has been suspended for a while (P5)',
    new Bench(),
    async (bench) => {
      const { id } = await bench.rent(1);
      bench.users.account.suspend();
      await bench.pass(31);
      bench.send('PUT', `/api/v0/instances/${id}/`, { body: '{"state":"running"}' });
    },
    /^Suspended a starts a machine, and default\/default has been suspended for 3\d/,
  ],
  [
    'an object of another namespace rents where some namespaces are watched only',
    new Bench({ flags: { watchNamespace: ['default', OTHER_NAMESPACE] } }),
    async (bench) => {
      goFar(bench, { from: 'All' });
      await bench.pass(40);
      bench.sendRent(1, FAR);
    },
    /^Access far rents by default\/default, which is not for its namespace$/,
  ],
  [
    'a second account has more machines than it may, and the first one may have any number',
    new Bench(),
    async (bench) => {
      bench.users.second.create('Report');
      bench.users.second.set({ limits: { maxInstances: 1 } });
      for (const name of ['b', 'c']) bench.users.createInstance(name, { isOfSecond: true });
      bench.invariants.check();
      await bench.pass(1);
      await bench.rent(1, { name: 'b' });
      await bench.pass(10);
      await bench.rent(2, { name: 'c' });
    },
    /^I9 the account has 2 machines, and may have 1$/,
  ],
  [
    'a process asks for one offer for objects of two logins at once',
    new Bench(),
    (bench) => {
      bench.users.createInstance('b');
      bench.sendRent(1);
      bench.sendRent(1, 'b', { apiKey: bench.world.addLogin() });
    },
    /^I6 operator-0 asked for offer 8000001 for .* and .* at once$/,
  ],
  [
    'one of two accounts keeps its key when it has gone',
    new Bench(),
    (bench) => {
      bench.users.second.create('Report');
      bench.users.second.delete();
      const { kube } = bench.world;
      const address = { kind: kube.kind('secrets'), namespace: 'gpu-rental-system', name: 'gpuacct-1' };
      kube.writes.create(address, { metadata: { name: 'gpuacct-1' } });
      bench.invariants.checkConverged();
    },
    /^I12 the key in gpuacct-1 outlives its account$/,
  ],
];

const SOUND: readonly Case[] = [
  [
    'an object rents right after its account was suspended (P5)',
    new Bench(),
    async (bench) => {
      bench.users.account.suspend();
      await bench.pass(20);
      bench.sendRent(1);
    },
  ],
  [
    'an object rents right after its account resumed (P5)',
    new Bench(),
    async (bench) => {
      bench.users.account.suspend();
      await bench.pass(40);
      bench.users.account.resume();
      bench.sendRent(1);
    },
  ],
  [
    'a machine is swept that an account of another login would only report',
    new Bench(SWEPT),
    async (bench) => {
      bench.users.second.create('Report', bench.world.addLogin());
      setLogins(bench);
      bench.sendDestroy(await orphaned(bench));
    },
  ],
  [
    'an object of a namespace that is not watched claims to run on a machine that is gone',
    new Bench({ flags: { watchNamespace: [OTHER_NAMESPACE] } }),
    (bench) => claimsInVain(bench),
  ],
  [
    'an object claims to run on a machine that is gone, and lists of another login have been read only',
    new Bench(),
    async (bench) => {
      const apiKey = bench.world.addLogin();
      bench.users.second.create('Report', apiKey);
      setLogins(bench);
      await claimsInVain(bench, apiKey);
    },
  ],
  [
    'an object rents whose namespace the account has just ceased to allow',
    new Bench(),
    async (bench) => {
      goFar(bench, { from: 'All' });
      bench.users.account.set({ allowedNamespaces: { from: 'Same' } });
      await bench.pass(20);
      bench.sendRent(1, FAR);
    },
  ],
  [
    'each of two accounts rents as often as the operator allows',
    new Bench({ strict: false, flags: { maxRentalsPerHour: '1' } }),
    async (bench) => {
      bench.users.second.create('Report');
      bench.users.createInstance('b', { isOfSecond: true });
      await bench.rent(1);
      await bench.pass(10);
      await bench.rent(2, { name: 'b' });
    },
  ],
  [
    'four machines of two accounts turn bad together, and one is given up',
    new Bench(),
    async (bench) => {
      bench.users.second.create('Report');
      await givesUpOneOfFour(bench, 90, { isOfSecond: true });
    },
  ],
  [
    'an offer that was refused to one login is asked for by another a moment later',
    new Bench(),
    async (bench) => {
      bench.users.createInstance('b');
      bench.sendRent(1);
      await bench.pass(0.05);
      bench.sendRent(1, 'b', { apiKey: bench.world.addLogin() });
    },
  ],
  [
    'two calls of a kind leave at once, each for a login of its own',
    new Bench(),
    async (bench) => {
      await atWork(bench);
      const apiKey = bench.world.addLogin();
      bench.send('DELETE', '/api/v0/instances/1/', { apiKey });
      bench.send('DELETE', '/api/v0/instances/2/', { apiKey: bench.world.market.apiKey });
    },
  ],
];

/** Verifies the login of both accounts' keys. */
function setLogins({ world, invariants }: Bench): void {
  const [first = 0, second = 0] = Object.keys(world.market.store.current().tables.users).map(Number);
  for (const [name, userId] of [
    ['default', first],
    ['second', second],
  ] as const) {
    const address = { kind: world.kube.kind('marketplaceaccounts'), namespace: 'default', name };
    const login = { url: 'https://market.example', userId: String(userId), provenAt: '2026-01-05T12:00:00Z' };
    invariants.byPerson(() =>
      world.kube.writes.update(address, (current) => ({ ...current, status: { login } }), 'status'),
    );
  }
}

describe('the oracle says so when', () => {
  test.for(BROKEN)('%s', async ([, bench, live, said]) => {
    await live(bench);
    bench.invariants.check();
    const texts = bench.invariants.violations.map(({ invariant, text }) => `${invariant} ${text}`);
    expect(texts).toContainEqual(expect.stringMatching(said ?? /^$/));
  });
});

describe('the oracle says nothing when', () => {
  test.for(SOUND)('%s', async ([, bench, live]) => {
    await live(bench);
    bench.invariants.check();
    expect(bench.invariants.violations).toEqual([]);
  });
});
