import { type JsonObject, listAt, type objectAt } from '../memory-kube/json.ts';
import { MACHINE } from '../specs.ts';
import { statusAt } from '../status-at.ts';
import { NAMESPACE } from '../world.ts';
import { accountNow } from './acts.ts';
import { HIGHEST_PRICED_OFFER } from './market.ts';
import type { Stage } from './stage.ts';
import type { Story } from './story.ts';

const READ_ONLY = ['user_read', 'instance_read'];
const TENANT = 'tenant';

/** Creates an object of the tenant, for example one that takes over a machine. */
function createByTenant(
  stage: Stage,
  name: string,
  account: string,
  spec: Parameters<typeof objectAt>[0],
): void {
  const { kube } = stage.world;
  const address = { kind: kube.kind('gpuinstances'), namespace: TENANT, name };
  const accountRef = { name: account, namespace: NAMESPACE };
  kube.writes.create(address, {
    apiVersion: 'gpurental.dev/v1alpha1',
    kind: 'GpuInstance',
    metadata: { name },
    spec: { ...MACHINE, accountRef, ...spec },
  });
  stage.world.note(`a tenant creates ${name}`);
}

/** Checks that fifty refused objects and one machine cause few reconciles in 300 s: not one after every list. */
function expectFewPasses(stage: Stage, most: number): void {
  let before = 0;
  stage.at(100, () => void stage.passes().then((passes) => (before = passes)));
  stage.at(400, () => void stage.passes().then((passes) => judge(passes - before)));
  const judge = (passes: number): void => {
    stage.world.note(`${passes} passes were made`);
    if (passes > most)
      stage.invariants.report('M7', `50 refused objects and one machine cost ${passes} passes in 300 s`);
  };
}

/** Checks that an image that failed on two hosts is itself blamed: only its own group avoids further hosts. */
function expectFewHostsAvoided(stage: Stage): void {
  const avoided = listAt(statusAt(accountNow(stage)), 'avoid');
  if (avoided.length !== 2)
    stage.invariants.report('H9', `every object avoids ${avoided.length} hosts that one image failed on`);
}

/** Creates fifty objects of a tenant that request the machine in the console, and deletes them at the end. */
function refuseFifty(stage: Stage, account: JsonObject, most: number): void {
  stage.users.createNamespace(TENANT);
  stage.users.account.set({ allowedNamespaces: { from: 'All' }, ...account });
  const names = Array.from({ length: 50 }, (_, index) => `refused-${index}`);
  stage.at(60, () => {
    const adopt = { instanceId: String(stage.manualId()), policy: 'Manage' };
    for (const name of names) createByTenant(stage, name, 'default', { adopt });
  });
  expectFewPasses(stage, most);
  stage.at(420, () => {
    for (const name of names) stage.users.delete(`${name}.${TENANT}`);
  });
}

/** Rents a colleague's machine by hand, without a label. */
const rentByHand = (stage: Stage) => void stage.users.console.rent(HIGHEST_PRICED_OFFER, undefined);

