import { labelOwn } from './acts.ts';
import { HIGHEST_PRICED_OFFER } from './market.ts';
import type { Story } from './story.ts';

const GROUP = 'group';

/** Lives in which the swarm once found a promise broken. Its seeds draw others since, and these stay. */
export const FOUND_STORIES: readonly Story[] = [
  {
    name: 'a process dies, an object is deleted, and the next process destroys at once',
    seconds: 300,
    plot: (stage) =>
      stage.at(100, () => {
        stage.killAll();
        stage.users.delete('a');
      }),
  },
  {
    name: 'a machine that a person rents without a label may be the very first purchase, whose answer is lost',
    seconds: 500,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { loseRequest: true } });
      stage.at(8, () => void stage.users.console.rent(HIGHEST_PRICED_OFFER, undefined));
      stage.at(240, () => labelOwn(stage));
      stage.at(400, () => stage.users.delete('a'));
    },
  },
  {
    name: 'objects come and go while a replica waits for the lease',
    seconds: 800,
    asksMemory: true,
    plot: (stage) => {
      stage.world.startProcess();
      stage.at(40, () => stage.users.createInstance('b'));
      stage.at(120, () => stage.users.delete('b'));
    },
  },
  {
    name: 'the load of a group falls, and minutes later the machine of its cheaper worker stops working',
    seconds: 900,
    group: { load: 200 },
    plot: (stage) => {
      stage.at(150, () => stage.users.groups.setLoad(GROUP, 100));
      stage.at(485, () => {
        const [cheaper = ''] = stage.users.names();
        stage.befall({ name: 'exited', instance: stage.machineOf(cheaper) });
      });
    },
  },
];
