import type { Fate } from '../network.ts';
import { endInConsole, raisePrice } from './acts.ts';
import { CHEAPEST_OFFER, NO_MACHINES, nothingFor } from './market.ts';
import type { Stage } from './stage.ts';
import type { Story } from './story.ts';

const HOUR_MS = 3_600_000;

/** Moves the wall clock of every process by the given hours. */
function setClocks(stage: Stage, hours: number): void {
  for (const { machine } of stage.world.processes) {
    machine.wallSkewMs += hours * HOUR_MS;
    stage.world.note(`the clock of ${machine.name} jumps by ${hours} h`);
  }
  stage.invariants.clockJumped();
}

const DAY_MS = 24 * HOUR_MS;

/** Creates six objects that may keep machines for a day. */
function sixForADay(stage: Stage): void {
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
    if (name !== 'a') stage.users.createInstance(name);
    stage.users.setPolicies(name, { maxLifetime: '24h', maxTotalCost: '20.00' });
  }
}

const badGateway = (dateOffMs: number): Partial<Fate> => ({
  refusal: { status: 502, body: 'Bad Gateway' },
  dateOffMs,
});

/** `Date` headers that are wrong: of one reply, of one backend, of a cache, of failures, for good (H2). */
const DATE_STORIES: readonly Story[] = [
  {
    name: 'lists fail for twenty seconds with a date two days ahead, and six objects may have machines for a day (H2)',
    seconds: 400,
    plot: (stage) => {
      sixForADay(stage);
      stage.at(150, () => stage.cast({ call: 'list', seconds: 20, fate: badGateway(2 * DAY_MS) }));
    },
  },
  {
    name: 'one good list has a date two days ahead, and six objects may have machines for a day (H2)',
    seconds: 400,
    plot: (stage) => {
      sixForADay(stage);
      stage.at(150, () => stage.strike({ call: 'list', fate: { dateOffMs: 2 * DAY_MS } }));
    },
  },
  {
    name: 'good lists have a date two days ahead for half a minute, and six objects may have machines for a day (H2)',
    seconds: 400,
    plot: (stage) => {
      sixForADay(stage);
      stage.at(150, () => stage.cast({ call: 'list', seconds: 30, fate: { dateOffMs: 2 * DAY_MS } }));
    },
  },
  {
    name: 'lists and reads have a date two days ahead for 75 s, meanwhile a process begins, and an object may have a machine for a day (H2)',
    seconds: 400,
    plot: (stage) => {
      stage.users.setPolicies('a', { maxLifetime: '24h' });
      stage.at(150, () => {
        for (const call of ['list', 'read'] as const)
          stage.cast({ call, seconds: 75, fate: { dateOffMs: 2 * DAY_MS } });
      });
      stage.at(155, () => stage.killAll());
    },
  },
  {
    name: 'a process begins, and its first list has a date two days ahead of a machine that is to be replaced tomorrow (H2)',
    seconds: 400,
    plot: (stage) => {
      sixForADay(stage);
      stage.at(140, () => stage.users.replaceAt('a', DAY_MS));
      stage.at(150, () => {
        stage.killAll();
        stage.strike({ call: 'list', fate: { dateOffMs: 2 * DAY_MS } });
      });
    },
  },
  {
    name: 'lists have a date two days ahead for 100 s, meanwhile a process begins and an object has no machine (H2)',
    seconds: 1_000,
    plot: (stage) => {
      sixForADay(stage);
      stage.at(140, () => {
        stage.cast({ call: 'list', seconds: 100, fate: { dateOffMs: 2 * DAY_MS } });
        stage.users.setImage('a', 'example/work:2');
      });
      stage.at(180, () => stage.killAll());
    },
  },
  {
    name: 'the backend that answers searches is two hours behind, and the answer to the first rent call is lost (H2)',
    seconds: 500,
    plot: (stage) => {
      stage.cast({ call: 'search', seconds: 500, fate: { dateOffMs: -2 * HOUR_MS } });
      stage.strike({ call: 'rent', fate: { loseResponse: true } });
    },
  },
  {
    name: 'the backend that answers searches is two hours ahead, and the answer to the first rent call is lost, with a sweeper (H2)',
    seconds: 500,
    sweeps: true,
    plot: (stage) => {
      stage.cast({ call: 'search', seconds: 500, fate: { dateOffMs: 2 * HOUR_MS } });
      stage.strike({ call: 'rent', fate: { loseResponse: true } });
    },
  },
  {
    name: 'one list has a date two hours ahead, and a rental whose answer is lost is asked for right after it (H2)',
    seconds: 500,
    plot: (stage) => {
      stage.at(59, () => stage.strike({ call: 'list', fate: { dateOffMs: 2 * HOUR_MS } }));
      stage.at(60, () => stage.strike({ call: 'rent', fate: { loseResponse: true } }));
      for (let second = 61; second < 72; second += 1)
        stage.at(second, () => stage.users.createInstance(`b${second}`));
    },
  },
  {
    name: 'a cache serves lists with a date of five minutes ago while the answer to a rent call is missing (H2)',
    seconds: 500,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { loseResponse: true } });
      stage.at(4, () =>
        stage.cast({ call: 'list', seconds: 60, fate: { dateOffMs: -300_000, ageSeconds: 300 } }),
      );
    },
  },
  {
    name: 'a cache serves an empty list of five minutes ago while a rent call is still to be carried out (H2)',
    seconds: 600,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { lateMs: 100_000 } });
      stage.at(95, () =>
        stage.cast({
          call: 'list',
          seconds: 200,
          fate: { ...NO_MACHINES, dateOffMs: -300_000, ageSeconds: 300 },
        }),
      );
    },
  },
  {
    name: 'replies to a destroy and to rent calls have a date two days off, and their object may spend two dollars (H2)',
    seconds: 500,
    plot: (stage) => {
      stage.users.setPolicies('a', { maxTotalCost: '2.00', maxLifetime: '24h' });
      stage.cast({ call: 'destroy', seconds: 500, fate: { dateOffMs: 2 * DAY_MS } });
      stage.cast({ call: 'rent', seconds: 500, fate: { dateOffMs: -2 * DAY_MS } });
      stage.at(100, () => stage.users.setImage('a', 'example/work:2'));
    },
  },
  {
    name: 'the clock of the service is two hours behind ours for good, and an object may have a machine for five minutes (H2)',
    seconds: 700,
    plot: (stage) => {
      stage.world.bornAheadMs = 2 * HOUR_MS;
      stage.users.setPolicies('a', { maxLifetime: '5m' });
    },
  },
  {
    name: 'the clock of the service is two hours ahead of ours for good, and the answer to a rent call is lost (H2)',
    seconds: 500,
    plot: (stage) => {
      stage.world.bornAheadMs = -2 * HOUR_MS;
      stage.strike({ call: 'rent', fate: { loseResponse: true } });
    },
  },
  {
    name: 'our clock is set two days ahead and back again, and six objects may have machines for a day (H2)',
    seconds: 500,
    plot: (stage) => {
      sixForADay(stage);
      stage.at(150, () => setClocks(stage, 48));
      stage.at(200, () => setClocks(stage, -48));
    },
  },
];

