import { endInConsole, machineOn, rentToHandOver } from './acts.ts';
import { FIRST_MACHINE, HIGHEST_PRICED_OFFER, NO_MACHINES, nothingFor } from './market.ts';
import { answered, type Stage } from './stage.ts';
import type { Story } from './story.ts';

const IMAGE = 'example/work:2';

/**
 * Seconds, shorter than the lists of a proof lie apart. What hides a machine from everything for longer than that hides
 * it from the whole proof: the first list begins right after the answer to the destroy.
 */
const BELOW_SPACING = 9;

/** Answers the destroy of the first machine without effect; from then on, `hide` controls what is shown. */
function ignoredDestroy(stage: Stage, hide: () => void): void {
  stage.at(100, () => stage.cause({ name: 'delete-ignored', count: 1 }));
  stage.strike({ call: 'destroy', meanwhile: hide });
  stage.at(101, () => stage.users.setImage('a', IMAGE));
}

/** Answers the destroy of a deleted object without effect, and hides its machine for the given seconds. */
function deleteUnseen(stage: Stage, seconds: number): void {
  stage.at(100, () => stage.cause({ name: 'delete-ignored', count: 1 }));
  stage.strike({
    call: 'destroy',
    meanwhile: () => {
      stage.invariants.hiddenFromProofs(FIRST_MACHINE);
      nothingFor(stage, seconds);
    },
  });
  stage.at(101, () => stage.users.delete('a'));
}

