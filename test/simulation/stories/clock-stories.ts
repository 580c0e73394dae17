import { endInConsole, raisePrice } from './deeds.ts';
import { CHEAPEST_OFFER, nothingFor } from './market.ts';
import type { Stage } from './stage.ts';
import type { Story } from './story.ts';

const HOUR_MS = 3_600_000;

/** The wall clock of every process is set by so many hours. */
function setClocks(stage: Stage, hours: 1 | -1): void {
  for (const { machine } of stage.world.processes) {
    machine.wallSkewMs += hours * HOUR_MS;
    stage.world.tell(`the clock of ${machine.name} jumps by ${hours} h`);
  }
  stage.invariants.clockJumped();
}

/** Wall clocks that are set by an hour while something is waited for. */
export const CLOCK_STORIES: readonly Story[] = [
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
    name: 'a rent call is lost on its way, and the process dies every two and a half minutes',
    seconds: 720,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { loseRequest: true } });
      for (const second of [150, 300, 450, 600]) stage.at(second, () => stage.killAll());
    },
  },
];