/** Wall clocks that are set by an hour while something is waited for. */
export const CLOCK_STORIES: readonly Story[] = [
  ...DATE_STORIES,
  {
    name: 'a clock is set back by an hour after a rent call that was lost on its way',
    seconds: 500,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { loseRequest: true } });
      stage.at(30, () => setClocks(stage, -1));
    },
  },
  {
    name: 'a clock is set ahead by an hour while an object is being deleted whose rent call is still to be carried out',
    seconds: 500,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { lateMs: 100_000 } });
      stage.at(20, () => stage.users.delete('a'));
      stage.at(50.03, () => setClocks(stage, 1));
    },
  },
  {
    name: 'a clock is set back by an hour right after the destroy of a machine whose object is being deleted',
    seconds: 300,
    plot: (stage) => {
      stage.strike({ call: 'destroy', meanwhile: () => stage.after(1, () => setClocks(stage, -1)) });
      stage.at(100, () => stage.users.delete('a'));
    },
  },
  {
    name: 'a clock is set back by an hour right after the destroy of a machine that is being replaced',
    seconds: 400,
    plot: (stage) => {
      stage.strike({ call: 'destroy', meanwhile: () => stage.after(1, () => setClocks(stage, -1)) });
      stage.at(100, () => stage.users.setImage('a', 'example/work:2'));
    },
  },
  {
    name: 'a process begins whose clock is an hour ahead, and an object may have a machine for half an hour',
    seconds: 400,
    plot: (stage) => {
      stage.users.setPolicies('a', { maxLifetime: '30m' });
      stage.at(150, () => {
        stage.world.bornAheadMs = HOUR_MS;
        stage.killAll();
      });
    },
  },
  {
    name: 'a process begins whose clock is an hour ahead, and a machine of an object that may spend thirty cents is stopped in the console',
    seconds: 420,
    plot: (stage) => {
      stage.users.setPolicies('a', { maxTotalCost: '0.30' });
      stage.at(150, () => {
        stage.world.bornAheadMs = HOUR_MS;
        stage.killAll();
      });
      stage.at(200, () => void stage.users.console.stop(stage.machineOf('a')));
    },
  },
  {
    name: 'a clock is set back by an hour while a machine is missing that was ended in the console',
    seconds: 500,
    plot: (stage) => {
      stage.at(100, () => endInConsole(stage, stage.machineOf('a')));
      stage.at(125, () => setClocks(stage, -1));
    },
  },
  {
    name: 'a clock is set ahead by an hour while lists and reads do not show a machine for a moment',
    seconds: 400,
    plot: (stage) => {
      stage.at(100, () => nothingFor(stage, 45));
      stage.at(120.03, () => setClocks(stage, 1));
    },
  },
  {
    name: 'a clock is set back by an hour while a list is read, and a rent call is still to be carried out',
    seconds: 400,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { lateMs: 100_000 } });
      // The next purchase takes another offer, and the first one stays free.
      stage.at(10, () => raisePrice(stage, CHEAPEST_OFFER, 600_000));
      const meanwhile = () => stage.after(0.2, () => setClocks(stage, -1));
      stage.at(45, () => stage.strike({ call: 'list', fate: { requestMs: 500 }, meanwhile }));
    },
  },
  {
    name: 'a clock is set back by an hour, and lists do not show the next machine for longer than a minute',
    // A machine that was given up after the minute would have a successor that still boots.
    seconds: 212,
    plot: (stage) => {
      stage.strike({ call: 'rent', nth: 2, meanwhile: () => nothingFor(stage, 75) });
      stage.at(95, () => setClocks(stage, -1));
      stage.at(100, () => stage.users.setImage('a', 'example/work:2'));
    },
  },
  {
    name: 'a clock is set back by an hour, and another object is wanted where the account has spent its month (I9)',
    seconds: 400,
    mayLeave: true,
    plot: (stage) => {
      stage.at(240, () => setClocks(stage, -1));
      stage.at(260, () => stage.users.account.set({ limits: { maxSpendPerMonth: '0.01' } }));
      stage.at(310, () => stage.users.createInstance('b'));
    },
  },
  {
    name: 'a process begins whose clock is an hour ahead, and another object is wanted that the account can pay for in this month',
    seconds: 600,
    plot: (stage) => {
      stage.users.account.set({ limits: { maxSpendPerMonth: '0.25' } });
      stage.at(150, () => {
        stage.world.bornAheadMs = HOUR_MS;
        stage.killAll();
      });
      stage.at(300, () => stage.users.createInstance('b'));
    },
  },
  {
    name: 'a rent call is lost on its way, and the process dies every two and a half minutes',
    seconds: 720,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { loseRequest: true } });
      for (const second of [150, 300, 450, 600]) stage.at(second, () => stage.killAll());
    },
  },
];
