import { abandon } from './acts.ts';
import { answered, type Stage } from './stage.ts';
import type { Story } from './story.ts';

/** Machines run, and lists follow one another every ten seconds. */
const AT_WORK = 150;

/** The forms in which the marketplace says that there is no such machine. */
const ABSENT = {
  'names no machine': answered({ instances: null }),
  'answers 404': answered({ success: false, error: 'no_such_instance', msg: 'No such instance.' }, 404),
} as const;
type Absent = keyof typeof ABSENT;
const ABSENCES = ['names no machine', 'answers 404'] as const;

/** Makes the next reads of machines find none. */
function readsFindNothing(stage: Stage, seconds: number, absent: Absent = 'answers 404'): void {
  stage.cast({ call: 'read', seconds, fate: ABSENT[absent] });
}

/** Sets the tolerance for silent hosts, and disables the breaker. */
function tolerateFor(stage: Stage, silence: string): void {
  stage.users.account.set({ maxUnhealthy: '100%' });
  stage.users.setTolerance('a', silence);
}

/** Lists say that a machine that works does not, and one read finds no machine. */
const WORKING_STORIES: readonly Story[] = [
  ...ABSENCES.map(
    (absent): Story => ({
      name: `two lists say that a machine that works has exited, and one read ${absent}`,
      seconds: 420,
      plot: (stage) =>
        stage.at(AT_WORK, () => {
          const wrong = { field: 'actual_status', change: 'set', value: 'exited' } as const;
          stage.wrong({ endpoint: 'list', ...wrong, instance: stage.machineOf('a'), count: 2 });
          stage.strike({ call: 'read', fate: ABSENT[absent] });
        }),
    }),
  ),
  {
    name: 'lists say for a minute that the host of a machine that works is offline, and reads find no machine',
    seconds: 420,
    plot: (stage) =>
      stage.at(AT_WORK, () => {
        tolerateFor(stage, '20s');
        const wrong = { field: 'actual_status', change: 'set', value: 'offline' } as const;
        const instance = stage.machineOf('a');
        stage.cause({ name: 'wrong-field', endpoint: 'list', ...wrong, instance, seconds: 60, count: 100 });
        readsFindNothing(stage, 90);
      }),
  },
  {
    name: 'the host of a machine is silent for three minutes, reads find no machine meanwhile, and it comes back',
    seconds: 600,
    plot: (stage) =>
      stage.at(AT_WORK, () => {
        tolerateFor(stage, '60s');
        stage.befall({ name: 'offline', instance: stage.machineOf('a'), seconds: 180 });
        readsFindNothing(stage, 200, 'names no machine');
        for (const call of ['destroy', 'rent'] as const)
          stage.forbid({ call, seconds: 200, why: 'lists show the machine that reads do not find' });
      }),
  },
];

/** Reads find no machine after its destroy was answered, and lists show it: it bills. */
const DESTROYED_STORIES: readonly Story[] = [
  {
    name: 'an object is deleted, its destroy is answered and ignored, and reads find no machine for two minutes',
    seconds: 420,
    plot: (stage) =>
      stage.at(AT_WORK, () => {
        stage.cause({ name: 'delete-ignored', count: 2 });
        readsFindNothing(stage, 120);
        stage.users.delete('a');
      }),
  },
  {
    name: 'a machine is replaced, its destroy is answered and ignored, and reads find no machine for two minutes',
    seconds: 600,
    plot: (stage) =>
      stage.at(AT_WORK, () => {
        stage.cause({ name: 'delete-ignored', count: 2 });
        stage.users.setImage('a', 'example/work:2');
        stage.after(5, () => readsFindNothing(stage, 120));
      }),
  },
  {
    name: 'a machine that no object claims is destroyed although its reads find none for a minute',
    sweeps: true,
    seconds: 900,
    plot: (stage) =>
      stage.at(AT_WORK, () => {
        readsFindNothing(stage, 60);
        abandon(stage, 'a');
      }),
  },
];

/** Reads find no machine of a purchase whose reply was lost or is doubted, and lists show it. */
const BOUGHT_STORIES: readonly Story[] = [
  {
    name: 'the reply to a rent call is lost, lists show its machine, and reads find none for two minutes',
    seconds: 420,
    plot: (stage) => {
      stage.strike({
        call: 'rent',
        fate: { loseResponse: true },
        meanwhile: () => {
          readsFindNothing(stage, 120);
          stage.after(0.001, () =>
            stage.forbid({ call: 'rent', seconds: 300, why: 'lists show the machine of the purchase' }),
          );
        },
      });
    },
  },
  {
    name: 'an object is deleted whose rent reply was lost, lists show its machine, and reads find none for two minutes',
    seconds: 420,
    plot: (stage) => {
      stage.strike({
        call: 'rent',
        fate: { loseResponse: true },
        meanwhile: () => readsFindNothing(stage, 120),
      });
      stage.at(30, () => stage.users.delete('a'));
    },
  },
];

/** A read that finds no machine while complete lists show it proves nothing: no machine ends, no record is dropped. */
export const CONTRADICTED_STORIES: readonly Story[] = [
  ...WORKING_STORIES,
  ...DESTROYED_STORIES,
  ...BOUGHT_STORIES,
];
