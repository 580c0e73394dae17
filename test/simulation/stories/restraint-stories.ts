import type { JsonObject } from '../memory-kube/json.ts';
import { endInConsole, machineOn, raisePrice, rentToHandOver } from './acts.ts';
import { CHEAPEST_OFFER, HIGHEST_PRICED_OFFER } from './market.ts';
import { answered, type Stage } from './stage.ts';
import type { Story } from './story.ts';

const IMAGE = 'example/work:2';

/** Rents a machine by hand; an object with limits takes it over ten minutes later. */
function takeOverLate(stage: Stage, limits: JsonObject): void {
  stage.users.account.set({ adoption: 'Unlabelled' });
  stage.at(20, () => rentToHandOver(stage, HIGHEST_PRICED_OFFER));
  stage.at(620, () => {
    stage.users.createAdopting('b', machineOn(stage, HIGHEST_PRICED_OFFER));
    stage.users.setPolicies('b', limits);
  });
}

/** Queues the destroy of `a` behind that of `b`, which the marketplace asked to retry later. */
function deleteBehindRefused(stage: Stage): void {
  stage.users.createInstance('b');
  stage.strike({ call: 'destroy', fate: answered({ detail: 'too many requests' }, 429) });
  stage.at(100, () => stage.users.delete('b'));
  stage.at(100.5, () => stage.users.delete('a'));
}

/** Stories of settings by which a person delays the end of a machine or the next rental, or ends the machine. */
export const RESTRAINT_STORIES: readonly Story[] = [
  {
    name: 'machines cost a hundred dollars an hour, and neither the account nor a flag sets a limit (L5)',
    seconds: 120,
    plot: (stage) => {
      for (let offer = CHEAPEST_OFFER; offer <= HIGHEST_PRICED_OFFER; offer += 1)
        raisePrice(stage, offer, 100_000_000);
      for (const name of ['a', 'b', 'c', 'd']) {
        if (name !== 'a') stage.users.createInstance(name);
        stage.users.setCeiling(name, '200.00');
      }
      stage.at(100, () => {
        for (const name of ['a', 'b', 'c', 'd'])
          if (Number.isNaN(stage.machineOf(name))) stage.users.delete(name);
      });
    },
  },
  {
    name: 'a machine is held beyond the time that its object may have one (L4)',
    seconds: 700,
    plot: (stage) => {
      stage.users.setPolicies('a', { maxLifetime: '5m' });
      stage.at(100, () => stage.users.hold('a'));
    },
  },
  {
    name: 'a held object gets another spec',
    seconds: 300,
    plot: (stage) => {
      stage.at(100, () => stage.users.hold('a'));
      stage.at(110, () => stage.users.setImage('a', IMAGE));
      stage.at(200, () => stage.users.liftPolicies('a'));
    },
  },
  {
    name: 'a held object gets another spec, and is to be stopped',
    seconds: 300,
    plot: (stage) => {
      stage.at(100, () => stage.users.hold('a'));
      stage.at(110, () => stage.users.setImage('a', IMAGE));
      stage.at(150, () => stage.users.setPowerState('a', 'Stopped'));
    },
  },
  {
    name: 'an object that may spend a cent is paused and gets another spec while its machine boots',
    seconds: 500,
    plot: (stage) => {
      stage.users.setPolicies('a', { maxTotalCost: '0.01' });
      stage.at(6, () => stage.users.setPaused('a', true));
      stage.at(7, () => stage.users.setImage('a', IMAGE));
    },
  },
  {
    name: 'an object that is updated on deletion gets another spec',
    seconds: 300,
    plot: (stage) => {
      stage.at(100, () => stage.users.setPolicies('a', { updateStrategy: { type: 'OnDelete' } }));
      stage.at(110, () => stage.users.setImage('a', IMAGE));
      stage.at(200, () => stage.users.liftPolicies('a'));
    },
  },
  {
    name: 'the machine of an object that asks first is ended in the console',
    seconds: 500,
    plot: (stage) => {
      stage.at(100, () => stage.users.setPolicies('a', { onVanish: 'Hold' }));
      stage.at(110, () => endInConsole(stage, stage.machineOf('a')));
      stage.at(350, () => stage.users.liftPolicies('a'));
    },
  },
  {
    name: 'an object whose machine may not be replaced loses it to its host, and then to a person',
    seconds: 600,
    plot: (stage) => {
      const replacement = { maxPerHour: 30, policy: 'Never' };
      stage.at(100, () => stage.users.setPolicies('a', { replacement }));
      stage.at(110, () => stage.cause({ name: 'exited', instance: stage.machineOf('a') }));
      stage.at(200, () => endInConsole(stage, stage.machineOf('a')));
      stage.at(450, () => stage.users.liftPolicies('a'));
    },
  },
  {
    name: 'the machine of an object that is being deleted is to be kept while its destroy waits for its turn',
    seconds: 300,
    plot: (stage) => {
      deleteBehindRefused(stage);
      stage.at(101, () => stage.users.setPolicies('a', { deletionPolicy: 'Retain' }));
    },
  },
  {
    name: 'the machine of an object that is being deleted is to be kept, and the watch of the leader lags',
    seconds: 300,
    plot: (stage) => {
      deleteBehindRefused(stage);
      stage.at(100.9, () => stage.lag(stage.world.processes[0]?.machine.name ?? '', 44, 'gpuinstances'));
      stage.at(101, () => stage.users.setPolicies('a', { deletionPolicy: 'Retain' }));
    },
  },
  {
    name: 'the machine of an object that is being deleted is to be kept, and the API server answered before that',
    seconds: 300,
    plot: (stage) => {
      stage.at(100, () => {
        stage.strike({ call: 'object', fate: { requestMs: 10, responseMs: 8_000 } });
        stage.users.delete('a');
      });
      stage.at(104, () => stage.users.setDeletionPolicy('a', 'Retain'));
    },
  },
  {
    name: 'two objects are deleted, and the API server is slow to say right before the first destroy what is wanted',
    seconds: 300,
    fleet: 2,
    plot: (stage) => {
      stage.at(100, () => {
        stage.strike({ call: 'object', fate: { requestMs: 900, responseMs: 900 } });
        stage.users.delete('a');
        stage.users.delete('m-2');
      });
    },
  },
  {
    name: 'an object may have a machine for two minutes',
    seconds: 500,
    plot: (stage) => stage.users.setPolicies('a', { maxLifetime: '2m' }),
  },
  {
    name: 'an object may spend a cent',
    seconds: 500,
    plot: (stage) => stage.users.setPolicies('a', { maxTotalCost: '0.01' }),
  },
  {
    name: 'an object that may have a machine for nine minutes takes one over that is ten minutes old',
    seconds: 800,
    plot: (stage) => takeOverLate(stage, { maxLifetime: '9m' }),
  },
  {
    name: 'an object that may spend eight cents takes a machine over that has cost nine',
    seconds: 800,
    plot: (stage) => takeOverLate(stage, { maxTotalCost: '0.08' }),
  },
];
