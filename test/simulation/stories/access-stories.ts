import type { JsonObject } from '../memory-kube/json.ts';
import { MACHINE } from '../specs.ts';
import { raisePrices } from './acts.ts';
import type { Story } from './story.ts';

const GROUP = 'group';
/** Group spec that leaves the price of workers to the account. */
const WITHOUT_PRICE: JsonObject = {
  template: { spec: { ...MACHINE, offers: [{ gpuNames: ['RTX 4090'] }], replacement: { maxPerHour: 30 } } },
};

/** Stories of what an object's author could reach by naming it, and must not. */
export const ACCESS_STORIES: readonly Story[] = [
  {
    name: 'an object names the API key of its account in env, and its user corrects that (M2)',
    seconds: 200,
    plot: (stage) => {
      stage.users.takeEnvFrom('a', 'marketplace-key', 'api-key');
      stage.at(60, () => stage.users.takeEnv('a'));
    },
  },
  {
    name: 'a group whose template leaves the price to the account finds dearer machines only than its ceiling leaves (M1)',
    seconds: 300,
    mayLeave: true,
    group: { load: 100, spec: { ...WITHOUT_PRICE, maxSpendPerHour: '2.00' } },
    plot: (stage) => {
      stage.users.account.set({ limits: { maxPricePerHour: '5.00' } });
      stage.at(60, () => {
        raisePrices(stage, 1_700_000);
        stage.users.groups.setLoad(GROUP, 300);
      });
    },
  },
  {
    name: 'a group whose template leaves the price to the account may pay more when its workers have found nothing (M1)',
    seconds: 700,
    group: { load: 100, spec: { ...WITHOUT_PRICE, maxSpendPerHour: '2.00' } },
    plot: (stage) => {
      stage.users.account.set({ limits: { maxPricePerHour: '5.00' } });
      stage.at(60, () => {
        raisePrices(stage, 1_700_000);
        stage.users.groups.setLoad(GROUP, 300);
      });
      stage.at(200, () => stage.users.groups.set(GROUP, { maxSpendPerHour: '9.00' }));
    },
  },
  {
    name: 'the ceiling of a group is lowered while two of its workers wait for an offer, and prices fall (M1)',
    seconds: 400,
    group: { load: 100, spec: { maxSpendPerHour: '4.00' } },
    plot: (stage) => {
      stage.at(60, () => {
        raisePrices(stage, 1_700_000);
        stage.users.groups.setLoad(GROUP, 300);
      });
      stage.at(120, () => stage.users.groups.set(GROUP, { maxSpendPerHour: '1.00' }));
      stage.at(140, () => {
        raisePrices(stage, 300_000);
        stage.forbid({ call: 'rent', seconds: 250, why: 'the ceiling leaves no room for another worker' });
      });
    },
  },
  {
    name: 'a group whose template leaves the price to the account rents as many as its ceiling leaves room for (M1)',
    seconds: 300,
    group: { load: 300, spec: { ...WITHOUT_PRICE, maxSpendPerHour: '1.50' } },
    plot: (stage) => {
      stage.users.account.set({ limits: { maxPricePerHour: '5.00' } });
      stage.at(60, () => stage.users.groups.setLoad(GROUP, 300));
    },
  },
  {
    name: 'a worker of a group is to go while it streams to its clients for minutes (L1)',
    seconds: 900,
    mayLeave: true,
    hasReports: true,
    group: {
      load: 0,
      spec: {
        replicas: 2,
        load: { type: 'HTTPPull', httpPull: { preset: 'Pyworker' } },
        template: { spec: { ...MACHINE, ports: [{ containerPort: 8000 }] } },
      },
    },
    plot: (stage) => {
      const work = (requests: number) => () => {
        if (stage.world.reports) stage.world.reports.inFlight = requests;
      };
      stage.at(90, work(2));
      stage.at(100, () => stage.users.groups.set(GROUP, { replicas: 1 }));
      stage.at(700, work(0));
    },
  },
  {
    name: 'a worker of a group gets requests in the moment in which it is to go (L1)',
    seconds: 900,
    mayLeave: true,
    hasReports: true,
    group: {
      load: 0,
      spec: {
        replicas: 2,
        load: { type: 'HTTPPull', httpPull: { preset: 'Pyworker' } },
        template: { spec: { ...MACHINE, ports: [{ containerPort: 8000 }] } },
      },
    },
    plot: (stage) => {
      const work = (requests: number) => () => {
        if (stage.world.reports) stage.world.reports.inFlight = requests;
      };
      stage.at(150, () => stage.users.groups.set(GROUP, { replicas: 1 }));
      // The worker leaves the Service at 450 s; its report before that says idle.
      stage.at(450.003, () => {
        work(2)();
        const ban = { seconds: 165, why: 'the worker works on requests' };
        stage.forbid({ call: 'label', ...ban });
        stage.forbid({ call: 'destroy', ...ban });
      });
      stage.at(620, work(0));
    },
  },
  {
    name: 'the load of a group is asked of a Prometheus that answers about one namespace only (M5)',
    seconds: 200,
    hasGateway: true,
    group: { load: 200 },
    plot: () => {},
  },
];
