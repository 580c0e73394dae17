import { abandon, repriceMachine } from './acts.ts';
import type { Story } from './story.ts';

const GROUP = 'group';
const HOUR_MS = 3_600_000;
const BEFORE_MARCH = Date.UTC(2026, 1, 28, 23, 50);
const IN_MARCH = 640;

/** Sums that limits go by: what starts and leaves counts, and what is gone counts for its month. */
export const SUM_STORIES: readonly Story[] = [
  {
    name: 'a stopped machine is to start, and with it the account would pass maxSpendPerHour',
    seconds: 500,
    mayLeave: true,
    plot: (stage) => {
      stage.at(120, () => stage.users.setPowerState('a', 'Stopped'));
      stage.at(160, () => stage.users.createInstance('b'));
      stage.at(200, () => stage.users.account.set({ limits: { maxSpendPerHour: '0.50' } }));
      stage.at(280, () => stage.users.setPowerState('a', 'Running'));
    },
  },
  {
    name: 'a deleted object and a present one have together spent what the account may spend in a month',
    seconds: 700,
    mayLeave: true,
    plot: (stage) => {
      stage.users.createInstance('b');
      stage.at(260, () => stage.users.delete('a'));
      // Each has spent less than that, and both together more.
      stage.at(400, () => stage.users.account.set({ limits: { maxSpendPerMonth: '0.04' } }));
      stage.at(450, () => stage.users.createInstance('c'));
    },
  },
  {
    name: 'a deleted object spent last month what the account may spend in a month, and another is wanted in this one',
    startsAt: BEFORE_MARCH,
    seconds: 900,
    plot: (stage) => {
      stage.at(400, () => stage.users.delete('a'));
      stage.at(560, () => stage.users.account.set({ limits: { maxSpendPerMonth: '0.02' } }));
      stage.at(IN_MARCH, () => stage.users.createInstance('b'));
    },
  },
  {
    name: 'a machine has run since last month, and another is wanted while the account may spend little in this one',
    startsAt: BEFORE_MARCH,
    seconds: 760,
    plot: (stage) => {
      stage.at(560, () => stage.users.account.set({ limits: { maxSpendPerMonth: '0.04' } }));
      stage.at(IN_MARCH, () => stage.users.createInstance('b'));
    },
  },
  {
    name: 'a machine that runs since last month has spent in this one what the account may, and another is wanted',
    startsAt: BEFORE_MARCH,
    seconds: 1200,
    mayLeave: true,
    plot: (stage) => {
      stage.at(560, () => stage.users.account.set({ limits: { maxSpendPerMonth: '0.02' } }));
      stage.at(1000, () => stage.users.createInstance('b'));
    },
  },
  {
    name: 'a machine that lost its object bills, and with another the account would pass maxSpendPerHour',
    seconds: 500,
    sweeps: true,
    mayLeave: true,
    fleet: 4,
    plot: (stage) => {
      stage.users.account.set({ limits: { maxSpendPerHour: '2.00' } });
      stage.at(120, () => {
        for (const name of ['a', 'm-2', 'm-3', 'm-4']) abandon(stage, name);
      });
      stage.at(300, () => {
        for (const name of ['b', 'c', 'd']) stage.users.createInstance(name);
      });
    },
  },
  {
    name: 'the answer to a rent call is lost, and another object is wanted where the account may pay for one machine',
    seconds: 400,
    mayLeave: true,
    plot: (stage) => {
      stage.users.account.set({ limits: { maxSpendPerHour: '0.45' } });
      stage.strike({
        call: 'rent',
        fate: { loseResponse: true },
        meanwhile: () => {
          stage.cast({ call: 'list', seconds: 12, fate: { requestMs: 10_000 } });
          stage.after(2, () => stage.users.createInstance('b'));
        },
      });
    },
  },
  {
    name: 'a stopped machine costs more than its offer said, and with its start the account would pass maxSpendPerHour',
    seconds: 400,
    mayLeave: true,
    plot: (stage) => {
      stage.at(120, () => stage.users.setPowerState('a', 'Stopped'));
      stage.at(160, () => repriceMachine(stage, 'a', 600_000));
      stage.at(180, () => stage.users.account.set({ limits: { maxSpendPerHour: '0.50' } }));
      stage.at(300, () => stage.users.setPowerState('a', 'Running'));
    },
  },
  {
    name: 'the answer to a start is lost, and another object is wanted where the account may pay for one machine',
    seconds: 400,
    mayLeave: true,
    plot: (stage) => {
      stage.at(120, () => stage.users.setPowerState('a', 'Stopped'));
      stage.at(200, () => stage.users.account.set({ limits: { maxSpendPerHour: '0.45' } }));
      stage.at(280, () => {
        stage.strike({
          call: 'label',
          fate: { loseResponse: true },
          meanwhile: () => {
            stage.cast({ call: 'list', seconds: 12, fate: { requestMs: 10_000 } });
            stage.after(2, () => stage.users.createInstance('b'));
          },
        });
        stage.users.setPowerState('a', 'Running');
      });
    },
  },
  {
    name: 'a replica that waits for the lease has a clock an hour ahead',
    seconds: 240,
    plot: (stage) => {
      const { machine } = stage.world.startProcess();
      machine.wallSkewMs += HOUR_MS;
      stage.invariants.clockJumped();
    },
  },
  {
    name: 'the leader has a clock an hour behind while a replica waits for the lease',
    seconds: 240,
    plot: (stage) => {
      const { machine } = stage.world.startProcess();
      machine.wallSkewMs -= HOUR_MS;
      stage.invariants.clockJumped();
    },
  },
  {
    name: 'the workers of a group that may have three are replaced one by one, and those that leave take their time',
    seconds: 1500,
    group: { load: 0, spec: { replicas: 3, maxWorkers: 3, maxSpendPerHour: '9' } },
    plot: (stage) => {
      stage.at(150, () =>
        stage.cast({ call: 'destroy', seconds: 200, fate: { refusal: { status: 503, body: '' } } }),
      );
      stage.at(155, () => {
        const [first = ''] = stage.users.names();
        stage.users.delete(first);
      });
      stage.at(400, () => stage.users.groups.setImage(GROUP, 'example/work:2'));
    },
  },
];
