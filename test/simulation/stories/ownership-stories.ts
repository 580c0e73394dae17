import { OTHER_INSTALL } from '../foreigners.ts';
import type { Machine } from '../machine.ts';
import { abandon, endInConsole, labelOf, labelOwn, raisePrice } from './acts.ts';
import { CHEAPEST_OFFER, FIRST_MACHINE, HIGHEST_PRICED_OFFER } from './market.ts';
import { answered, type Stage } from './stage.ts';
import type { Story } from './story.ts';

const SECOND_MACHINE = FIRST_MACHINE + 1;
const NAMES = ['a', 'b', 'c', 'd', 'e'];

/** Stops five machines at the same moment. */
function massExit(stage: Stage, { at }: { readonly at: number }): void {
  for (const name of NAMES.slice(1)) stage.users.createInstance(name);
  stage.at(at, () => {
    for (const name of NAMES) stage.befall({ name: 'exited', instance: stage.machineOf(name) });
  });
}

/** Deletes an object whose policy keeps the machine; `before` runs just before that. */
function deleteKept(stage: Stage, policy: 'Stop' | 'Retain', before: () => void = () => {}): void {
  stage.at(90, () => stage.users.setDeletionPolicy('a', policy));
  stage.at(100, () => {
    before();
    stage.users.delete('a');
  });
}

/** Delays a rental by 400 seconds, and prevents other rentals until it is listed. */
function hideLateMachine(stage: Stage): void {
  stage.strike({ call: 'rent', fate: { lateMs: 400_000 } });
  stage.at(10, () => stage.users.setCeiling('a', '0.01'));
  stage.at(500, () => stage.users.setCeiling('a', '2.00'));
}

/** Kills the process. The first three lists of the next one show a machine under another label. */
function mislabelAfterRestart(stage: Stage, instance: number): void {
  stage.killAll();
  stage.wrong({ endpoint: 'list', field: 'label', change: 'set', value: 'other', instance, count: 3 });
}

