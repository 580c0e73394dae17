import { listAt } from '../memory-kube/json.ts';
import { statusAt } from '../status-at.ts';
import { NAMESPACE } from '../world.ts';
import { abandon, confirmOrphans, endInConsole } from './acts.ts';
import { atMostDestroyed, crashEvery, namesOf, noneDestroyed, objects, strike } from './outage-acts.ts';
import { answered, type Stage } from './stage.ts';
import type { Story } from './story.ts';

/** Second by which every machine of a fleet runs: searches and rentals are spaced. */
const START = 400;

/** Makes all hosts silent for that long. */
function outage(stage: Stage, seconds: number): void {
  stage.befall({ name: 'mass-outage', seconds });
}

/** Repeats the current list for the given seconds. */
async function keepShowing(stage: Stage, seconds: number): Promise<void> {
  stage.cast({ call: 'list', seconds, fate: answered(await replyTo(stage, '?owner=me')) });
}

/** Repeats the current read of this machine for the given seconds. */
async function keepReading(stage: Stage, id: number, seconds: number): Promise<void> {
  stage.cast({ call: 'read', seconds, fate: answered(await replyTo(stage, `${id}/`)) });
}

async function replyTo({ world: { market } }: Stage, path: string): Promise<unknown> {
  const response = await market.handle({
    method: 'GET',
    origin: 'http://simulator',
    path: `/api/v0/instances/${path}`,
    headers: { authorization: `Bearer ${market.apiKey}` },
  });
  let body = '';
  for await (const chunk of response.body) body += new TextDecoder().decode(chunk);
  return JSON.parse(body);
}

/** Reports a violation unless the number of remaining machines is in the range: few ended at once, but some did. */
function leftOf(stage: Stage, all: number, { atLeast, below }: { atLeast: number; below: number }): void {
  const left = Object.keys(stage.world.market.store.current().tables.contracts).length;
  if (left >= atLeast && left < below) return;
  stage.invariants.report('I4', `${left} of ${all} machines are left, and not ${atLeast} to ${below - 1}`);
}

/** Machines that fail together say nothing of their hosts. */
function noneAvoided(stage: Stage): void {
  const { kube } = stage.world;
  const account = kube.writes.read({
    kind: kube.kind('marketplaceaccounts'),
    namespace: NAMESPACE,
    name: 'default',
  });
  const avoided = [...objects(stage), account ?? {}].flatMap((object) => listAt(statusAt(object), 'avoid'));
  if (avoided.length > 0)
    stage.invariants.report('I4', `${avoided.length} hosts and machines are avoided after an outage`);
}

/** Returns the delay of a machine: three per list. */
const stepOf = (index: number) => 10 * Math.floor(index / 3);

const SURVIVED: readonly { readonly fleet: number; readonly seconds: number }[] = [
  { fleet: 1, seconds: 90 },
  { fleet: 1, seconds: 1500 },
  { fleet: 3, seconds: 90 },
  { fleet: 12, seconds: 30 },
  { fleet: 12, seconds: 55 },
  { fleet: 12, seconds: 70 },
  { fleet: 20, seconds: 62 },
  { fleet: 20, seconds: 300 },
  { fleet: 20, seconds: 1500 },
];

/** Ends six machines for good; the first destroy after the hold is carried out although its response is a refusal. */
function refuseFirstDestroy(stage: Stage): void {
  stage.users.account.set({ maxUnhealthyHold: '5m' });
  stage.at(START, () => {
    for (const name of namesOf(6)) strike(stage, name, 'exited', 100_000);
  });
  stage.at(START + 290, () =>
    stage.cause({ name: 'success-false-with-effect', endpoint: 'destroy', count: 1 }),
  );
  noneDestroyed(stage, START, START + 300, 'the maximum hold is not over');
  stage.at(START + 880, () => atMostDestroyed(stage, 1));
}

/** Ends six machines together in the console, with no list in between: the service spaces the console's calls. */
function endSixInConsole(stage: Stage, maxUnhealthyHold: string): void {
  stage.users.account.set({ maxUnhealthyHold });
  stage.at(START, () =>
    stage.cast({ call: 'list', seconds: 25, fate: { refusal: { status: 503, body: '' } } }),
  );
  for (const [index, name] of namesOf(6).entries())
    stage.at(START + 1 + 4 * index, () => endInConsole(stage, stage.machineOf(name)));
}

