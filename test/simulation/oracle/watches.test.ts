import { describe, expect, test } from 'vitest';
import { SYSTEM_NAMESPACE } from '../world.ts';
import { Bench } from './bench.ts';
import {
  abandoned,
  accountRents,
  atWork,
  buysAfter,
  createsWorker,
  destroyedAfterRecovery,
  destroyedAtWork,
  FAILED,
  forgotten,
  givesUp,
  givesUpOneOfFour,
  guardAccount,
  INSTANCES,
  INTENT,
  intends,
  leaving,
  led,
  losesRace,
  orphanedAtOnce,
  overtaken,
  pollsOn,
  processBegins,
  serving,
  setGroupStatus,
  silence,
  silentFor,
} from './situations.ts';

const SPOILT: readonly (readonly [string, RegExp, Bench, (bench: Bench) => Promise<void> | void])[] = [
  ...(['Opaque', 'kubernetes.io/service-account-token'] as const).map(
    (type) =>
      [
        `a Secret of the type ${type} is created in a namespace of users (M9)`,
        /^I12 POST of the Secret default\/robot, which the operator may not write$/,
        new Bench(),
        (bench: Bench) => {
          const body = JSON.stringify({ metadata: { name: 'robot' }, type });
          bench.sendToCluster('POST', '/api/v1/namespaces/default/secrets', body);
        },
      ] as const,
  ),
  [
    "a user's Secret is deleted (M9)",
    /^I12 DELETE of the Secret default\/marketplace-key, which the operator may not write$/,
    new Bench(),
    (bench) => bench.sendToCluster('DELETE', '/api/v1/namespaces/default/secrets/marketplace-key'),
  ],
  [
    'a machine that was lost is destroyed although the newest list shows it running (H1)',
    /^I4 contract \d+ was given up although the newest list shows it running, and a wants it$/,
    new Bench(),
    (bench) => destroyedAfterRecovery(bench, { shows: 'running' }),
  ],
  [
    'a machine is given the API key of the account (M2)',
    /^I12 api-key of a Secret is in a rental$/,
    new Bench(),
    (bench) => {
      const body = JSON.stringify({ env: { KEY: bench.world.market.apiKey } });
      bench.send('PUT', '/api/v0/asks/8000001/', { body });
    },
  ],
  [
    'no machine is rented for half a minute although an object could have one (F1)',
    /^F1 no machine was rented for 30 s, and a could have been$/,
    new Bench(),
    async (bench) => {
      accountRents(bench);
      await pollsOn(bench, 60);
    },
  ],
  [
    'a purchase is recorded on an object that is paused',
    /^I5 purchase 1 of a was recorded although it is paused$/,
    new Bench(),
    (bench) => {
      bench.users.setPaused('a', true);
      bench.edit({ annotations: { [INTENT]: '{"attempt":1}' } });
    },
  ],
  [
    'an object records a machine again that it had let go of',
    /^I14 a records machine 7 again/,
    new Bench(),
    (bench) => {
      bench.setStatus({ instanceId: '7' });
      bench.setStatus({ instanceId: '8' });
      bench.setStatus({ instanceId: '7' });
    },
  ],
  [
    'a held machine is given up',
    /^I4 the machine of a is given up \(SpecChanged\) although it is held$/,
    new Bench(),
    (bench) => {
      bench.users.hold('a');
      givesUp(bench, 'SpecChanged');
    },
  ],
  [
    'the machine of a paused object is given up',
    /^I4 the machine of a is given up \(HostOffline\) although it is paused$/,
    new Bench(),
    (bench) => {
      bench.users.setPaused('a', true);
      givesUp(bench, 'HostOffline');
    },
  ],
  [
    'a lost machine is given up that may not be replaced',
    /^I4 the machine of a is given up \(Exited\) although it may not be replaced$/,
    new Bench(),
    (bench) => {
      bench.users.setPolicies('a', { replacement: { policy: 'Never' } });
      givesUp(bench, 'Exited');
    },
  ],
  [
    'a machine of an old spec is given up that is updated on deletion',
    /^I4 the machine of a is given up \(SpecChanged\) although it is updated on deletion only$/,
    new Bench(),
    (bench) => {
      bench.users.setPolicies('a', { updateStrategy: { type: 'OnDelete' } });
      givesUp(bench, 'SpecChanged');
    },
  ],
  [
    'another machine is rented after one that vanished, and a person wants to be asked',
    /^I5 a rents another machine although the last one ended for good \(Vanished\)$/,
    new Bench(),
    (bench) => {
      bench.users.setPolicies('a', { onVanish: 'Hold' });
      buysAfter(bench, 'Vanished');
    },
  ],
  [
    'another machine is rented after one that may not be replaced',
    /^I5 a rents another machine although the last one ended for good \(Exited\)$/,
    new Bench(),
    (bench) => {
      bench.users.setPolicies('a', { replacement: { policy: 'Never' } });
      buysAfter(bench, 'Exited');
    },
  ],
  [
    'a purchase may be under way after the lease of its process',
    /^I5 purchase 1 of a may be under way 5 s after the lease of its process$/,
    new Bench(),
    (bench) => intends(bench, 20),
  ],
  [
    'two objects record one machine',
    /^I14 b records machine 7, which a records, too$/,
    new Bench(),
    (bench) => {
      bench.users.createInstance('b');
      bench.setStatus({ instanceId: '7' });
      bench.setStatus({ instanceId: '7' }, 'b');
    },
  ],
  [
    'a list confirms a machine that another object records',
    /^I14 b records machine 7, which a records, too$/,
    new Bench(),
    (bench) => {
      bench.users.createInstance('b');
      bench.setStatus({ instanceId: '7' });
      bench.setStatus({ instanceId: '7', unconfirmed: true }, 'b');
      bench.setStatus({ instanceId: '7', unconfirmed: undefined }, 'b');
    },
  ],
  [
    'an object made anew buys while the machine of its former self lives',
    /^I5 purchase 1 of b was recorded although it has machine \d+ of its former self$/,
    new Bench(),
    async (bench) => {
      await bench.rent(1);
      bench.users.createInstance('b');
      bench.edit({ annotations: { [INTENT]: JSON.stringify({ uid: bench.uid, attempt: 1 }) } }, 'b');
      bench.edit({ annotations: { [INTENT]: JSON.stringify({ uid: bench.uidOf('b'), attempt: 1 }) } }, 'b');
    },
  ],
  [
    'a machine is given up as soon as its host is silent',
    /^I4 .* was given up after 20 s of silence, and a bears 60 s$/,
    new Bench(),
    async (bench) => {
      const contract = await atWork(bench);
      silence(bench, contract);
      await bench.pass(20);
      bench.sendDestroy(contract.id);
    },
  ],
  [
    'the machine of the newest purchase is on no record for lists on end',
    /^I1 .* of a bills and is not on its record$/,
    new Bench(),
    async (bench) => {
      await bench.rent(1);
      for (let poll = 0; poll < 3; poll += 1) await bench.poll(10);
    },
  ],
  [
    'a machine is swept although the policy is to report it',
    /^I1 .* was swept although the policy is to report it$/,
    new Bench(),
    async (bench) => bench.sendDestroy((await abandoned(bench)).id),
  ],
  [
    'a machine is swept that has just begun',
    /^I1 .* was swept 20 s after it began$/,
    new Bench({ strict: false, orphanPolicy: 'Destroy' }),
    async (bench) => {
      const { id } = await abandoned(bench);
      for (let poll = 0; poll < 2; poll += 1) await bench.poll(10);
      bench.sendDestroy(id);
    },
  ],
  [
    'a machine is swept that one list has shown',
    /^I1 .* was swept after 1 lists$/,
    new Bench({ strict: false, orphanPolicy: 'Destroy' }),
    async (bench) => {
      const { id } = await abandoned(bench);
      await bench.pass(90);
      await bench.poll(1);
      bench.sendDestroy(id);
    },
  ],
  [
    'a machine is swept right after lists have failed',
    /^I1 .* was swept while the breaker had to be open$/,
    new Bench({ strict: false, orphanPolicy: 'Destroy' }),
    async (bench) => {
      const { id } = await abandoned(bench);
      await bench.pass(90);
      await bench.poll(10);
      for (let tries = 0; tries < 3; tries += 1) await bench.poll(2, { fate: FAILED });
      await bench.poll(10);
      bench.sendDestroy(id);
    },
  ],
  [
    'a machine is swept that a restored cluster has forgotten',
    /^I4 contract \d+ was swept, which a restored cluster had forgotten$/,
    new Bench({ strict: false, orphanPolicy: 'Destroy' }),
    async (bench) => bench.sendDestroy(await forgotten(bench)),
  ],
  [
    'a machine that lives is given up for the second time while its object is paused',
    /^I4 the machine of a is given up \(Exited\) although it is paused$/,
    new Bench(),
    async (bench) => {
      await atWork(bench);
      givesUp(bench, 'Exited');
      givesUp(bench, 'NotRunning', 'a', 'NotRunning');
      bench.users.setPaused('a', true);
      givesUp(bench, 'Exited');
    },
  ],
  [
    'a machine is given up right after four turned bad together',
    /^I4 .* was given up while the breaker had to be open$/,
    new Bench(),
    (bench) => givesUpOneOfFour(bench, 10),
  ],
  [
    'one of two machines that are silent is given up before the hold is over',
    /^I4 .* was given up while the breaker had to be open$/,
    new Bench(),
    async (bench) => {
      const [first = 0] = await silentFor(bench, { machines: 2, silent: 2, seconds: 600 });
      bench.sendDestroy(first);
    },
  ],
  [
    'the only machine of an account is given up while nobody sees its host',
    /^I4 .* was given up while the breaker had to be open$/,
    new Bench(),
    async (bench) => {
      const [only = 0] = await silentFor(bench, { machines: 1, silent: 1, seconds: 120 });
      bench.sendDestroy(only);
    },
  ],
  [
    'a machine is given up after one list in which few enough are bad',
    /^I4 .* was given up while the breaker had to be open$/,
    new Bench(),
    async (bench) => {
      const [first = 0] = await silentFor(bench, { machines: 2, silent: 2, seconds: 120 });
      bench.readList('running');
      await bench.pass(2);
      bench.sendDestroy(first);
    },
  ],
  [
    'two machines are given up within ten minutes after the hold',
    /^I4 contract \d+ was given up although 1 others were within ten minutes, and the breaker had to be slow$/,
    new Bench(),
    async (bench) => {
      bench.users.account.set({ maxUnhealthyHold: '5m' });
      const [first = 0, second = 0] = await silentFor(bench, { machines: 4, silent: 4, seconds: 400 });
      bench.sendDestroy(first);
      await bench.poll(60);
      bench.sendDestroy(second);
    },
  ],
  [
    'one of four machines that lost their objects at once is swept (H5)',
    /^I4 contract \d+ was swept with a mass of orphans that no person has confirmed$/,
    new Bench({ strict: false, orphanPolicy: 'Destroy' }),
    async (bench) => {
      const [first = 0] = await orphanedAtOnce(bench, 4);
      bench.sendDestroy(first);
    },
  ],
  [
    'two of four machines that lost their objects at once are swept after a person has confirmed (H5)',
    /^I4 contract \d+ was swept as orphan 2 in ten minutes$/,
    new Bench({ strict: false, orphanPolicy: 'Destroy' }),
    async (bench) => {
      const [first = 0, second = 0] = await orphanedAtOnce(bench, 4);
      bench.users.account.confirmOrphans();
      bench.sendDestroy(first);
      await bench.poll(60);
      bench.sendDestroy(second);
    },
  ],
  [
    'an account that was deleted never goes',
    /^ESR the account default is still being deleted$/,
    new Bench(),
    (bench) => {
      guardAccount(bench);
      bench.users.delete('a');
      bench.users.account.delete();
      bench.invariants.checkConverged();
    },
  ],
  [
    'the kept key of an account that is gone stays',
    /^I12 the key in gpuacct-1 outlives its account$/,
    new Bench(),
    (bench) => {
      bench.users.delete('a');
      bench.users.account.delete();
      const { kube } = bench.world;
      const address = { kind: kube.kind('secrets'), namespace: SYSTEM_NAMESPACE, name: 'gpuacct-1' };
      kube.writes.create(address, { metadata: { name: 'gpuacct-1' } });
      bench.invariants.checkConverged();
    },
  ],
  [
    'a group has fewer workers than the load needs that comes through the gateway',
    /^ESR group needs 3 workers and has 1$/,
    new Bench({ hasGateway: true }),
    (bench) => {
      bench.group(1);
      bench.users.groups.setLoad('group', 300);
      bench.invariants.checkConverged();
    },
  ],
  [
    'a group that is told by hand how many it needs has fewer',
    /^ESR group needs 2 workers and has 0$/,
    new Bench(),
    (bench) => {
      bench.group(0);
      bench.users.groups.set('group', { replicas: 2 });
      bench.invariants.checkConverged();
    },
  ],
  [
    'a machine is destroyed although its host asks for no more than before',
    /^I4 contract \d+ was destroyed while a wanted it and it ran$/,
    new Bench(),
    async (bench) => {
      bench.users.setPolicies('a', { onPriceAbove: 'Replace' });
      await destroyedAtWork(bench, 1);
    },
  ],
  [
    'a machine is given up while the list fails',
    /^I4 .* was given up while the breaker had to be open$/,
    new Bench(),
    async (bench) => {
      const { id } = await atWork(bench);
      for (let tries = 0; tries < 3; tries += 1) await bench.poll(2, { fate: FAILED });
      await bench.pass(10);
      bench.sendDestroy(id);
    },
  ],
  [
    'a machine is given up while its object is paused',
    /^I4 .* was given up while a was paused$/,
    new Bench(),
    async (bench) => {
      const { id } = await atWork(bench);
      bench.users.setPaused('a', true);
      await bench.pass(1);
      bench.sendDestroy(id);
    },
  ],
  [
    'an account has more machines than it may',
    /^I9 the account has 2 machines, and may have 1$/,
    new Bench(),
    async (bench) => {
      bench.users.account.set({ limits: { maxInstances: 1 } });
      await bench.pass(1);
      await bench.pass(30);
      await bench.rent(1);
      await bench.pass(10);
      await bench.rent(2);
    },
  ],
  [
    'an account rents for more than it may',
    /^I9 the account rents for .*, and may for \$0.1\/h$/,
    new Bench(),
    async (bench) => {
      bench.users.account.set({ limits: { maxSpendPerHour: '0.10' } });
      await bench.pass(1);
      await bench.pass(30);
      await bench.rent(1);
    },
  ],
  [
    'an account rents for more than it may by two calls, of which the later comes first',
    /^I9 the account rents for .*, and may for \$0.4\/h$/,
    new Bench(),
    async (bench) => {
      bench.users.account.set({ limits: { maxSpendPerHour: '0.40' } });
      await bench.pass(1);
      await bench.pass(30);
      await overtaken(bench);
    },
  ],
  [
    'an account rents more often than the operator allows',
    /^I9 the account rented 2 times within an hour, and may 1 times$/,
    new Bench({ strict: false, flags: { maxRentalsPerHour: '1' } }),
    async (bench) => {
      await bench.rent(1);
      await bench.pass(10);
      await bench.rent(2);
    },
  ],
  [
    'an account rents although too little credit is left',
    /^I9 the account rented although less credit is left than has to remain$/,
    new Bench(),
    async (bench) => {
      bench.users.account.set({ limits: { minCredit: '100000.00' } });
      await bench.pass(1);
      await bench.pass(100);
      await bench.rent(1);
    },
  ],
  [
    'a machine costs more than its object may pay',
    /^I9 contract \d+ costs \$0.3\d+\/h, and a may pay \$0.2\/h$/,
    new Bench(),
    async (bench) => {
      bench.users.setCeiling('a', '0.20');
      await bench.rent(1);
    },
  ],
  [
    'a machine is destroyed that was kept on purpose when its object went',
    /^I4 contract \d+ was destroyed, and had been kept on purpose$/,
    new Bench(),
    async (bench) => {
      const contract = await bench.rent(1);
      const label = bench.label(1).replace('gpurental1:', 'gpurental1-retained:');
      bench.world.market.store.put('contracts', { ...contract, label });
      bench.users.delete('a');
      bench.sendDestroy(contract.id);
    },
  ],
  [
    'a machine is destroyed that the policy of its leaving object keeps',
    /^I4 contract \d+ was destroyed, and a says that it stays$/,
    new Bench(),
    async (bench) => {
      const { id } = await atWork(bench);
      bench.users.setDeletionPolicy('a', 'Stop');
      leaving(bench);
      await bench.pass(1);
      bench.sendDestroy(id);
    },
  ],
  [
    'a machine appears after its object was let go',
    /^I7 contract \d+ appeared after the finalizer of its object was removed$/,
    new Bench(),
    async (bench) => {
      const label = bench.label(1);
      bench.users.delete('a');
      await bench.rent(1, { intent: false, label });
    },
  ],
  [
    'a group is woken and no worker comes',
    /^Group group was woken, and no worker came$/,
    new Bench(),
    async (bench) => {
      bench.group(0);
      setGroupStatus(bench, { wokenAt: '2026-01-05T12:00:00Z' });
      await bench.pass(130);
    },
  ],
  [
    'a worker is stopped that was never ready',
    /^Group worker worker-0 was stopped before it was ever ready$/,
    new Bench(),
    (bench) => {
      bench.group(1);
      bench.users.setPowerState('worker-0', 'Stopped');
    },
  ],
  [
    'a worker is told to go while a Service leads to it',
    /^Group worker worker-0 was told to go while the Service led to it$/,
    new Bench(),
    async (bench) => {
      await led(bench);
      bench.edit({ annotations: { 'gpurental.dev/desired-role': 'Cold' } }, 'worker-0');
    },
  ],
  [
    'the only worker that serves is told to go',
    /^Group worker worker-0 was told to go while no other served$/,
    new Bench(),
    async (bench) => {
      const leave = await led(bench);
      leave();
      bench.edit({ annotations: { 'gpurental.dev/desired-role': 'Cold' } }, 'worker-0');
    },
  ],
  [
    'a worker is deleted while it serves',
    /^Group worker worker-0 was deleted while it served$/,
    new Bench(),
    async (bench) => {
      await serving(bench);
      await bench.pass(60);
      bench.sendToCluster('DELETE', `${INSTANCES}/worker-0`);
    },
  ],
  [
    'a process creates a worker by a decision that the API server refused to record',
    /^Group operator-0 created a worker of default\/group by a decision that it could not record$/,
    new Bench(),
    (bench) => {
      bench.group(1);
      losesRace(bench);
      createsWorker(bench);
    },
  ],
  [
    'a process deletes a worker by a decision that the API server refused to record',
    /^Group operator-0 deleted a worker of default\/group by a decision that it could not record$/,
    new Bench(),
    (bench) => {
      bench.group(1);
      losesRace(bench);
      bench.sendToCluster('DELETE', `${INSTANCES}/worker-0`);
    },
  ],
  [
    'a worker is given up right after a restart',
    /^Group worker worker-0 was given up right after a restart$/,
    new Bench(),
    async (bench) => {
      await serving(bench);
      processBegins(bench);
      bench.sendToCluster('DELETE', `${INSTANCES}/worker-0`);
    },
  ],
];

describe('the oracle says so when', () => {
  test.for(SPOILT)('%s', async ([, expected, bench, spoil]) => {
    await spoil(bench);
    bench.invariants.check();
    const texts = bench.invariants.violations.map(({ invariant, text }) => `${invariant} ${text}`);
    expect(texts).toContainEqual(expect.stringMatching(expected));
  });
});