/** Stories of rentals that the marketplace queues for longer than any timeout (H6). */
const LATE_STORIES: readonly Story[] = [
  {
    name: 'a rent call is carried out after 400 seconds, its offer dearer meanwhile, with a sweeper (H6)',
    seconds: 4_300,
    sweeps: true,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { lateMs: 400_000 } });
      stage.at(10, () => raisePrice(stage, CHEAPEST_OFFER, 600_000));
    },
  },
  {
    name: 'a rent call is carried out after 400 seconds, its offer dearer meanwhile, and orphans are reported (H6)',
    seconds: 4_300,
    mayLeave: true,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { lateMs: 400_000 } });
      stage.at(10, () => raisePrice(stage, CHEAPEST_OFFER, 600_000));
    },
  },
  {
    name: 'a rent call is carried out after 300 seconds, while the next one has brought nothing yet (H6)',
    seconds: 4_600,
    sweeps: true,
    plot: (stage) => {
      stage.strike({ call: 'rent', nth: 1, fate: { lateMs: 300_000 } });
      stage.strike({ call: 'rent', nth: 2, fate: { lateMs: 4_000_000 } });
      stage.at(10, () => raisePrice(stage, CHEAPEST_OFFER, 600_000));
    },
  },
  {
    name: 'a list hides a machine that came late, while the next purchase has brought nothing (H6)',
    seconds: 1_000,
    mayLeave: true,
    plot: (stage) => {
      stage.strike({ call: 'rent', nth: 1, fate: { lateMs: 300_000 } });
      stage.strike({ call: 'rent', nth: 2, fate: { lateMs: 4_000_000 } });
      stage.at(10, () => raisePrice(stage, CHEAPEST_OFFER, 600_000));
      stage.at(395, () => stage.cause({ name: 'lagging-list', seconds: 120, count: 1 }));
    },
  },
  {
    name: 'an account that may rent twice an hour has rented once, and once more by a call that was carried out late (H6)',
    seconds: 1_000,
    flags: { maxRentalsPerHour: 2 },
    mayLeave: true,
    plot: (stage) => {
      stage.strike({ call: 'rent', nth: 1, fate: { lateMs: 300_000 } });
      stage.at(10, () => raisePrice(stage, CHEAPEST_OFFER, 600_000));
      stage.at(600, () => stage.users.createInstance('b'));
    },
  },
  {
    name: 'a rent call is carried out after the window of its label and before it settles (H6)',
    seconds: 4_300,
    sweeps: true,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { lateMs: 182_000 } });
      stage.at(10, () => raisePrice(stage, CHEAPEST_OFFER, 600_000));
    },
  },
  {
    name: 'a rent call is carried out after the window of its label while nothing else can be rented, and its object is deleted (H6)',
    seconds: 4_600,
    sweeps: true,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { lateMs: 400_000 } });
      stage.at(10, () => stage.users.setCeiling('a', '0.01'));
      stage.at(500, () => stage.users.setCeiling('a', '2.00'));
      stage.at(900, () => stage.users.delete('a'));
    },
  },
  {
    name: 'an empty list hides a machine that came late, while its object may rent another (H6)',
    seconds: 1_000,
    mayLeave: true,
    plot: (stage) => {
      hideLateMachine(stage);
      stage.at(600, () => stage.cause({ name: 'empty-list', endpoint: 'list', count: 1 }));
    },
  },
  {
    name: 'three lists after a restart show a machine that came late under another label, while its object may rent another (H6)',
    seconds: 1_000,
    mayLeave: true,
    plot: (stage) => {
      hideLateMachine(stage);
      stage.at(600, () => mislabelAfterRestart(stage, FIRST_MACHINE));
    },
  },
  {
    name: 'three lists after a restart show a machine that came late under another label, while its purchase is open (H6)',
    seconds: 1_000,
    mayLeave: true,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { lateMs: 200_000 } });
      stage.at(240, () => mislabelAfterRestart(stage, FIRST_MACHINE));
    },
  },
  {
    name: 'three lists after a restart show a machine that came late under another label, after the machine of the next purchase ended (H6)',
    seconds: 1_000,
    mayLeave: true,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { lateMs: 300_000 } });
      stage.at(10, () => raisePrice(stage, CHEAPEST_OFFER, 600_000));
      stage.at(400, () => {
        stage.users.setPaused('a', true);
        endInConsole(stage, FIRST_MACHINE);
      });
      stage.at(600, () => {
        stage.users.setPaused('a', false);
        mislabelAfterRestart(stage, SECOND_MACHINE);
      });
    },
  },
  {
    name: 'the answer to a rent call is lost, lists fail until its object is deleted, and three lists after a restart show the machine under another label (H6)',
    seconds: 600,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { loseResponse: true } });
      stage.at(10, () => stage.cast({ call: 'list', seconds: 230, fate: answered({}, 503) }));
      stage.at(220, () => stage.users.delete('a'));
      stage.at(240, () => mislabelAfterRestart(stage, FIRST_MACHINE));
    },
  },
  {
    name: 'the first list after a restart is empty, while a machine that came late is there (H6)',
    seconds: 1_000,
    mayLeave: true,
    plot: (stage) => {
      hideLateMachine(stage);
      stage.at(600, () => {
        stage.cause({ name: 'empty-list', endpoint: 'list', count: 1 });
        stage.killAll();
      });
    },
  },
  {
    name: 'an object is deleted whose rent call is carried out 400 seconds later (H6)',
    seconds: 4_300,
    sweeps: true,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { lateMs: 400_000 } });
      stage.at(100, () => stage.users.delete('a'));
    },
  },
  {
    name: 'two rent calls are carried out minutes after their objects have bought again (H6)',
    seconds: 5_000,
    sweeps: true,
    plot: (stage) => {
      stage.strike({ call: 'rent', nth: 1, fate: { lateMs: 700_000 } });
      stage.strike({ call: 'rent', nth: 2, fate: { lateMs: 500_000 } });
      stage.at(10, () => raisePrice(stage, CHEAPEST_OFFER, 600_000));
      stage.at(300, () => raisePrice(stage, CHEAPEST_OFFER + 1, 600_000));
    },
  },
  {
    name: 'a label is copied to a younger machine, its object is deleted, and the process begins anew (H6)',
    seconds: 4_700,
    sweeps: true,
    plot: (stage) => {
      stage.at(300, () => void stage.users.console.rent(HIGHEST_PRICED_OFFER, labelOf(stage, 'a')));
      stage.at(400, () => stage.users.delete('a'));
      stage.at(500, () => stage.killAll());
    },
  },
  {
    name: 'the machine of an object without its guard begins a hundred seconds after its label, with a sweeper',
    seconds: 400,
    sweeps: true,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { lateMs: 100_000 } });
      stage.at(60, () => abandon(stage, 'a'));
    },
  },
  {
    name: 'lists have a date four minutes ahead for forty seconds while a machine begins that belongs to nothing (H2)',
    seconds: 500,
    sweeps: true,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { lateMs: 100_000 } });
      stage.at(60, () => abandon(stage, 'a'));
      stage.at(95, () => stage.cast({ call: 'list', seconds: 40, fate: { dateOffMs: 244_000 } }));
    },
  },
];