/** Many machines that fail together, and come back or do not. */
export const OUTAGE_STORIES: readonly Story[] = [
  {
    name: 'twelve objects are removed by force at once, and a sweeper runs (H5)',
    fleet: 12,
    sweeps: true,
    mayLeave: true,
    seconds: START + 400,
    plot: (stage) => {
      stage.at(START, () => {
        for (const name of namesOf(12)) abandon(stage, name);
      });
      noneDestroyed(stage, START, START + 400, 'so many orphans wait for a person');
    },
  },
  {
    name: 'four objects are removed by force at once, and a sweeper that keeps their machines lists all objects once a minute (L2)',
    fleet: 4,
    sweeps: true,
    mayLeave: true,
    seconds: 600,
    plot: (stage) => {
      stage.at(120, () => {
        for (const name of namesOf(4)) abandon(stage, name);
      });
      stage.at(200, () => stage.allow({ call: 'objects', seconds: 390, max: 10, invariant: 'L2' }));
    },
  },
  {
    name: 'a process starts while the hosts of two of three machines are silent, and another account of the login lists them first (C2)',
    fleet: 3,
    seconds: 600,
    plot: (stage) => {
      stage.users.second.create('Report');
      stage.users.createInstance('b', { isOfSecond: true });
      stage.at(150, () => {
        for (const name of ['m-2', 'm-3'])
          stage.befall({ name: 'offline', seconds: 60, instance: stage.machineOf(name) });
        stage.users.setImage('m-2', 'example/work:2');
        stage.cast({ call: 'keySecret', seconds: 30, fate: { requestMs: 3_000 } });
        stage.killAll();
      });
      noneDestroyed(stage, 150, 205, 'the breaker is open');
    },
  },
  {
    name: 'an object is removed by force while the hosts of twelve machines are silent, and a sweeper runs (C2)',
    fleet: 12,
    sweeps: true,
    seconds: START + 500,
    plot: (stage) => {
      stage.at(START, () => outage(stage, 300));
      stage.at(START + 30, () => abandon(stage, 'a'));
      noneDestroyed(stage, START + 30, START + 290, 'the breaker is open');
    },
  },
  {
    name: 'a person confirms twelve machines that lost their objects, and the operator crashes every minute (H5)',
    fleet: 12,
    sweeps: true,
    mayLeave: true,
    seconds: START + 1_300,
    plot: (stage) => {
      stage.at(START, () => {
        for (const name of namesOf(12)) abandon(stage, name);
      });
      stage.at(START + 100, () => confirmOrphans(stage));
      crashEvery(stage, 60, START + 150, START + 1_300);
      stage.at(START + 690, () => leftOf(stage, 12, { atLeast: 11, below: 12 }));
      stage.at(START + 1_290, () => leftOf(stage, 12, { atLeast: 10, below: 11 }));
    },
  },
  {
    name: 'three machines lost their objects, and a person wants orphans reported while their destroys wait (H1)',
    fleet: 3,
    sweeps: true,
    mayLeave: true,
    seconds: START + 300,
    plot: (stage) => {
      stage.at(START, () => {
        for (const name of namesOf(3)) abandon(stage, name);
      });
      stage.strike({
        call: 'destroy',
        meanwhile: () => {
          stage.after(0.1, () => stage.users.account.set({ orphanPolicy: 'Report' }));
          stage.after(1, () =>
            stage.forbid({ call: 'destroy', seconds: 250, why: 'the policy is to report' }),
          );
        },
      });
    },
  },
  {
    name: 'three machines reach a limit, and their objects are removed by force while the destroys wait (H1)',
    fleet: 3,
    mayLeave: true,
    seconds: START + 300,
    plot: (stage) => {
      stage.users.account.set({ orphanPolicy: 'Report' });
      stage.at(START, () => {
        for (const name of namesOf(3)) stage.users.setPolicies(name, { maxLifetime: '1m' });
      });
      stage.strike({
        call: 'destroy',
        meanwhile: () => {
          stage.after(0.1, () => {
            for (const name of namesOf(3)) abandon(stage, name);
          });
          stage.after(1, () => stage.forbid({ call: 'destroy', seconds: 250, why: 'the objects are gone' }));
        },
      });
    },
  },
  {
    name: 'three objects are removed by force, and the sweeper missed the event of a fourth (H1)',
    fleet: 4,
    sweeps: true,
    mayLeave: true,
    seconds: START + 200,
    plot: (stage) => {
      stage.at(START, () => {
        stage.loseFirstObject('gpuinstances', 30);
        stage.killAll();
      });
      stage.at(START + 60, () => {
        for (const name of namesOf(4).slice(1)) abandon(stage, name);
      });
      stage.at(START + 190, () => leftOf(stage, 4, { atLeast: 1, below: 2 }));
    },
  },
  {
    name: 'containers of six machines end for good, and the clock of the operator is an hour ahead (C2)',
    fleet: 6,
    seconds: START + 1_500,
    mayLeave: true,
    plot: (stage) => {
      stage.world.bornAheadMs = 3_600_000;
      stage.users.account.set({ maxUnhealthyHold: '5m' });
      stage.at(START, () => {
        for (const name of namesOf(6)) strike(stage, name, 'exited', 100_000);
      });
      noneDestroyed(stage, START, START + 300, 'the maximum hold is not over');
      stage.at(START + 890, () => atMostDestroyed(stage, 1));
      stage.at(START + 1_490, () => atMostDestroyed(stage, 2));
    },
  },
  ...[60, 120].map(
    (period): Story => ({
      name: `containers of six machines end for good, and the operator crashes every ${period} s after the hold (C2)`,
      fleet: 6,
      seconds: START + 2_000,
      mayLeave: true,
      plot: (stage) => {
        stage.users.account.set({ maxUnhealthyHold: '5m' });
        stage.at(START, () => {
          for (const name of namesOf(6)) strike(stage, name, 'exited', 100_000);
        });
        noneDestroyed(stage, START, START + 300, 'the maximum hold is not over');
        crashEvery(stage, period, START + 30, START + 2_000);
        stage.at(START + 890, () => atMostDestroyed(stage, 1));
        stage.at(START + 1_490, () => atMostDestroyed(stage, 2));
      },
    }),
  ),
  {
    name: 'containers of six machines end for good, and objects forbid another replacement after their first (C2)',
    fleet: 6,
    seconds: START + 890,
    mayLeave: true,
    plot: (stage) => {
      const machines = new Map<string, number>();
      stage.users.account.set({ maxUnhealthyHold: '5m' });
      stage.at(START, () => {
        for (const name of namesOf(6)) {
          machines.set(name, stage.machineOf(name));
          strike(stage, name, 'exited', 100_000);
        }
      });
      noneDestroyed(stage, START, START + 300, 'the maximum hold is not over');
      stage.at(START + 400, () => {
        const replaced = namesOf(6).filter((name) => stage.machineOf(name) !== machines.get(name));
        for (const name of replaced) stage.users.setPolicies(name, { replacement: { policy: 'Never' } });
        stage.killAll();
      });
      stage.at(START + 880, () => atMostDestroyed(stage, 1));
    },
  },
  {
    name: 'six machines are ended in the console within 25 s, and after the hold their objects rent again one by one (C2)',
    fleet: 6,
    seconds: START + 3_000,
    plot: (stage) => {
      endSixInConsole(stage, '5m');
      for (const [index, replaced] of [1, 2, 3, 4].entries())
        stage.at(START + 900 + 600 * index, () => atMostDestroyed(stage, replaced));
    },
  },
  {
    name: 'six machines are ended in the console within 25 s, and the operator crashes every 120 s after a longer hold (C2)',
    fleet: 6,
    seconds: START + 1_810,
    mayLeave: true,
    plot: (stage) => {
      endSixInConsole(stage, '10m');
      crashEvery(stage, 120, START + 700, START + 1_810);
      stage.at(START + 1_200, () => atMostDestroyed(stage, 1));
      stage.at(START + 1_800, () => atMostDestroyed(stage, 2));
    },
  },
  {
    name: 'six machines are ended in the console within 25 s, and a person closes the breaker 11 minutes later (C2)',
    fleet: 6,
    seconds: START + 1_270,
    mayLeave: true,
    plot: (stage) => {
      endSixInConsole(stage, '30m');
      stage.at(START + 660, () => stage.users.account.closeBreaker());
      stage.at(START + 650, () => atMostDestroyed(stage, 0));
      stage.at(START + 1_250, () => atMostDestroyed(stage, 1));
    },
  },
  {
    name: 'containers of six machines end for good, and a destroy after the hold is refused and carried out (C2)',
    fleet: 6,
    seconds: START + 890,
    mayLeave: true,
    plot: refuseFirstDestroy,
  },
  {
    name: 'containers of six machines end for good, a destroy after the hold is refused and carried out, and lists fail (C2)',
    fleet: 6,
    seconds: START + 890,
    mayLeave: true,
    plot: (stage) => {
      refuseFirstDestroy(stage);
      const meanwhile = () => stage.cast({ call: 'list', seconds: 60, fate: { loseRequest: true } });
      stage.strike({ call: 'destroy', meanwhile });
    },
  },
  {
    name: 'the hosts of 20 machines fall silent for 95 s where the breaker is off, and queued destroys are taken back (H1)',
    fleet: 20,
    seconds: START + 400,
    plot: (stage) => {
      stage.users.account.set({ maxUnhealthy: '100%' });
      stage.at(START, () => outage(stage, 95));
      noneDestroyed(stage, START + 107, START + 400, 'the newest list shows all machines running');
    },
  },
  {
    name: 'one of two machines is offline for 55 s, lists are 25 s apart, and single reads are old (H1)',
    fleet: 2,
    seconds: START + 300,
    plot: (stage) => {
      stage.users.account.set({ pollInterval: '25s' });
      stage.at(START, () => stage.befall({ name: 'offline', instance: stage.machineOf('a'), seconds: 55 }));
      stage.at(START + 2, () => void keepReading(stage, stage.machineOf('a'), 90));
      noneDestroyed(stage, START, START + 300, 'no list was begun after its tolerance that shows it offline');
    },
  },
  {
    name: 'the hosts of 12 machines fall silent for 55 s where the breaker is off (H1)',
    fleet: 12,
    seconds: START + 400,
    plot: (stage) => {
      stage.users.account.set({ maxUnhealthy: '100%' });
      stage.at(START, () => outage(stage, 55));
      noneDestroyed(stage, START, START + 400, 'the outage is shorter than the tolerance');
    },
  },
  {
    name: 'the hosts of six machines fall silent for good, and the operator restarts (C2)',
    fleet: 6,
    seconds: START + 2_000,
    mayLeave: true,
    plot: (stage) => {
      stage.users.account.set({ maxUnhealthyHold: '10m' });
      stage.at(START, () => outage(stage, 100_000));
      stage.at(START + 300, () => stage.killAll());
      noneDestroyed(stage, START, START + 600, 'the maximum hold is not over');
      stage.at(START + 1_100, () => atMostDestroyed(stage, 1));
      stage.at(START + 1_990, () => noneAvoided(stage));
    },
  },
  {
    name: 'the hosts of 12 machines fall silent for 300 s, and two of them for 450 s (C2)',
    fleet: 12,
    seconds: START + 500,
    plot: (stage) => {
      stage.at(START, () => outage(stage, 300));
      stage.at(START + 1, () => {
        for (const name of ['a', 'm-2'])
          stage.befall({ name: 'offline', instance: stage.machineOf(name), seconds: 450 });
      });
      noneDestroyed(stage, START, START + 500);
    },
  },
  {
    name: 'lists of a proxy show one of two machines offline for a minute after it is back (C2)',
    fleet: 2,
    seconds: START + 300,
    plot: (stage) => {
      stage.at(START, () => stage.befall({ name: 'offline', instance: stage.machineOf('a'), seconds: 5 }));
      // A list of its own, which the service does not allow within a second of one of the operator.
      stage.at(START + 4, () => void keepShowing(stage, 90));
      noneDestroyed(stage, START, START + 300, 'its single read shows it running');
    },
  },
  {
    name: 'containers of 40 machines end, three in each list, and all run again (C2)',
    fleet: 40,
    seconds: START + 900,
    plot: (stage) => {
      for (const [index, name] of namesOf(40).entries())
        stage.at(START + 100 + stepOf(index), () => strike(stage, name, 'exited', 300));
      noneDestroyed(stage, START, START + 900);
    },
  },
  {
    name: 'containers of 40 machines end at once, and run again, one in each list (C2)',
    fleet: 40,
    seconds: START + 1_000,
    plot: (stage) => {
      stage.at(START + 100, () => {
        for (const [index, name] of namesOf(40).entries()) strike(stage, name, 'exited', 300 + 10 * index);
      });
      noneDestroyed(stage, START, START + 1_000);
    },
  },
  ...SURVIVED.map(
    ({ fleet, seconds }): Story => ({
      name: `the hosts of ${fleet} machines fall silent for ${seconds} s, and all come back (C2, H1)`,
      fleet,
      seconds: START + seconds + 200,
      plot: (stage) => {
        stage.at(START, () => outage(stage, seconds));
        noneDestroyed(stage, START, START + seconds + 200);
      },
    }),
  ),
];