/** Proofs that a machine is gone. */
export const GONE_STORIES: readonly Story[] = [
  {
    name: 'a destroy is answered and ignored, and the next list and a read show nothing',
    seconds: 500,
    plot: (stage) => ignoredDestroy(stage, () => nothingFor(stage, BELOW_SPACING)),
  },
  {
    name: 'a destroy is answered and ignored, and the next two lists, five seconds apart, and a read show nothing',
    seconds: 500,
    plot: (stage) => {
      stage.at(90, () => stage.users.account.set({ pollInterval: '5s' }));
      ignoredDestroy(stage, () => nothingFor(stage, BELOW_SPACING));
    },
  },
  {
    name: 'a destroy is answered and ignored, and for half a minute lists show nothing, though a read would',
    seconds: 500,
    plot: (stage) =>
      ignoredDestroy(stage, () => stage.cast({ call: 'list', seconds: 35, fate: NO_MACHINES })),
  },
  {
    name: 'a destroy is answered and ignored, for half a minute lists show nothing, and reads fail',
    seconds: 500,
    plot: (stage) =>
      ignoredDestroy(stage, () => {
        stage.cast({ call: 'list', seconds: 35, fate: NO_MACHINES });
        stage.cast({ call: 'read', seconds: 40, fate: answered({ error: 'broken' }, 500) });
      }),
  },
  {
    name: 'a destroy is answered and ignored, for half a minute lists show nothing, and reads answer 404 auth_error in words of their own (S7)',
    seconds: 500,
    plot: (stage) =>
      ignoredDestroy(stage, () => {
        stage.cast({ call: 'list', seconds: 35, fate: NO_MACHINES });
        const refused = { success: false, error: 'auth_error', msg: 'Bad API key' };
        stage.cast({ call: 'read', seconds: 40, fate: answered(refused, 404) });
      }),
  },
  {
    name: 'for minutes the service takes the key for that of somebody without machines, and then does not say whose it is',
    seconds: 600,
    plot: (stage) => {
      stage.at(123, () => nothingFor(stage, 140));
      // The account looks at its key every minute; a machine is missing for long enough in between. Who it is, is hidden
      // for longer than the machine.
      stage.at(186, () => stage.cast({ call: 'user', seconds: 80, fate: { loseRequest: true } }));
    },
  },
  {
    name: 'a new machine is in no list and no read for eighty seconds',
    seconds: 400,
    plot: (stage) => {
      stage.strike({
        call: 'rent',
        meanwhile: () => nothingFor(stage, 80),
      });
    },
  },
  {
    name: 'no list shows a new machine until it is given up, and its destroy is answered and ignored',
    seconds: 600,
    plot: (stage) => {
      // Its read shows the label of the purchase: without any proof of the label nothing would be destroyed.
      stage.cast({ call: 'list', seconds: 130, fate: NO_MACHINES });
      stage.cause({ name: 'stuck-loading' });
      stage.cause({ name: 'delete-ignored', endpoint: 'destroy', instance: FIRST_MACHINE, count: 1 });
      stage.strike({
        call: 'destroy',
        meanwhile: () => nothingFor(stage, 5),
      });
    },
  },
  {
    name: 'a machine that was destroyed and proven gone is listed again as running',
    seconds: 400,
    plot: (stage) => {
      stage.at(100, () => stage.cause({ name: 'exited', instance: stage.machineOf('a') }));
      stage.at(115, () => stage.users.setPaused('a', true));
      stage.at(135, () => stage.cause({ name: 'ghost-rows', seconds: 40 }));
      stage.at(200, () => stage.users.setPaused('a', false));
    },
  },
  {
    name: 'a destroy is answered and ignored, nothing shows the machine until it is proven gone, and then lists do again',
    seconds: 500,
    plot: (stage) => {
      ignoredDestroy(stage, () => {
        stage.after(1, () => stage.users.setPaused('a', true));
        nothingFor(stage, 35);
      });
      stage.at(180, () => stage.users.setPaused('a', false));
    },
  },
  {
    name: 'the destroy of a machine beyond its limit is answered and ignored, nothing shows it until it is proven gone, and then lists do again',
    seconds: 500,
    plot: (stage) => {
      stage.users.setPolicies('a', { maxLifetime: '2m' });
      stage.cause({ name: 'delete-ignored', count: 1 });
      stage.strike({ call: 'destroy', meanwhile: () => nothingFor(stage, 35) });
    },
  },
  {
    name: 'the destroy of a deleted object is answered and ignored, nothing shows the machine until the object is gone, and orphans are reported',
    seconds: 500,
    plot: (stage) => {
      deleteUnseen(stage, 60);
    },
  },
  {
    name: 'the same, and another process leads when the machine is listed again',
    seconds: 600,
    plot: (stage) => {
      deleteUnseen(stage, 100);
      stage.at(180, () => stage.killAll());
    },
  },
  {
    name: 'nothing shows a machine for two minutes, and it is listed again when its object may buy another',
    seconds: 500,
    plot: (stage) => {
      stage.at(100, () => {
        stage.users.setPaused('a', true);
        nothingFor(stage, 120);
      });
      stage.at(260, () => stage.users.setPaused('a', false));
      stage.at(300, () => endInConsole(stage, FIRST_MACHINE));
    },
  },
  {
    name: 'a destroy is answered and ignored, and a person writes another machine into the status',
    seconds: 500,
    plot: (stage) => {
      stage.at(40, () => rentToHandOver(stage, HIGHEST_PRICED_OFFER));
      ignoredDestroy(stage, () =>
        stage.after(4, () => stage.users.editStatus('a', machineOn(stage, HIGHEST_PRICED_OFFER))),
      );
    },
  },
  {
    name: 'a machine that was rented late takes the only place of an account, and another process leads',
    seconds: 700,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { lateMs: 301_000 } });
      stage.at(20, () => stage.users.account.set({ limits: { maxPricePerHour: '0.01' } }));
      stage.at(30, () => stage.users.createInstance('b'));
      stage.at(420, () => stage.users.account.set({ limits: { maxInstances: 1 } }));
      stage.at(450, () => stage.killAll());
      // The first sweep of the new process waits for its read of the objects.
      stage.at(451, () => stage.strike({ call: 'objects', fate: { responseMs: 20_000 } }));
      stage.at(540, () => stage.users.delete('a'));
      stage.at(550, () => stage.users.account.set({ limits: {} }));
    },
  },
  {
    name: 'a machine of an older purchase appears later than anybody could expect',
    sweeps: true,
    seconds: 900,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { lateMs: 175_000 } });
      stage.at(1, () => stage.cause({ name: 'lagging-list', seconds: 40 }));
    },
  },
  {
    name: 'a host is silent for half a minute',
    seconds: 300,
    plot: (stage) =>
      stage.at(100, () => stage.cause({ name: 'offline', instance: stage.machineOf('a'), seconds: 30 })),
  },
  {
    name: 'for a minute the service names a state that nobody knows',
    seconds: 300,
    plot: (stage) => stage.at(100, () => stage.cause({ name: 'unknown-status', seconds: 60 })),
  },
];