/** Stories of machine ownership, sweeping, and when sweeping must not happen. */
export const OWNERSHIP_STORIES: readonly Story[] = [
  ...LATE_STORIES,
  {
    name: 'a person writes the id of a stranger into the status of an object and deletes it',
    seconds: 300,
    plot: (stage) => {
      stage.at(40, () => void stage.users.console.rent(HIGHEST_PRICED_OFFER, undefined));
      stage.at(60, () => {
        stage.invariants.markHandled('a');
        stage.users.editStatus('a', stage.manualId());
      });
      stage.at(100, () => stage.users.delete('a'));
    },
  },
  {
    name: 'a person writes the id of a machine without a label into the status of an object that awaits an answer, and others are rented by hand',
    seconds: 500,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { loseRequest: true } });
      stage.at(2, () => void stage.users.console.rent(HIGHEST_PRICED_OFFER, undefined));
      stage.at(12, () => {
        stage.invariants.markHandled('a');
        stage.users.editStatus('a', stage.manualId());
      });
      stage.at(60, () => void stage.users.console.rent(HIGHEST_PRICED_OFFER - 1, undefined));
      stage.at(240, () => labelOwn(stage));
      stage.at(260, () => labelOwn(stage));
      stage.at(400, () => stage.users.delete('a'));
    },
  },
  {
    name: 'strangers carry an edited copy of a label, and a true one that is out of date, when its object is deleted',
    seconds: 500,
    plot: (stage) => {
      stage.at(60, () => {
        const edited = labelOf(stage, 'a').replace(/:\d+:(\d+):/, ':999:$1:');
        void stage.users.console.rent(HIGHEST_PRICED_OFFER, edited);
      });
      stage.at(250, () => void stage.users.console.rent(HIGHEST_PRICED_OFFER - 1, labelOf(stage, 'a')));
      stage.at(350, () => stage.users.delete('a'));
    },
  },
  {
    name: 'an object is restored from a backup that is one machine old, and the process restarts',
    seconds: 400,
    plot: (stage) => {
      const backup = stage.backupAt(90, 'a');
      stage.at(100, () => stage.users.setImage('a', 'example/work:2'));
      stage.at(200, () => {
        stage.invariants.byPerson(() => stage.users.restore('a', backup()));
        stage.killAll();
      });
    },
  },
  {
    name: 'an object is removed by force, and a sweeper runs',
    sweeps: true,
    seconds: 200,
    plot: (stage) => stage.at(81, () => abandon(stage, 'a')),
  },
  {
    name: 'an object is removed by force soon after its purchase, another buys, and a sweeper runs',
    sweeps: true,
    seconds: 200,
    plot: (stage) => {
      stage.at(10, () => stage.users.createInstance('b'));
      stage.at(19, () => abandon(stage, 'a'));
    },
  },
  {
    name: 'an object is removed by force, its account is deleted a second after a list shows that, and a sweeper runs',
    sweeps: true,
    seconds: 400,
    plot: (stage) => {
      stage.at(81, () => abandon(stage, 'a'));
      stage.at(90.5, () => stage.users.account.delete());
    },
  },
  {
    name: 'an account is deleted while a machine that no object claims cannot be destroyed, its process dies, and a sweeper runs',
    sweeps: true,
    seconds: 600,
    plot: (stage) => {
      stage.at(81, () => {
        abandon(stage, 'a');
        stage.cast({ call: 'destroy', seconds: 60, fate: answered({ error: 'broken' }, 500) });
      });
      stage.at(105, () => stage.users.account.delete());
      stage.at(125, () => stage.killAll());
    },
  },
  {
    name: 'an object is removed by force, its account is deleted, the destroy is answered and ignored once, and a sweeper runs',
    sweeps: true,
    seconds: 600,
    plot: (stage) => {
      stage.at(81, () => {
        abandon(stage, 'a');
        stage.cause({ name: 'delete-ignored', endpoint: 'destroy', count: 1 });
      });
      stage.at(90.5, () => {
        stage.users.account.delete();
        stage.strike({
          call: 'list',
          nth: 2,
          fate: answered({ instances: [], instances_found: 0 }, 200),
        });
      });
    },
  },
  {
    name: 'an object is removed by force, and the policy is to report it',
    seconds: 200,
    mayLeave: true,
    plot: (stage) => stage.at(81, () => abandon(stage, 'a')),
  },
  {
    name: 'a sweeper freezes until its lease is over, the policy becomes to report, and it thaws with an orphan in its list',
    sweeps: true,
    seconds: 500,
    mayLeave: true,
    plot: (stage) => {
      stage.world.startProcess();
      stage.at(81, () => {
        abandon(stage, 'a');
        // The second sweep is the one that destroys: it has read the account, and freezes before it hears of that.
        const meanwhile = (sweeper: Machine) => {
          stage.freezeIn(0.003, 240)(sweeper);
          stage.after(1, () => stage.users.account.set({ orphanPolicy: 'Report' }));
        };
        stage.strike({ call: 'accounts', nth: 2, meanwhile });
      });
    },
  },
  {
    name: 'all machines of an account stop working in one moment',
    seconds: 3_900,
    plot: (stage) => {
      stage.users.account.set({ maxUnhealthyHold: '5m' });
      massExit(stage, { at: 100 });
    },
  },
  {
    name: 'a host is silent in one list, and the next ones fail until its tolerance is over',
    seconds: 300,
    plot: (stage) => {
      stage.users.setTolerance('a', '20s');
      stage.at(99, () => stage.befall({ name: 'offline', instance: stage.machineOf('a'), seconds: 3 }));
      stage.at(101, () =>
        stage.cast({ call: 'list', seconds: 60, fate: answered({ error: 'broken' }, 500) }),
      );
    },
  },
  {
    name: 'an object is deleted whose machine is to be kept, and a sweeper runs',
    sweeps: true,
    seconds: 400,
    plot: (stage) => deleteKept(stage, 'Retain'),
  },
  {
    name: 'an object is deleted whose machine is to be kept while no process runs, and a sweeper runs',
    sweeps: true,
    seconds: 400,
    plot: (stage) => deleteKept(stage, 'Retain', () => stage.killAll()),
  },
  {
    name: 'an object is deleted whose machine is to be kept, while its key is refused for minutes, and a sweeper runs',
    sweeps: true,
    seconds: 600,
    plot: (stage) =>
      deleteKept(stage, 'Retain', () => {
        stage.killAll();
        stage.cause({ name: 'revoked-key', seconds: 200 });
      }),
  },
  {
    name: 'an object is deleted whose machine is to be kept and stopped, and its host is silent for good',
    seconds: 300,
    plot: (stage) => {
      stage.at(99, () => stage.befall({ name: 'host-death', instance: stage.machineOf('a') }));
      deleteKept(stage, 'Stop');
    },
  },
  {
    name: 'an object adopts a machine that carries the label of another installation',
    seconds: 300,
    plot: (stage) => {
      stage.users.account.set({ adoption: 'Unlabelled' });
      stage.at(40, () => void stage.users.console.rent(HIGHEST_PRICED_OFFER, OTHER_INSTALL));
      stage.at(60, () => stage.users.createAdopting('b', stage.manualId()));
      stage.at(200, () => stage.users.delete('b'));
    },
  },
];