/** Stories of accounts of one login and namespaces of one account that must not affect each other. */
export const TENANT_STORIES: readonly Story[] = [
  {
    name: 'a tenant with a read-only key of the login wants to take over the machine of a colleague, and deletes its object (H3)',
    seconds: 300,
    plot: (stage) => {
      rentByHand(stage);
      stage.users.createNamespace(TENANT);
      stage.users.second.create('Report', stage.world.addKey(READ_ONLY));
      stage.users.second.set({ adoption: 'Unlabelled', allowedNamespaces: { from: 'All' } });
      stage.at(60, () =>
        createByTenant(stage, 'thief', 'second', {
          adopt: { instanceId: String(stage.manualId()), policy: 'Manage' },
        }),
      );
      stage.at(150, () => stage.users.delete(`thief.${TENANT}`));
    },
  },
  {
    name: 'an account with a full key lets machines be taken over, and another one of its login does not (H3)',
    seconds: 300,
    plot: (stage) => {
      rentByHand(stage);
      stage.users.createNamespace(TENANT);
      stage.users.second.create('Report', stage.world.addKey());
      stage.users.second.set({ adoption: 'Unlabelled', allowedNamespaces: { from: 'All' } });
      stage.at(60, () =>
        createByTenant(stage, 'thief', 'second', {
          adopt: { instanceId: String(stage.manualId()), policy: 'Manage' },
        }),
      );
      stage.at(150, () => stage.users.delete(`thief.${TENANT}`));
    },
  },
  {
    name: 'two accounts of one login have a key each, and an object of each is deleted (H3)',
    seconds: 250,
    plot: (stage) => {
      stage.users.second.create('Report', stage.world.addKey());
      stage.users.createInstance('b', { isOfSecond: true });
      stage.at(120, () => stage.users.delete('a'));
      stage.at(125, () => stage.users.delete('b'));
    },
  },
  {
    name: 'orphans of two accounts of one login, the first of which has a key that reads only, are swept (H3)',
    sweeps: true,
    seconds: 400,
    plot: (stage) => {
      const narrow = stage.world.addKey(READ_ONLY);
      stage.users.second.create('Destroy', stage.world.addKey());
      stage.users.createInstance('b', { isOfSecond: true });
      stage.at(100, () => {
        stage.users.account.spoilKey({ 'api-key': narrow });
        stage.invariants.markHandled('b');
        stage.users.removeFinalizers('b');
        stage.users.delete('b');
      });
      stage.at(250, () => stage.users.account.bringKeyBack());
    },
  },
  {
    name: 'an account whose key may not list machines is there before the first start (H7)',
    seconds: 100,
    mayLeave: false,
    plot: (stage) => {
      const other = stage.world.addLogin();
      stage.users.second.create('Report', stage.world.addKey(['user_read'], other));
    },
  },
  {
    name: 'a machine of the login carries the label of another installation before the first start (H7)',
    seconds: 100,
    plot: (stage) => {
      void stage.users.console.rent(
        HIGHEST_PRICED_OFFER,
        'gpurental1:99999999:11111111-2222-4333-8444-555555555555:1:1767614400000:00',
      );
    },
  },
  {
    name: 'three objects of a tenant give each machine a second, and an object of another namespace is made after them (H9)',
    seconds: 900,
    plot: (stage) => {
      stage.users.createNamespace(TENANT);
      stage.users.account.set({ allowedNamespaces: { from: 'All' } });
      const hasty = {
        timeouts: { provisioning: '1s', loading: '1s', start: '1s' },
        replacement: { maxPerHour: 100 },
      };
      const names = ['hasty-1', 'hasty-2', 'hasty-3'];
      stage.at(20, () => {
        for (const name of names) createByTenant(stage, name, 'default', hasty);
      });
      stage.at(500, () => {
        for (const name of names) stage.users.delete(`${name}.${TENANT}`);
      });
      stage.at(600, () => stage.users.createInstance('victim'));
    },
  },
  {
    name: 'no cold worker of a group starts again, and its hosts are not avoided by every object of the account (H9)',
    seconds: 1_000,
    group: {
      load: 500,
      spec: { maxWorkers: 5, maxSpendPerHour: '9.00', coldWorkers: 5, spreadBy: 'Host' },
    },
    plot: (stage) => {
      stage.at(140, () => stage.users.groups.setLoad('group', 0));
      stage.at(800, () => {
        stage.cause({ name: 'cannot-start' });
        stage.users.groups.setLoad('group', 500);
      });
      stage.at(990, () => expectFewHostsAvoided(stage));
    },
  },
  {
    name: 'a namespace may not use an account any more, and wants its stopped machine to run (M3)',
    seconds: 400,
    mayLeave: true,
    plot: (stage) => {
      stage.users.account.set({ allowedNamespaces: { from: 'All' } });
      stage.users.createNamespace(TENANT);
      stage.users.createInstance(`far.${TENANT}`);
      stage.at(90, () => stage.users.setPowerState(`far.${TENANT}`, 'Stopped'));
      stage.at(180, () => stage.users.account.set({ allowedNamespaces: { from: 'Same' } }));
      stage.at(250, () => stage.users.setPowerState(`far.${TENANT}`, 'Running'));
    },
  },
  {
    name: 'a stranger names an account whose Secret lacks its key (M6)',
    seconds: 150,
    mayLeave: true,
    plot: (stage) => {
      stage.users.createNamespace(TENANT);
      stage.at(40, () => stage.users.account.spoilKey({ 'root-password': 'hunter2-hunter2' }));
      stage.at(120, () => createByTenant(stage, 'stranger', 'default', {}));
    },
  },
  {
    name: 'fifty objects of a stranger want to take over one machine, and their account refuses (M7)',
    seconds: 500,
    plot: (stage) => {
      rentByHand(stage);
      // Every five minutes, or when its account changes.
      refuseFifty(stage, {}, 200);
    },
  },
  {
    name: 'fifty objects of a stranger want to take over one machine that carries a label, and their account consents (M7)',
    seconds: 500,
    plot: (stage) => {
      void stage.users.console.rent(HIGHEST_PRICED_OFFER, 'mine');
      // Every minute, or when the machine changes.
      refuseFifty(stage, { adoption: 'Unlabelled' }, 500);
    },
  },
];
