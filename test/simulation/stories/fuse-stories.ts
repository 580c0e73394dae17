import { fuseIn } from '../deadman/fuse-model.ts';
import type { JsonObject } from '../memory-kube/json.ts';
import { statusAt } from '../status-at.ts';
import type { Stage } from './stage.ts';
import type { Story } from './story.ts';

const LEASED: JsonObject = { ssh: true, lease: { duration: '2h', by: 'SSH' } };

/** Reports an object whose record of fuses differs from the text that its machine was rented with. */
function checkRecord(stage: Stage, name: string): void {
  const id = stage.machineOf(name);
  const fuse = fuseIn(stage.world.market.store.current().tables.contracts[id]?.onstart);
  const { selfEnd } = statusAt(stage.users.backup(name));
  const { lifeSeconds, leaseSeconds } = fuse ?? {};
  const shown = JSON.stringify(selfEnd, ['lifeSeconds', 'leaseSeconds', 'proof']);
  const sent = JSON.stringify({ lifeSeconds, leaseSeconds, proof: 'Unproven' });
  if (fuse === undefined || shown !== sent)
    stage.invariants.report('I7', `machine ${id} was sent the fuse ${sent}, and ${name} shows ${shown}`);
}

/** Rents a second object with fuses, whose process dies during the call to the marketplace. */
function killedRental(name: string, spec: JsonObject, fate: { lateMs?: number }): Story {
  return {
    name,
    seconds: 500,
    plot: (stage) => {
      if (!stage.world.has('selfEnd')) return;
      stage.at(50, () => stage.users.createInstance('b', spec));
      stage.strike({
        ...{ call: 'rent', nth: 2 },
        fate: { loseResponse: true, ...fate },
        meanwhile: (machine) => stage.after(0.1, () => stage.world.crash(machine, 'by SIGKILL')),
      });
      stage.at(490, () => checkRecord(stage, 'b'));
    },
  };
}

/** Machines that can end themselves, and whose rental brought no answer: the intent is the only record of the text. */
export const FUSE_STORIES: readonly Story[] = [
  killedRental(
    'a process dies before the answer to the rental of a machine with a life fuse',
    { maxLifetime: '3h' },
    {},
  ),
  killedRental(
    'a process dies before the answer to the rental of a machine with a lease',
    { ...LEASED, maxLifetime: '3h' },
    {},
  ),
  killedRental(
    'a process dies, and the rental of a machine with a lease is carried out a minute later',
    LEASED,
    { lateMs: 60_000 },
  ),
];
