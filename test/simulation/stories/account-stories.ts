import { objectAt } from '../memory-kube/json.ts';
import { NAMESPACE } from '../world.ts';
import { abandon, createElsewhere, restoreFromBackup } from './acts.ts';
import type { Story } from './story.ts';

/** Stories of an account's spending limits, and of changed or replaced objects. */
export const ACCOUNT_STORIES: readonly Story[] = [
  {
    name: 'an account that may rent once an hour is asked again when the object that rented is gone, and events of accounts come late (I9)',
    seconds: 300,
    flags: { maxRentalsPerHour: 1 },
    mayLeave: true,
    plot: (stage) => {
      stage.at(60, () => {
        for (const { machine } of stage.world.processes) stage.lag(machine.name, 180, 'marketplaceaccounts');
        stage.users.delete('a');
      });
      stage.at(82, () => stage.users.createInstance('b'));
    },
  },
  {
    name: 'two objects are wanted where the account may have one machine',
    seconds: 200,
    mayLeave: true,
    plot: (stage) => {
      stage.users.account.set({ limits: { maxInstances: 1 } });
      stage.users.createInstance('b');
    },
  },
  {
    name: 'two objects are wanted where the account may pay for one',
    seconds: 200,
    mayLeave: true,
    plot: (stage) => {
      stage.users.account.set({ limits: { maxSpendPerHour: '0.45' } });
      stage.users.createInstance('b');
    },
  },
  {
    name: 'two objects may take offers without a price, none has one, and the account may pay for one machine (S4)',
    seconds: 200,
    mayLeave: true,
    plot: (stage) => {
      const offers = [{ gpuNames: ['RTX 4090'], maxPricePerHour: '0.45', allowUnknownPrice: true }];
      stage.cause({ name: 'price-missing' });
      stage.users.account.set({ limits: { maxSpendPerHour: '0.50' } });
      stage.users.setPolicies('a', { offers });
      stage.users.createInstance('b', { offers });
    },
  },
  {
    name: 'four machines that lost their objects wait for a person, and the account may have five',
    fleet: 4,
    sweeps: true,
    seconds: 400,
    mayLeave: true,
    plot: (stage) => {
      stage.users.account.set({ limits: { maxInstances: 5 } });
      stage.at(120, () => {
        for (const name of ['a', 'm-2', 'm-3', 'm-4']) abandon(stage, name);
      });
      stage.at(250, () => {
        for (const name of ['b', 'c', 'd']) stage.users.createInstance(name);
      });
    },
  },
  {
    name: 'three machines lose their objects and are swept, and minutes later a fourth loses its object (H5)',
    fleet: 6,
    sweeps: true,
    seconds: 600,
    mayLeave: true,
    plot: (stage) => {
      stage.at(120, () => {
        for (const name of ['a', 'm-2', 'm-3']) abandon(stage, name);
      });
      stage.at(300, () => {
        abandon(stage, 'm-4');
        stage.forbid({
          call: 'destroy',
          seconds: 290,
          why: 'four machines lost their objects within an hour',
        });
      });
    },
  },
  {
    name: 'two accounts of one login are proved in one moment',
    seconds: 100,
    plot: (stage) => {
      stage.users.second.create('Report');
      stage.users.createInstance('b', { isOfSecond: true });
    },
  },
  {
    name: 'somebody of a namespace that may not use the account writes an intent, and two objects are wanted where it may have two machines',
    seconds: 300,
    plot: (stage) => {
      stage.users.account.set({ limits: { maxInstances: 2 } });
      stage.at(60, () => {
        createElsewhere(stage, 'other', JSON.stringify({ attempt: 1, issuedAt: stage.world.now }));
      });
      stage.at(100, () => stage.users.createInstance('b'));
    },
  },
  {
    name: 'an account goes while an object has no machine any more, and the object is deleted after it',
    seconds: 400,
    plot: (stage) => {
      stage.users.setPolicies('a', { maxLifetime: '1m' });
      stage.at(200, () => stage.users.account.delete());
      stage.at(240, () => stage.users.delete('a'));
    },
  },
  {
    name: 'an operator that sweeps is installed anew for one of two namespaces in which machines are rented, and later for both',
    sweeps: true,
    seconds: 700,
    plot: (stage) => {
      stage.users.account.set({ allowedNamespaces: { from: 'All' } });
      stage.users.createNamespace('other');
      stage.users.createInstance('far.other');
      stage.at(150, () => stage.watchOnly(NAMESPACE));
      stage.at(450, () => stage.watchOnly());
    },
  },
  {
    name: 'an object is made anew from a backup and wants no machine, and another does where the account may have one',
    seconds: 400,
    plot: (stage) => {
      stage.users.account.set({ limits: { maxInstances: 1 } });
      const backup = stage.backupAt(90, 'a');
      stage.at(100, () => stage.users.delete('a'));
      stage.at(200, () => {
        restoreFromBackup(stage, 'a', {
          ...backup(),
          spec: { ...objectAt(backup(), 'spec'), powerState: 'Stopped' },
        });
        stage.users.createInstance('b');
      });
    },
  },
  {
    name: 'an account is deleted while an object buys, whose watch lags, and the object is deleted later',
    seconds: 400,
    plot: (stage) => {
      stage.strike({
        call: 'intent',
        meanwhile: ({ name }) => {
          stage.lag(name, 6, 'gpuinstances');
          stage.after(0.3, () => stage.users.account.delete());
        },
      });
      stage.at(120, () => stage.users.delete('a'));
    },
  },
  {
    name: 'a stopped machine is started where the account may pay for one that runs, and another object waits, whose watch lags',
    seconds: 300,
    mayLeave: true,
    plot: (stage) => {
      stage.users.account.set({ limits: { maxSpendPerHour: '0.45' } });
      stage.at(100, () => stage.users.createInstance('b'));
      stage.at(195, () => void stage.users.console.stop(stage.machineOf('a')));
      stage.at(199.9, () => stage.lag(stage.world.processes[0]?.machine.name ?? '', 11, 'gpuinstances'));
      stage.at(200.5, () => stage.cast({ call: 'list', seconds: 14, fate: { requestMs: 13_000 } }));
      // Whatever changes at the account makes those look who wait for it.
      for (const second of [203, 212])
        stage.at(second, () => stage.users.account.set({ pollInterval: `${second}s` }));
    },
  },
  {
    name: 'three objects choose the same offer in one moment, and nothing spaces calls',
    seconds: 200,
    flags: { pacing: 'off' },
    plot: (stage) => {
      stage.at(40, () => {
        for (const name of ['b', 'c', 'd']) stage.users.createInstance(name);
      });
    },
  },
  {
    name: 'three objects are judged in one moment where the account may have one machine more, and nothing spaces calls',
    seconds: 100,
    mayLeave: true,
    flags: { pacing: 'off' },
    plot: (stage) => {
      stage.users.account.set({ limits: { maxInstances: 1 } });
      // The service refuses two rentals at once: one is long on its way.
      stage.strike({ call: 'rent', nth: 2, fate: { requestMs: 6_000 } });
      stage.at(40, () => {
        stage.users.account.set({ limits: { maxInstances: 2 } });
        for (const name of ['b', 'c', 'd']) stage.users.createInstance(name);
      });
    },
  },
  {
    name: 'three objects are wanted where an account may rent twice within an hour',
    seconds: 200,
    mayLeave: true,
    flags: { maxRentalsPerHour: 2 },
    plot: (stage) => {
      for (const name of ['b', 'c']) stage.users.createInstance(name);
    },
  },
  {
    name: 'an object is wanted long after the credit fell below what has to remain',
    seconds: 400,
    mayLeave: true,
    plot: (stage) => {
      stage.at(100, () => stage.users.account.set({ limits: { minCredit: '100000.00' } }));
      stage.at(250, () => stage.users.createInstance('b'));
    },
  },
  {
    name: 'an object may pay less than any offer asks for, and its account more',
    seconds: 100,
    mayLeave: true,
    plot: (stage) => {
      stage.users.account.set({ limits: { maxPricePerHour: '0.90' } });
      stage.users.setCeiling('a', '0.20');
    },
  },
  {
    name: 'an object is wanted where five minutes lie between two looks at the marketplace, and its time to boot is shorter',
    seconds: 500,
    plot: (stage) => stage.users.account.set({ pollInterval: '5m' }),
  },
  {
    name: 'a paused object loses its machine',
    seconds: 300,
    plot: (stage) => {
      stage.at(90, () => stage.users.setPaused('a', true));
      stage.at(100, () => stage.befall({ name: 'exited', instance: stage.machineOf('a') }));
      stage.at(200, () => stage.users.setPaused('a', false));
    },
  },
  {
    name: 'an image that cannot run exits each time, and the object may rent twice within an hour',
    seconds: 900,
    mayLeave: true,
    plot: (stage) => {
      stage.users.setBrake('a', 2);
      stage.cause({ name: 'crash-image' });
    },
  },
  {
    name: 'a sweeper takes over whose watches lag behind an object that has just bought',
    sweeps: true,
    seconds: 400,
    plot: (stage) => {
      stage.world.startProcess();
      stage.at(5, () => stage.lagFollowers(200));
      stage.at(10, () => stage.users.createInstance('b'));
      stage.at(72, () => stage.freezeLeader(120));
    },
  },
  {
    name: 'a sweeper takes over that has never heard of an object, and has of a younger one',
    sweeps: true,
    seconds: 400,
    plot: (stage) => {
      stage.world.startProcess();
      stage.at(60, () => stage.blindFollowers(50));
      stage.at(61, () => stage.users.createInstance('b'));
      stage.at(115, () => stage.users.createInstance('c'));
      stage.at(150, () => stage.freezeLeader(120));
    },
  },
  {
    name: 'a process starts beside a machine that it does not know, and the first list is late',
    seconds: 400,
    plot: (stage) => {
      stage.strike({
        call: 'rent',
        fate: { loseResponse: true },
        meanwhile: () => stage.after(0.003, () => stage.killAll()),
      });
      stage.at(0.5, () => stage.cast({ call: 'list', seconds: 30, fate: { loseRequest: true } }));
    },
  },
];
