import { clearFaults } from '../weather.ts';
import { abandon, endInConsole, raisePrice } from './acts.ts';
import { CHEAPEST_OFFER, FIRST_MACHINE, HIGHEST_PRICED_OFFER, NO_MACHINES } from './market.ts';
import { answered, type Stage } from './stage.ts';
import type { Story } from './story.ts';

/** Raises the price of every free offer above every limit. */
function nothingToRent(stage: Stage): void {
  for (let offer = CHEAPEST_OFFER; offer <= HIGHEST_PRICED_OFFER; offer += 1)
    raisePrice(stage, offer, 5_000_000);
}

/** Machines and objects that are gone, and others that only seem to be. */
export const VANISHED_STORIES: readonly Story[] = [
  {
    name: 'a rent call is repeated on its way after its machine was ended in the console, and nothing else can be rented',
    seconds: 400,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { duplicateAfterMs: 9_000 } });
      stage.at(6, () => endInConsole(stage, FIRST_MACHINE));
      stage.at(10.5, () => nothingToRent(stage));
    },
  },
  {
    name: 'an object is deleted, and the destroy of a machine of an older purchase is answered and ignored while lists show nothing',
    sweeps: true,
    seconds: 500,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { lateMs: 175_000 } });
      stage.at(1, () => stage.cause({ name: 'lagging-list', seconds: 40 }));
      const meanwhile = () => stage.cast({ call: 'list', seconds: 35, fate: NO_MACHINES });
      stage.strike({ call: 'destroy', nth: 2, meanwhile });
      stage.at(205, () => {
        clearFaults(stage.world);
        stage.cause({ name: 'delete-ignored', endpoint: 'destroy', instance: FIRST_MACHINE, count: 1 });
      });
      stage.at(209, () => stage.users.delete('a'));
    },
  },
  {
    name: 'an object is removed by force, one list is read, the next ones fail for a minute, and a sweeper runs',
    sweeps: true,
    seconds: 300,
    plot: (stage) => {
      stage.at(99, () => abandon(stage, 'a'));
      stage.at(100.5, () =>
        stage.cast({ call: 'list', seconds: 60, fate: answered({ error: 'broken' }, 500) }),
      );
    },
  },
  {
    name: 'an object is removed by force while the API server restarts and forgets what happened, and a sweeper runs',
    sweeps: true,
    seconds: 300,
    plot: (stage) =>
      stage.at(100, () => {
        stage.world.kube.closeWatches();
        abandon(stage, 'a');
        stage.world.forgetHistory();
      }),
  },
  {
    name: 'three objects are wanted one after the other, each deleted before, where an account may rent twice within an hour',
    seconds: 400,
    mayLeave: true,
    flags: { maxRentalsPerHour: 2 },
    plot: (stage) => {
      stage.at(60, () => stage.users.delete('a'));
      stage.at(120, () => stage.users.createInstance('b'));
      stage.at(180, () => stage.users.delete('b'));
      stage.at(240, () => stage.killAll());
      stage.at(250, () => stage.users.createInstance('c'));
    },
  },
  {
    name: 'an object is deleted while the answer to its rental is lost, and another is wanted where an account may rent once within an hour (I9)',
    seconds: 400,
    mayLeave: true,
    flags: { maxRentalsPerHour: 1 },
    plot: (stage) => {
      const meanwhile = () => stage.users.delete('a');
      stage.strike({ call: 'rent', fate: { loseResponse: true }, meanwhile });
      stage.at(250, () => stage.users.createInstance('b'));
    },
  },
  {
    name: 'of three machines one ends that only one list showed before its object recorded it, and another ends before the first has had its time to boot (I4)',
    fleet: 3,
    // The breaker holds the replacement of both.
    mayLeave: true,
    seconds: 240,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { loseResponse: true } });
      // The record of the machine arrives, and no write after it that would say what the list showed.
      const loseWrites = () => stage.cast({ call: 'status', seconds: 12, fate: { loseRequest: true } });
      const meanwhile = () => {
        stage.after(0.007, loseWrites);
        stage.after(0.5, () => endInConsole(stage, FIRST_MACHINE));
      };
      stage.strike({ call: 'list', nth: 2, meanwhile });
      stage.at(115, () => endInConsole(stage, stage.machineOf('m-3')));
    },
  },
];
