import { describe, expect, test } from 'vitest';
import { Machine } from '../machine.ts';
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
  GROUP,
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
  REFUSED,
  searchesInVain,
  serving,
  setGroupStatus,
  silence,
  silentFor,
  takesOver,
} from './situations.ts';

async function polls(bench: Bench, count: number): Promise<void> {
  for (let poll = 0; poll < count; poll += 1) await bench.poll(10);
}

/** Ends the machine of an object in the ledger. */
function ends(bench: Bench, id: number): void {
  bench.world.market.store.remove('contracts', id);
  bench.invariants.check();
}

/** Each just short of what one watch minds. */
const SOUND: readonly (readonly [string, Bench, (bench: Bench) => Promise<void> | void])[] = [
  [
    'the machine of the newest purchase is on no record while only a process that lost the lease reads lists',
    new Bench(),
    async (bench) => {
      await bench.rent(1);
      bench.invariants.logged(bench.machine, 'Lost the lease', { holder: bench.machine.name });
      await polls(bench, 4);
    },
  ],
  [
    'a machine is destroyed that the newest list shows offline, whatever it does by now (H1)',
    new Bench(),
    (bench) => destroyedAfterRecovery(bench, { shows: 'offline' }),
  ],
  [
    'a machine is destroyed in the moment in which a list shows it running again (H1)',
    new Bench(),
    (bench) => destroyedAfterRecovery(bench, { shows: 'running', afterSeconds: 0.5 }),
  ],
  [
    'no machine is rented for an object that is paused, was refused, or wants what nobody offers (F1)',
    new Bench(),
    async (bench) => {
      accountRents(bench);
      bench.users.createInstance('b', { offers: [{ gpuNames: ['H100'], maxPricePerHour: '9.00' }] });
      bench.users.createInstance('c', { offers: [{ gpuNames: ['RTX 4090'], maxPricePerHour: '0.20' }] });
      bench.users.setPaused('a', true);
      await pollsOn(bench, 60);
    },
  ],
  [
    'an object waits that wants what nobody offers, and a search tells so long after everything has settled (I11)',
    new Bench(),
    async (bench) => {
      bench.users.delete('a');
      bench.users.createInstance('c', { offers: [{ gpuNames: ['H100'], maxPricePerHour: '0.01' }] });
      searchesInVain(bench, 'c', 'No offer matches.');
      bench.invariants.checkConverged();
      const settled = bench.world.now + 1;
      await bench.pass(100);
      searchesInVain(bench, 'c', 'No offer matches at that price.');
      expect(bench.invariants.isUnsettledAfter(settled)).toBe(false);
    },
  ],
  [
    'a slot is used every half minute while objects wait, and none after a process was held up (F1)',
    new Bench(),
    async (bench) => {
      accountRents(bench);
      const { apiKey } = bench.world.market;
      await pollsOn(bench, 20);
      bench.sendRent(1, 'a', { apiKey });
      await pollsOn(bench, 20);
      bench.invariants.hindered();
      await pollsOn(bench, 60);
    },
  ],
  [
    'a machine is given up whose host has been silent for longer than the object bears',
    new Bench(),
    async (bench) => {
      const contract = await atWork(bench);
      silence(bench, contract);
      await bench.pass(70);
      bench.sendDestroy(contract.id);
    },
  ],
  [
    'a person lowers maxWorkers below the workers that there are',
    new Bench(),
    async (bench) => {
      bench.group(3);
      bench.users.groups.setMaxWorkers('group', 1);
      await bench.pass(10);
    },
  ],
  [
    'a machine is given up two good lists after the list failed',
    new Bench(),
    async (bench) => {
      const { id } = await atWork(bench);
      bench.users.setImage('a', 'example/work:2');
      for (let tries = 0; tries < 3; tries += 1) await bench.poll(2, { fate: FAILED });
      await polls(bench, 2);
      bench.sendDestroy(id);
    },
  ],
  [
    'the machine of a leaving object is destroyed whose policy is to destroy it',
    new Bench(),
    async (bench) => {
      const { id } = await atWork(bench);
      leaving(bench);
      bench.sendDestroy(id);
    },
  ],
  [
    'a machine is destroyed beside the one that the policy of its leaving object keeps',
    new Bench({ strict: false }),
    async (bench) => {
      const { id } = await atWork(bench);
      await atWork(bench, 'a', 2);
      bench.users.setDeletionPolicy('a', 'Retain');
      leaving(bench);
      bench.sendDestroy(id);
    },
  ],
  [
    'a machine without a label that people rented by hand goes with the object that took it over, as its account allows',
    new Bench(),
    async (bench) => {
      const machine = await takesOver(bench);
      ends(bench, machine);
    },
  ],
  [
    'a machine is replaced whose object would keep it when it goes',
    new Bench(),
    async (bench) => {
      const { id } = await atWork(bench);
      bench.users.setDeletionPolicy('a', 'Retain');
      bench.users.setImage('a', 'example/work:2');
      bench.sendDestroy(id);
    },
  ],
  [
    'an object is let go beside the machine that it keeps and that is marked so',
    new Bench(),
    async (bench) => {
      const contract = await atWork(bench);
      bench.users.setDeletionPolicy('a', 'Retain');
      const label = bench.label(1).replace('gpurental1:', 'gpurental1-retained:');
      bench.world.market.store.put('contracts', { ...contract, label });
      bench.users.delete('a');
      bench.invariants.checkConverged();
    },
  ],
  [
    'a machine goes with the object that has taken it over, and was kept when the one before went',
    new Bench(),
    async (bench) => {
      const contract = await atWork(bench);
      bench.users.setDeletionPolicy('a', 'Retain');
      const label = contract.label?.replace('gpurental1:', 'gpurental1-retained:') ?? '';
      bench.world.market.store.put('contracts', { ...contract, label });
      bench.users.delete('a');
      bench.users.createAdopting('b', contract.id);
      bench.setStatus({ instanceId: String(contract.id) }, 'b');
      bench.edit({ finalizers: ['gpurental.dev/machine'] }, 'b');
      bench.users.delete('b');
      bench.invariants.check();
      bench.sendDestroy(contract.id);
    },
  ],
  [
    'a machine that was marked as kept is destroyed with its object, whose owner wants that now',
    new Bench(),
    async (bench) => {
      const contract = await bench.rent(1);
      const label = bench.label(1).replace('gpurental1:', 'gpurental1-retained:');
      bench.world.market.store.put('contracts', { ...contract, label });
      leaving(bench);
      bench.sendDestroy(contract.id);
    },
  ],
  [
    'an offer that was refused to one object is asked for by another a second later',
    new Bench({ flags: { pacing: 'off' } }),
    async (bench) => {
      bench.users.createInstance('b');
      bench.sendRent(1);
      await bench.pass(1);
      bench.sendRent(1, 'b');
    },
  ],
  [
    'each attempt is sent once, and a recorded one stays or rises',
    new Bench(),
    (bench) => {
      bench.sendRent(1);
      bench.setStatus({ attempt: 1 });
      bench.setStatus({ attempt: 1 });
      bench.setStatus({ attempt: 2 });
    },
  ],
  [
    'an object rents as often as its brake allows, and once more an hour later',
    new Bench(),
    async (bench) => {
      bench.users.setBrake('a', 2);
      for (const [attempt, seconds] of [10, 10, 3600].entries()) {
        await bench.pass(seconds);
        ends(bench, (await bench.rent(attempt + 1)).id);
      }
    },
  ],
  [
    'calls of a kind are as far apart as the service asks for, and others come in between',
    new Bench(),
    async (bench) => {
      bench.send('DELETE', '/api/v0/instances/0/');
      bench.send('GET', '/api/v0/instances/5/');
      await bench.pass(3);
      bench.send('DELETE', '/api/v0/instances/5/');
    },
  ],
  [
    'an intent was written before its object was paused',
    new Bench(),
    (bench) => {
      bench.edit({ annotations: { [INTENT]: '{"attempt":1}' } });
      bench.users.setPaused('a', true);
    },
  ],
  [
    'an object records one machine after the other',
    new Bench(),
    (bench) => {
      bench.setStatus({ instanceId: '7' });
      bench.setStatus({ instanceId: '8' });
      bench.setStatus({ instanceId: '9' });
    },
  ],
  [
    'an object records the machine that another has let go of, which a third only watches',
    new Bench(),
    (bench) => {
      bench.users.createInstance('b');
      bench.users.createAdopting('c', 7, 'Observe');
      bench.setStatus({ instanceId: '7' });
      bench.setStatus({ instanceId: '7' }, 'c');
      bench.setStatus({ instanceId: '8' });
      bench.setStatus({ instanceId: '7' }, 'b');
    },
  ],
  [
    'an object made anew buys once the machine of its former self is gone',
    new Bench(),
    async (bench) => {
      ends(bench, (await bench.rent(1)).id);
      bench.users.createInstance('b');
      bench.edit({ annotations: { [INTENT]: JSON.stringify({ uid: bench.uid, attempt: 1 }) } }, 'b');
      bench.edit({ annotations: { [INTENT]: JSON.stringify({ uid: bench.uidOf('b'), attempt: 1 }) } }, 'b');
    },
  ],
  ['a purchase ends before the lease of its process', new Bench(), (bench) => intends(bench, 12)],
  [
    'a purchase is recorded after two lists',
    new Bench(),
    async (bench) => {
      const { id } = await bench.rent(1);
      await polls(bench, 2);
      bench.setStatus({ instanceId: String(id), attempt: 1 });
      await polls(bench, 3);
    },
  ],
  [
    'a status gives up a machine that is gone after two lists',
    new Bench(),
    async (bench) => {
      bench.setStatus({ phase: 'Running', instanceId: '4711' });
      await polls(bench, 2);
      bench.setStatus({ phase: 'Replacing' });
      await polls(bench, 3);
    },
  ],
  [
    'an orphan is swept that is old enough and that two lists have shown',
    new Bench({ strict: false, orphanPolicy: 'Destroy' }),
    async (bench) => {
      const { id } = await abandoned(bench);
      await bench.pass(60);
      await polls(bench, 2);
      bench.sendDestroy(id);
      ends(bench, id);
      await polls(bench, 5);
    },
  ],
  [
    'a machine that a restored cluster has forgotten is swept once a person has looked',
    new Bench({ strict: false, orphanPolicy: 'Destroy' }),
    async (bench) => {
      const id = await forgotten(bench);
      bench.users.account.confirmRollback();
      bench.sendDestroy(id);
    },
  ],
  [
    'an orphan outlives three lists, and as many again after a call failed',
    new Bench({ strict: false, orphanPolicy: 'Destroy' }),
    async (bench) => {
      await abandoned(bench);
      await bench.pass(60);
      await polls(bench, 3);
      await bench.poll(10, { fate: FAILED });
      await polls(bench, 3);
    },
  ],
  [
    'an account has as many machines as it may, at the price that it may',
    new Bench(),
    async (bench) => {
      bench.users.account.set({ limits: { maxInstances: 1, maxSpendPerHour: '1.00' } });
      await bench.rent(1);
    },
  ],
  [
    'a machine is destroyed whose host asks for more, as its object says',
    new Bench(),
    async (bench) => {
      bench.users.setPolicies('a', { onPriceAbove: 'Replace' });
      await destroyedAtWork(bench, 1.25);
    },
  ],
  [
    'a rent call is carried out again after its machine has ended and its object is gone',
    new Bench(),
    async (bench) => {
      const label = bench.label(1);
      bench.sendRent(1);
      const { id } = await bench.rent(1, { label });
      bench.world.market.store.remove('contracts', id);
      bench.users.delete('a');
      await bench.pass(20);
      await bench.rent(2, { intent: false, label });
    },
  ],
  [
    'a machine is destroyed whose object allows a lower price by now, as its object says',
    new Bench(),
    async (bench) => {
      bench.users.setPolicies('a', { onPriceAbove: 'Replace' });
      const { id } = await atWork(bench);
      bench.users.setCeiling('a', '0.20');
      await bench.pass(70);
      bench.sendDestroy(id);
      bench.world.market.store.remove('contracts', id);
      bench.invariants.check();
    },
  ],
  [
    'a machine is destroyed whose object was edited after its rental was sent, and before it began',
    new Bench(),
    async (bench) => {
      bench.sendRent(1);
      bench.users.setImage('a', 'example/work:2');
      const { id } = await atWork(bench);
      bench.sendDestroy(id);
      bench.world.market.store.remove('contracts', id);
    },
  ],
  [
    'four machines turn bad together where an account bears ten',
    new Bench(),
    async (bench) => {
      bench.users.account.set({ maxUnhealthy: 10 });
      await givesUpOneOfFour(bench, 90);
    },
  ],
  [
    'one of two machines is given up while its host is silent and the other one runs',
    new Bench(),
    async (bench) => {
      const [first = 0] = await silentFor(bench, { machines: 2, silent: 1, seconds: 120 });
      bench.sendDestroy(first);
    },
  ],
  [
    'the machine whose host is silent is given up although a person wrote its id into the status of another object',
    new Bench(),
    async (bench) => {
      const [first = 0] = await silentFor(bench, { machines: 6, silent: 1, seconds: 30 });
      bench.invariants.byPerson(() => bench.users.editStatus('m-5', first));
      for (let passed = 0; passed < 120; passed += 10) await bench.poll(10);
      bench.sendDestroy(first);
    },
  ],
  [
    'all machines are silent, and one of them is given up every eleven minutes after the hold',
    new Bench(),
    async (bench) => {
      bench.users.account.set({ maxUnhealthyHold: '5m' });
      const [first = 0, second = 0] = await silentFor(bench, { machines: 4, silent: 4, seconds: 400 });
      bench.sendDestroy(first);
      await polls(bench, 66);
      bench.sendDestroy(second);
    },
  ],
  [
    'a machine is given up after two lists in which few enough are bad',
    new Bench(),
    async (bench) => {
      const [first = 0] = await silentFor(bench, { machines: 2, silent: 2, seconds: 120 });
      for (const status of ['running', 'running', 'offline']) {
        bench.readList(status);
        await bench.pass(2);
      }
      bench.sendDestroy(first);
    },
  ],
  [
    'all machines of an account whose breaker is off are given up',
    new Bench(),
    async (bench) => {
      bench.users.account.set({ maxUnhealthy: '100%' });
      for (const id of await silentFor(bench, { machines: 4, silent: 4, seconds: 120 })) {
        bench.sendDestroy(id);
        await bench.pass(4);
      }
    },
  ],
  [
    'three machines lost their objects at once, and all are swept',
    new Bench({ strict: false, orphanPolicy: 'Destroy' }),
    async (bench) => {
      for (const id of await orphanedAtOnce(bench, 3)) {
        bench.sendDestroy(id);
        ends(bench, id);
        await bench.pass(4);
      }
    },
  ],
  [
    'an account has a machine more that nobody has taken over',
    new Bench(),
    async (bench) => {
      bench.users.account.set({ limits: { maxInstances: 1 } });
      await bench.pass(1);
      await bench.pass(31);
      await bench.users.console.rentToHandOver(8_000_020);
      bench.invariants.check();
      await bench.pass(10);
      await bench.rent(1);
    },
  ],
  [
    'an object that only watches a machine sees none',
    new Bench(),
    (bench) => {
      bench.users.delete('a');
      bench.users.createAdopting('watching', 7, 'Observe');
      bench.invariants.checkConverged();
    },
  ],
  [
    'an account rents by limits that were lowered while nobody could know it',
    new Bench(),
    async (bench) => {
      bench.users.account.set({ limits: { maxInstances: 0, maxSpendPerHour: '0.01' } });
      await bench.pass(1);
      await bench.pass(20);
      await bench.rent(1);
    },
  ],
  [
    'a call that left before a limit was lifted comes after one that left since',
    new Bench(),
    async (bench) => {
      bench.users.account.set({ limits: { maxSpendPerHour: '0.40' } });
      await bench.pass(1);
      await bench.pass(30);
      await overtaken(bench, () => bench.users.account.set({ limits: {} }));
    },
  ],
  [
    'an account rents while the service has stopped its other machine, which costs its disk alone',
    new Bench(),
    async (bench) => {
      bench.users.account.set({ limits: { maxSpendPerHour: '0.40' } });
      await bench.pass(1);
      await bench.pass(30);
      const contract = await bench.rent(1);
      bench.world.market.store.put('contracts', { ...contract, blockedBy: 'outbid' });
      bench.users.createInstance('b');
      await bench.pass(5);
      await bench.rent(2, { name: 'b' });
    },
  ],
  [
    'a process asks for an offer for another object, once it was refused to the first',
    new Bench({ flags: { pacing: 'off' } }),
    (bench) => {
      bench.users.createInstance('b');
      bench.sendRent(1, 'a', { fate: REFUSED });
      bench.sendRent(1, 'b');
    },
  ],
  [
    'an account that is being deleted waits for a machine that somebody took over since',
    new Bench(),
    async (bench) => {
      await atWork(bench);
      guardAccount(bench);
      bench.users.account.delete();
      bench.invariants.checkConverged();
    },
  ],
  [
    'an object has spent what it may on a machine that it took over, and that never got its label',
    new Bench(),
    async (bench) => {
      bench.users.delete('a');
      const machine = await bench.users.console.rentToHandOver(8_000_020);
      if (machine === undefined) throw new Error('the marketplace refused the rental');
      bench.users.createAdopting('taken', machine);
      bench.users.setPolicies('taken', { maxTotalCost: '0.01' });
      bench.setStatus({ instanceId: String(machine), attempt: 1 }, 'taken');
      await bench.pass(300);
      ends(bench, machine);
      bench.setStatus({ instanceId: undefined }, 'taken');
      await bench.pass(300);
      bench.invariants.checkConverged();
    },
  ],
  [
    'an object has spent what it may on a machine that had ended before it took that over, and that lists showed on',
    new Bench(),
    (bench) => {
      bench.users.delete('a');
      bench.users.createAdopting('taken', 7);
      bench.users.setPolicies('taken', { maxTotalCost: '0.01' });
      const endedAt = '2026-01-05T12:00:00Z';
      const past = {
        instanceId: '7',
        attempt: 1,
        reason: 'Vanished',
        endedAt,
        rentedMinutes: 2,
        cost: '0.017213',
      };
      bench.setStatus({ attempt: 1, history: [past] }, 'taken');
      bench.invariants.checkConverged();
    },
  ],
  [
    'an object that a person laid hands on has taken over a machine that gets the mark of its former object late',
    new Bench(),
    async (bench) => {
      const contract = await atWork(bench);
      const label = bench.label(1).replace('gpurental1', 'gpurental1-retained');
      bench.users.setPolicies('a', { deletionPolicy: 'Retain' });
      bench.world.market.store.put('contracts', { ...contract, label, actualStatus: 'running' });
      bench.users.delete('a');
      bench.users.createAdopting('taken', contract.id);
      bench.setStatus({ instanceId: String(contract.id), attempt: 1, phase: 'Running' }, 'taken');
      bench.invariants.markHandled('taken');
      bench.invariants.checkConverged();
    },
  ],
  [
    'a person wrote the machine of one object, and has renamed it, into another that is to be stopped',
    new Bench(),
    async (bench) => {
      bench.sendRent(1);
      const contract = await atWork(bench);
      const renamed = { ...contract, label: 'renamed', actualStatus: 'running' } as const;
      bench.world.market.store.put('contracts', renamed);
      bench.users.createInstance('b');
      bench.users.setPowerState('b', 'Stopped');
      bench.invariants.markHandled('b');
      bench.invariants.byPerson(() => bench.users.editStatus('b', contract.id));
      bench.invariants.checkConverged();
    },
  ],
  [
    'an object with a limit of its own has none left by a record that a person wrote',
    new Bench(),
    (bench) => {
      bench.users.setPolicies('a', { maxTotalCost: '0.01' });
      bench.setStatus({ instanceId: '1', phase: 'Failed' });
      bench.invariants.markHandled('a');
      bench.invariants.checkConverged();
    },
  ],
  [
    'the end of a machine that is gone is recorded again after its object was paused',
    new Bench(),
    async (bench) => {
      const contract = await atWork(bench);
      bench.world.market.store.put('contracts', { ...contract, actualStatus: 'exited' });
      bench.invariants.check();
      givesUp(bench, 'Exited');
      ends(bench, contract.id);
      givesUp(bench, 'NotRunning', 'a', 'NotRunning');
      bench.users.setPaused('a', true);
      givesUp(bench, 'Exited');
    },
  ],
  [
    'an account rents once its credit need not remain any more',
    new Bench(),
    async (bench) => {
      bench.users.account.set({ limits: { minCredit: '100000.00' } });
      await bench.pass(1);
      await bench.pass(100);
      bench.users.account.set({ limits: {} });
      await bench.pass(1);
      await bench.rent(1);
    },
  ],
  [
    'an account rents as often as it may, and once more an hour later',
    new Bench({ strict: false, flags: { maxRentalsPerHour: '1' } }),
    async (bench) => {
      await bench.rent(1);
      await bench.pass(3601);
      await bench.rent(2);
    },
  ],
  [
    'an account rents in the minute in which its credit becomes too little',
    new Bench(),
    async (bench) => {
      bench.users.account.set({ limits: { minCredit: '1.00' } });
      await bench.pass(100);
      bench.users.account.set({ limits: { minCredit: '100000.00' } });
      await bench.pass(60);
      await bench.rent(1);
    },
  ],
  [
    'the key stands in its own Secret, and its name elsewhere',
    new Bench(),
    (bench) => {
      bench.edit({ annotations: { hint: 'marketplace-key' } });
      bench.invariants.logged(bench.machine, 'Call failed', { error: new Error('Bearer [redacted]') });
    },
  ],
  [
    'a machine is given up for a limit although it is paused, for a new spec although it may not be replaced, and is held from then on',
    new Bench(),
    (bench) => {
      bench.users.setPaused('a', true);
      givesUp(bench, 'LimitReached');
      bench.users.createInstance('b');
      bench.users.setPolicies('b', { replacement: { policy: 'Never' } });
      givesUp(bench, 'SpecChanged', 'b');
      bench.users.hold('b');
      givesUp(bench, 'SpecChanged', 'b');
    },
  ],
  [
    'a machine that was given up is listed again, although none may be replaced any more',
    new Bench(),
    (bench) => {
      bench.users.setPolicies('a', { replacement: { policy: 'Never' } });
      givesUp(bench, 'OldMachineNotGone', 'a', 'OldMachineNotGone');
    },
  ],
  [
    'another machine is rented after one that vanished, or that was lost, or that was given up on purpose',
    new Bench(),
    (bench) => {
      buysAfter(bench, 'Vanished');
      bench.users.createInstance('b');
      bench.users.setPolicies('b', { onVanish: 'Hold' });
      buysAfter(bench, 'Exited', 'b');
      bench.users.createInstance('c');
      bench.users.setPolicies('c', { replacement: { policy: 'Never' } });
      buysAfter(bench, 'SpecChanged', 'c');
    },
  ],
  [
    'a worker is stopped that had been ready',
    new Bench(),
    async (bench) => {
      await serving(bench);
      bench.users.setPowerState('worker-0', 'Stopped');
    },
  ],
  [
    'a worker is told to go that has left its Service',
    new Bench(),
    async (bench) => {
      processBegins(bench);
      const leave = await led(bench);
      bench.users.groups.setLoad('group', 0);
      await bench.pass(60);
      leave();
      bench.edit({ annotations: { 'gpurental.dev/desired-role': 'Cold' } }, 'worker-0');
    },
  ],
  [
    'a worker is deleted that was told to finish its work, long after the start of a process',
    new Bench(),
    async (bench) => {
      processBegins(bench);
      await serving(bench);
      await bench.pass(60);
      bench.edit({ annotations: { 'gpurental.dev/drain-since': '1' } }, 'worker-0');
      bench.sendToCluster('DELETE', `${INSTANCES}/worker-0`);
    },
  ],
  [
    'a process creates a worker after its decision was recorded, or after it read the group again on a conflict',
    new Bench(),
    (bench) => {
      bench.group(1);
      bench.sendToCluster(
        'PUT',
        `${GROUP}/status`,
        JSON.stringify(bench.objectOf('group', 'endpointgroups')),
      );
      createsWorker(bench);
      losesRace(bench);
      bench.sendToCluster('GET', GROUP);
      createsWorker(bench);
    },
  ],
  [
    'another process than the one with the conflict creates a worker, or one that never received the conflict',
    new Bench(),
    (bench) => {
      bench.group(1);
      losesRace(bench);
      createsWorker(bench, new Machine('operator-1', bench.world.scheduler));
      losesRace(bench, { loseResponse: true });
      createsWorker(bench);
    },
  ],
  [
    'a process creates a worker of another group right after a conflict, and one of this group long after it',
    new Bench(),
    async (bench) => {
      bench.group(1);
      losesRace(bench);
      const ownerReferences = [{ kind: 'EndpointGroup', name: 'other' }];
      const other = { metadata: { name: 'other-1', ownerReferences } };
      bench.sendToCluster('POST', INSTANCES, JSON.stringify(other));
      await bench.pass(2);
      createsWorker(bench);
    },
  ],
  [
    'a group is woken and a worker is told to come',
    new Bench(),
    async (bench) => {
      bench.group(1);
      setGroupStatus(bench, { wokenAt: '2026-01-05T12:00:00Z' });
      bench.edit({ annotations: { 'gpurental.dev/desired-role': 'Hot' } }, 'worker-0');
      await bench.pass(130);
    },
  ],
  [
    'a group is woken of which a person wants no hot worker',
    new Bench(),
    async (bench) => {
      bench.group(0);
      bench.users.groups.set('group', { replicas: 0 });
      setGroupStatus(bench, { wokenAt: '2026-01-05T12:00:00Z' });
      await bench.pass(130);
    },
  ],
  [
    'a group has as many workers as it may, and goes after them',
    new Bench(),
    (bench) => {
      bench.group(3);
      for (const name of ['worker-0', 'worker-1', 'worker-2']) {
        bench.edit({ finalizers: [] }, name);
        bench.users.delete(name);
      }
      bench.users.groups.delete('group');
    },
  ],
];

describe('the oracle says nothing when', () => {
  test.for(SOUND)('%s', async ([, bench, live]) => {
    await live(bench);
    bench.invariants.check();
    expect(bench.invariants.violations).toEqual([]);
  });
});
