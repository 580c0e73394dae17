import type { Machine } from '../machine.ts';
import type { Stage } from './stage.ts';
import type { Story } from './story.ts';

/** Lists do not show what is younger; a single read does. */
const laggingLists = (stage: Stage, seconds: number): void => stage.cause({ name: 'lagging-list', seconds });

/** Replies to reads that show a foreign label. */
const WRONG_READ = { name: 'wrong-field', endpoint: 'get', field: 'label', change: 'set', value: 'other' };

/** The call that spends, and its outcome. */
export const PURCHASE_STORIES: readonly Story[] = [
  {
    name: 'a rent call is carried out a hundred seconds after its connection broke',
    seconds: 400,
    plot: (stage) => stage.strike({ call: 'rent', fate: { lateMs: 100_000 } }),
  },
  {
    name: 'the answer to a rent call is lost, and lists lag behind the new machine',
    seconds: 400,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { loseResponse: true } });
      laggingLists(stage, 40);
    },
  },
  {
    name: 'a rent call is refused and carried out all the same, and lists lag behind the new machine',
    seconds: 200,
    plot: (stage) => {
      stage.cause({ name: 'error-with-effect', endpoint: 'rent', count: 1 });
      laggingLists(stage, 40);
    },
  },
  {
    name: 'the answer to a rent call is lost, and every list is cut in half until long after',
    seconds: 500,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { loseResponse: true } });
      stage.cause({ name: 'truncated-list', endpoint: 'list', seconds: 300 });
    },
  },
  {
    name: 'the answer to a rent call is lost, reads show another label, its object is deleted, and the first list after a restart is empty',
    seconds: 800,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { loseResponse: true } });
      stage.cause({ ...WRONG_READ, seconds: 400 });
      stage.at(300, () => stage.users.delete('a'));
      stage.at(350, () => {
        stage.cause({ name: 'empty-list', endpoint: 'list', count: 1 });
        stage.killAll();
      });
    },
  },
  {
    name: 'the answer to a rent call is lost, reads show another label, its object is deleted, and the second list after a restart is empty',
    seconds: 800,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { loseResponse: true } });
      stage.cause({ ...WRONG_READ, seconds: 365 });
      stage.at(300, () => stage.users.delete('a'));
      stage.at(350, () => stage.killAll());
      stage.at(365, () => stage.cause({ name: 'empty-list', endpoint: 'list', count: 1 }));
    },
  },
  {
    name: 'the answer to a rent call is lost, reads show another label, its object is deleted, and later lists after a restart show another one',
    seconds: 800,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { loseResponse: true } });
      stage.cause({ ...WRONG_READ, seconds: 365 });
      stage.at(300, () => stage.users.delete('a'));
      stage.at(350, () => stage.killAll());
      stage.at(365, () => stage.cause({ ...WRONG_READ, endpoint: 'list', seconds: 60 }));
    },
  },
  {
    name: 'an object is deleted while its rent call is under way',
    seconds: 200,
    plot: (stage) => {
      const meanwhile = () => stage.after(1, () => stage.users.delete('a'));
      stage.strike({ call: 'rent', fate: { requestMs: 3_000 }, meanwhile });
    },
  },
  {
    name: 'a leader freezes between its intent and its rent call, and thaws when another has long bought',
    seed: 1,
    seconds: 600,
    plot: (stage) => {
      stage.world.startProcess();
      const meanwhile = stage.freezeIn(0.003, 240);
      stage.strike({ call: 'intent', meanwhile });
      // The next purchase takes another offer, and the first one stays free.
      stage.at(100, () => stage.cause({ name: 'offer-gone', endpoint: 'rent', count: 1 }));
    },
  },
  {
    name: 'a follower whose watches lag takes over from a leader that died right after its purchase',
    seconds: 400,
    plot: (stage) => {
      laggingLists(stage, 90);
      const { machine: follower } = stage.world.startProcess();
      const meanwhile = (machine: Machine) => {
        stage.lag(follower.name, 120);
        stage.freezeIn(0.5, 60)(machine);
      };
      stage.strike({ call: 'intent', meanwhile });
    },
  },
  {
    name: 'a user pauses an object while its intent is under way',
    seconds: 200,
    plot: (stage) => {
      const meanwhile = () => stage.after(0.01, () => stage.users.setPaused('a', true));
      stage.strike({ call: 'intent', fate: { requestMs: 50 }, meanwhile });
      stage.at(100, () => stage.users.setPaused('a', false));
    },
  },
  {
    name: 'a service that loses labels loses the answer to a rent call, too',
    seconds: 400,
    plot: (stage) => {
      stage.cause({ name: 'label-dropped' });
      stage.at(100, () => stage.users.createInstance('b'));
      stage.strike({ call: 'rent', nth: 2, fate: { loseResponse: true } });
    },
  },
  ...(['label-cut', 'label-lower-cased'] as const).map((fault) => ({
    name: `a service changes labels (${fault}), and the answer to the rent call of another object is lost`,
    seconds: 400,
    plot: (stage: Stage) => {
      stage.cause({ name: fault });
      stage.at(100, () => stage.users.createInstance('b'));
      stage.strike({ call: 'rent', nth: 2, fate: { loseResponse: true } });
    },
  })),
];
