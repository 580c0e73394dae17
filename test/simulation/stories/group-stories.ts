import type { Machine } from '../machine.ts';
import { type JsonObject, objectAt } from '../memory-kube/json.ts';
import { MACHINE } from '../specs.ts';
import { statusAt } from '../status-at.ts';
import { MACHINE_OF_HIGHEST_PRICE } from './market.ts';
import type { Stage } from './stage.ts';
import type { Story } from './story.ts';

const GROUP = 'group';

const TEMPLATE = {
  ...MACHINE,
  disk: '20G',
  env: [
    { name: 'A', value: '1' },
    { name: 'B', value: '2' },
  ],
  offers: [{ gpuNames: ['RTX 4090'], maxPricePerHour: '0.90' }],
  replacement: { maxPerHour: 30 },
};

/** All workers of an old template may be out of service together. */
const AT_ONCE = { type: 'RollingUpdate', maxUnavailable: 2 };

/** Kills the process after it has recorded the group's next action, and before it acts. */
const dieBeforeActing = (stage: Stage) => () => stage.after(0.003, () => stage.killAll());

/** Groups: how many workers, which ones, and what becomes of their work. */
export const GROUP_STORIES: readonly Story[] = [
  {
    name: 'a group of three is deleted',
    seconds: 400,
    group: { load: 300 },
    plot: (stage) => stage.at(100, () => stage.users.groups.delete(GROUP)),
  },
  {
    name: 'a group is deleted while copies begin anew, without its worker',
    seconds: 900,
    group: { load: 100 },
    plot: (stage) =>
      stage.at(100, () => {
        stage.world.forgetHistory();
        stage.loseFirstObject('gpuinstances', 5);
        stage.users.groups.delete(GROUP);
      }),
  },
  {
    name: 'a group wants three workers and may pay for one at a time',
    seconds: 300,
    group: { load: 300, spec: { maxSpendPerHour: '0.91' } },
    plot: () => {},
  },
  {
    name: 'the stopped workers of a group are to wake, and it may pay for one machine at a time',
    seconds: 1_100,
    mayLeave: true,
    group: { load: 300, spec: { coldWorkers: 3 } },
    plot: (stage) => {
      stage.at(150, () => stage.users.groups.setLoad(GROUP, 0));
      stage.at(800, () => {
        stage.users.groups.set(GROUP, { maxSpendPerHour: '0.50' });
        stage.allow({ call: 'label', seconds: 290, max: 1, invariant: 'I9' });
        stage.users.groups.setLoad(GROUP, 300);
      });
    },
  },
  {
    name: 'the template of a group changes while the container of one of its three workers is down: no other goes until then',
    seconds: 1_500,
    group: { load: 0, spec: { replicas: 3, maxWorkers: 4, maxSpendPerHour: '9' } },
    plot: (stage) => {
      stage.at(300, () => {
        const [first = ''] = stage.users.names();
        stage.befall({ name: 'exited', instance: stage.machineOf(first), seconds: 600 });
      });
      stage.at(325, () => {
        stage.allow({ call: 'destroy', seconds: 40, max: 1, invariant: 'I4' });
        stage.users.groups.setImage(GROUP, 'example/work:2');
      });
    },
  },
  {
    name: 'a worker is created three seconds after the connection of that call broke',
    seconds: 300,
    group: { load: 100, spec: { maxWorkers: 1 } },
    plot: (stage) => stage.strike({ call: 'makeWorker', fate: { lateMs: 3_000 } }),
  },
  {
    name: 'a user lets a group have fewer workers while its decision is being written',
    seconds: 400,
    group: { load: 100 },
    plot: (stage) => {
      const meanwhile = () => stage.after(0.01, () => stage.users.groups.setMaxWorkers(GROUP, 1));
      stage.at(60, () => {
        stage.strike({ call: 'groupStatus', fate: { requestMs: 50 }, meanwhile });
        stage.users.groups.setLoad(GROUP, 300);
      });
    },
  },
  {
    name: 'a user lowers maxWorkers of a group while its decision is written, and the watch shows the edit ten seconds later',
    seconds: 400,
    group: { load: 100 },
    plot: (stage) => {
      const meanwhile = ({ name }: Machine) => {
        stage.lag(name, 10, 'endpointgroups');
        stage.users.groups.setMaxWorkers(GROUP, 1);
      };
      stage.at(60, () => {
        stage.strike({ call: 'groupStatus', meanwhile });
        stage.users.groups.setLoad(GROUP, 300);
      });
    },
  },
  {
    name: 'the load of a group falls',
    seconds: 900,
    group: { load: 300 },
    plot: (stage) => stage.at(120, () => stage.users.groups.setLoad(GROUP, 100)),
  },
  {
    name: 'the load of a group falls, and its pool has room for workers that served longer than notReadyTimeout',
    seconds: 1_000,
    mayLeave: true,
    group: { load: 300, spec: { coldMultiplier: '3', notReadyTimeout: '1m' } },
    plot: (stage) =>
      stage.at(200, () => {
        stage.forbid({ call: 'destroy', seconds: 790, why: 'a worker that is being stopped is not broken' });
        stage.users.groups.setLoad(GROUP, 100);
      }),
  },
  {
    name: 'the load of a group falls to whose workers a Service leads',
    seconds: 520,
    mayLeave: true,
    group: { load: 300, spec: { template: { spec: { ...MACHINE, ports: [{ containerPort: 8000 }] } } } },
    plot: (stage) => stage.at(120, () => stage.users.groups.setLoad(GROUP, 100)),
  },
  {
    name: 'the load of a group falls, and the process restarts when its workers were about to go',
    seconds: 900,
    group: { load: 300 },
    plot: (stage) => {
      stage.at(120, () => stage.users.groups.setLoad(GROUP, 100));
      stage.at(400, () => stage.killAll());
    },
  },
  {
    name: 'a group with two workers may have one from now on, and its load asks for both',
    seconds: 500,
    group: { load: 150 },
    plot: (stage) => stage.at(100, () => stage.users.groups.setMaxWorkers(GROUP, 1)),
  },
  {
    name: 'the host of a worker that is stopped goes away for good, its group is paused until its template changes, and a ceiling lets no other come',
    seconds: 1_200,
    group: { load: 200, spec: { maxSpendPerHour: '1.50', coldWorkers: 1, maxWorkers: 3 } },
    plot: (stage) => {
      stage.at(120, () => stage.users.groups.setLoad(GROUP, 100));
      const isStopped = (object: JsonObject) => objectAt(object, 'spec')['powerState'] === 'Stopped';
      let isAway = false;
      for (let second = 121; second < 900; second += 1)
        stage.at(second, () => {
          const { kube } = stage.world;
          const stopped = kube.store.all(kube.kind('gpuinstances')).find(isStopped);
          if (!stopped || isAway) return;
          isAway = true;
          const instance = Number(statusAt(stopped)['instanceId']);
          stage.befall({ name: 'offline', instance, seconds: 100_000 });
          stage.users.groups.set(GROUP, { pause: { scaleUp: true } });
          stage.users.groups.setLoad(GROUP, 300);
          stage.after(100, () => {
            stage.users.groups.setImage(GROUP, 'example/work:2');
            stage.users.groups.set(GROUP, { pause: { scaleUp: false } });
          });
        });
    },
  },
  {
    name: 'a group boots workers for its pool of cold ones',
    seconds: 500,
    mayLeave: true,
    group: { load: 100, spec: { coldWorkers: 2, coldMultiplier: '2' } },
    plot: () => {},
  },
  {
    name: 'the template of a group asks for a disk that no host has, and then for another image: until then its workers stay (P1)',
    seconds: 900,
    group: { load: 200, spec: { template: { spec: TEMPLATE } } },
    plot: (stage) => {
      const edit = (spec: JsonObject) =>
        stage.users.groups.set(GROUP, { template: { spec: { ...TEMPLATE, ...spec } } });
      stage.at(120, () => {
        stage.forbid({ call: 'destroy', seconds: 280, why: 'no machine can be rented by the new template' });
        edit({ disk: '90T' });
      });
      stage.at(400, () => edit({ image: 'example/work:2' }));
    },
  },
  {
    name: 'one search reply says that offers cost a hundredth when the template of a group gets another image and a maximum that no offer keeps: its workers stay',
    seconds: 700,
    group: { load: 200, spec: { template: { spec: TEMPLATE } } },
    plot: (stage) => {
      const [offer] = TEMPLATE.offers;
      const edit = (spec: JsonObject) =>
        stage.users.groups.set(GROUP, {
          template: { spec: { ...TEMPLATE, image: 'example/work:2', ...spec } },
        });
      stage.at(120, () => {
        stage.forbid({ call: 'destroy', seconds: 280, why: 'no machine can be rented by the new template' });
        stage.wrong({ endpoint: 'search', field: 'dph_total', change: 'times', value: 0.01 });
        edit({ offers: [{ ...offer, maxPricePerHour: '0.01', allowUnknownPrice: true }] });
      });
      stage.at(400, () => edit({}));
    },
  },
  {
    name: 'a group gets a template that one host alone can serve: one worker goes, and the other stays (P1)',
    seconds: 900,
    mayLeave: true,
    group: {
      load: 200,
      spec: { template: { spec: TEMPLATE }, updateStrategy: AT_ONCE, maxSpendPerHour: '5.00' },
    },
    plot: (stage) => {
      const [offer] = TEMPLATE.offers;
      stage.world.has('hosts');
      const alone = [{ field: 'machine_id', operator: 'Eq', value: MACHINE_OF_HIGHEST_PRICE }];
      const edit = (spec: JsonObject) =>
        stage.users.groups.set(GROUP, {
          template: { spec: { ...TEMPLATE, image: 'example/work:2', ...spec } },
        });
      stage.at(120, () => {
        stage.allow({ call: 'destroy', seconds: 280, max: 1, invariant: 'I4' });
        edit({ offers: [{ ...offer, filters: alone }] });
      });
      stage.at(400, () => edit({}));
    },
  },
  {
    name: 'the template of a group is written in other words, and with a further alternative (M4)',
    seconds: 500,
    group: { load: 200, spec: { template: { spec: TEMPLATE } } },
    plot: (stage) => {
      const [offer] = TEMPLATE.offers;
      const edit = (spec: JsonObject) =>
        stage.users.groups.set(GROUP, { template: { spec: { ...TEMPLATE, ...spec } } });
      stage.at(120, () => {
        stage.forbid({ call: 'destroy', seconds: 360, why: 'every machine still fits the template' });
        edit({ env: TEMPLATE.env.toReversed(), disk: '20000M' });
      });
      stage.at(200, () =>
        edit({
          offers: [
            { gpuNames: ['H100 SXM'], maxPricePerHour: '0.90' },
            { ...offer, maxPricePerHour: '0.95' },
          ],
        }),
      );
    },
  },
  {
    name: 'a group without workers is woken, and the process dies before it makes one',
    seconds: 900,
    group: { load: 0, spec: { inactivityTimeout: '60s', scaleToZero: 'Allow' } },
    plot: (stage) => {
      stage.at(490, () => stage.users.groups.setInactivityTimeout(GROUP, '2s'));
      stage.at(500, () => {
        stage.strike({ call: 'groupStatus', meanwhile: dieBeforeActing(stage) });
        stage.users.groups.wake(GROUP);
      });
    },
  },
];
