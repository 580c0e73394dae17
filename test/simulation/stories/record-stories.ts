import { type JsonObject, objectAt, textAt } from '../memory-kube/json.ts';
import {
  abandon,
  accountNow,
  editIntent,
  endInConsole,
  forget,
  machineOn,
  raisePrice,
  rentToHandOver,
  restoreFromBackup,
  writeIntent,
} from './acts.ts';
import { CHEAPEST_OFFER, HIGHEST_PRICED_OFFER, NO_MACHINES } from './market.ts';
import { answered, type Stage } from './stage.ts';
import type { Story } from './story.ts';

const CANNOT_DECRYPT = { kind: 'Status', status: 'Failure', reason: 'InternalError', code: 500 };

/** Restores the cluster to a moment before that object was created; its machine runs by then. */
function restoreWithout(stage: Stage, name: string): void {
  let account: JsonObject = {};
  stage.at(60, () => {
    account = accountNow(stage);
  });
  stage.at(100, () => stage.users.createInstance(name));
  stage.at(200, () => {
    stage.killAll();
    forget(stage, name, account);
  });
}

/** Stories of records that people changed, restored or duplicated, and of replaced keys. */
export const RECORD_STORIES: readonly Story[] = [
  {
    name: 'a newer operator writes the record of an object, whose image changes while an older one runs',
    seconds: 700,
    plot: (stage) => {
      const former = stage.backupAt(99, 'a');
      stage.at(100, () => stage.users.editRecord('a', '{"v":2,"attempt":1}'));
      stage.at(101, () => {
        const why = 'only the newer operator knows what its record means';
        for (const call of ['rent', 'destroy'] as const) stage.forbid({ call, seconds: 150, why });
        stage.users.setImage('a', 'example/other:2');
      });
      stage.at(260, () => stage.users.editRecord('a', textAt(objectAt(former(), 'status'), 'record') ?? ''));
    },
  },
  {
    name: 'two objects name one machine that a person rented, and are judged in one moment',
    seconds: 300,
    plot: (stage) => {
      stage.users.account.set({ adoption: 'Unlabelled' });
      stage.at(40, () => rentToHandOver(stage, HIGHEST_PRICED_OFFER));
      stage.at(60, () => {
        for (const name of ['b', 'c'])
          stage.users.createAdopting(name, machineOn(stage, HIGHEST_PRICED_OFFER));
      });
      stage.at(200, () => stage.users.delete('c'));
    },
  },
  {
    name: 'an object is removed by force and made anew from a backup while its machine runs',
    seconds: 400,
    plot: (stage) => {
      const backup = stage.backupAt(90, 'a');
      let former = Number.NaN;
      stage.at(100, () => {
        former = stage.machineOf('a');
        abandon(stage, 'a');
      });
      stage.at(110, () => restoreFromBackup(stage, 'a', backup()));
      stage.at(200, () => endInConsole(stage, former));
    },
  },
  {
    name: 'an object is restored from a backup that is older than its purchase, and the first list of the next process is late',
    seconds: 400,
    plot: (stage) => {
      const backup = stage.users.backup('a');
      stage.at(100, () => {
        stage.invariants.byPerson(() => stage.users.restore('a', backup));
        stage.killAll();
        stage.cast({ call: 'list', seconds: 30, fate: { requestMs: 9_000 } });
      });
    },
  },
  {
    name: 'the cluster is restored to a moment before the second of two objects was made, and a sweeper runs',
    sweeps: true,
    seconds: 600,
    plot: (stage) => {
      restoreWithout(stage, 'b');
      stage.at(400, () => stage.users.account.confirmRollback());
    },
  },
  {
    name: 'a machine that a restored cluster has forgotten is left alone, although another is rented and processes restart',
    sweeps: true,
    seconds: 700,
    plot: (stage) => {
      restoreWithout(stage, 'b');
      stage.at(300, () => stage.users.createInstance('c'));
      stage.at(360, () => stage.killAll());
      stage.at(500, () => stage.users.account.confirmRollback());
    },
  },
  {
    name: 'a machine that a restored cluster has forgotten is left alone, although clocks of processes are an hour ahead',
    sweeps: true,
    seconds: 600,
    plot: (stage) => {
      stage.world.bornAheadMs = 3_600_000;
      stage.invariants.clockJumped();
      restoreWithout(stage, 'b');
      stage.at(400, () => stage.users.account.confirmRollback());
    },
  },
  {
    name: 'a machine that a restored cluster has forgotten is left alone, although lists do not show it for a while and reads do',
    sweeps: true,
    seconds: 900,
    plot: (stage) => {
      restoreWithout(stage, 'b');
      stage.at(300, () => stage.users.createInstance('c'));
      stage.at(400, () => stage.cast({ call: 'list', seconds: 135, fate: NO_MACHINES }));
      stage.at(700, () => stage.users.account.confirmRollback());
    },
  },
  {
    name: 'a machine that is listed as kept stays so, although lists do not show it for a while and reads do',
    sweeps: true,
    seconds: 700,
    plot: (stage) => {
      stage.at(100, () => stage.users.account.removeKey());
      stage.at(180, () => {
        stage.users.setDeletionPolicy('a', 'Retain');
        stage.users.delete('a');
      });
      stage.at(260, () => stage.users.account.bringKeyBack());
      stage.at(400, () => stage.cast({ call: 'list', seconds: 135, fate: NO_MACHINES }));
    },
  },
  {
    name: 'a machine that a restored cluster has forgotten is left alone, although a person wrote an intent of a later century',
    sweeps: true,
    seconds: 600,
    plot: (stage) => {
      stage.at(40, () => {
        stage.users.createInstance('forged');
        stage.users.setPaused('forged', true);
        writeIntent(stage, 'forged', JSON.stringify({ attempt: 1, issuedAt: Date.UTC(2100, 0, 1) }));
      });
      restoreWithout(stage, 'b');
      stage.at(390, () => stage.users.delete('forged'));
      stage.at(400, () => stage.users.account.confirmRollback());
    },
  },
  {
    name: 'an object is deleted whose machine is to be kept, while the key of its account has not been read since a process started',
    sweeps: true,
    seconds: 500,
    plot: (stage) => {
      stage.at(100, () => {
        stage.killAll();
        stage.cast({ call: 'keySecret', seconds: 150, fate: answered(CANNOT_DECRYPT, 500) });
      });
      stage.at(120, () => {
        stage.users.setDeletionPolicy('a', 'Retain');
        stage.users.delete('a');
      });
    },
  },
  {
    name: 'objects whose machines are to be kept are deleted before a list shows them, and the account cannot be written (I7)',
    seconds: 200,
    plot: (stage) =>
      stage.at(9.9, () => {
        stage.cast({ call: 'accountStatus', seconds: 10, fate: answered(CANNOT_DECRYPT, 500) });
        for (const name of ['a', 'b']) {
          stage.users.setDeletionPolicy(name, 'Retain');
          stage.users.delete(name);
        }
      }),
  },
  {
    name: 'an object is deleted whose machine is to be kept, while the operator has missed the event of its account (I7)',
    sweeps: true,
    seconds: 1_000,
    plot: (stage) => {
      stage.at(100, () => {
        stage.loseFirstObject('marketplaceaccounts', 30);
        stage.killAll();
      });
      stage.at(120, () => {
        stage.users.setDeletionPolicy('a', 'Retain');
        stage.users.delete('a');
      });
    },
  },
  {
    name: 'a person puts back the deadline of an intent whose rent call is still to be carried out, and a process restarts',
    seconds: 400,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { lateMs: 100_000 } });
      let intent = '';
      // The next purchase takes another offer, and the first one stays free.
      stage.at(10, () => raisePrice(stage, CHEAPEST_OFFER, 600_000));
      stage.at(20, () => {
        intent = editIntent(stage, 'a', { deadline: stage.world.now - 3_600_000 });
        stage.killAll();
      });
      stage.at(95, () => writeIntent(stage, 'a', intent));
    },
  },
  {
    name: 'a person gives an account the key of another login, which has no machines, and takes it back',
    seconds: 500,
    plot: (stage) => {
      stage.users.account.set({ adoption: 'Unlabelled' });
      stage.at(40, () => rentToHandOver(stage, HIGHEST_PRICED_OFFER));
      stage.at(60, () => stage.users.createAdopting('b', machineOn(stage, HIGHEST_PRICED_OFFER)));
      stage.at(150, () => {
        const none = {
          instances: [],
          instances_found: 0,
          total_instances: 0,
          next_token: null,
          success: true,
        };
        stage.cast({ call: 'list', seconds: 150, fate: answered(none) });
        stage.cast({ call: 'read', seconds: 150, fate: answered({ instances: null }) });
        stage.cast({ call: 'user', seconds: 150, fate: answered({ id: 999 }) });
        stage.killAll();
      });
    },
  },
  {
    name: 'a service that loses labels carries one rent call out late, and loses the answer to that of another object',
    seconds: 700,
    plot: (stage) => {
      stage.cause({ name: 'label-dropped' });
      stage.at(100, () => {
        stage.users.createInstance('b');
        stage.users.createInstance('c');
        stage.strike({ call: 'rent', nth: 1, fate: { lateMs: 100_000 } });
        stage.strike({ call: 'rent', nth: 2, fate: { loseResponse: true } });
      });
    },
  },
  {
    name: 'a service that loses labels carries one rent call out late, and loses the answer to that of an object of another account of the login',
    seconds: 700,
    plot: (stage) => {
      stage.cause({ name: 'label-dropped' });
      stage.users.second.create('Report');
      stage.at(30, () => stage.users.createInstance('d', { isOfSecond: true }));
      stage.at(100, () => {
        stage.users.createInstance('b');
        stage.users.createInstance('c', { isOfSecond: true });
        stage.strike({ call: 'rent', nth: 1, fate: { lateMs: 100_000 } });
        stage.strike({ call: 'rent', nth: 2, fate: { loseResponse: true } });
      });
    },
  },
];
