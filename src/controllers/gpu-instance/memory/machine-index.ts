import type { AccountSession } from '../../../accounts/session.ts';
import type { CompleteList } from '../../../marketplace/feed/feed-state.ts';
import type { PurchaseConstants } from '../../../ownership/constants.ts';
import { whose } from '../../../ownership/ours.ts';
import type { ListedMachine } from '../views.ts';

type ByUid = ReadonlyMap<string, readonly ListedMachine[]>;

const NONE: readonly ListedMachine[] = [];

/** Machines by the uid in their label, worked out once per list however many objects ask. */
export class MachineIndex {
  readonly #constants: PurchaseConstants;
  readonly #indexes = new WeakMap<CompleteList, ByUid>();

  constructor(constants: PurchaseConstants) {
    this.#constants = constants;
  }

  /** Rows whose verified label names this uid, lowest id first. */
  labelled(session: AccountSession, list: CompleteList, uid: string): readonly ListedMachine[] {
    let index = this.#indexes.get(list);
    if (!index) {
      index = this.#build(session, list);
      this.#indexes.set(list, index);
    }
    return index.get(uid) ?? NONE;
  }

  #build(session: AccountSession, list: CompleteList): ByUid {
    const index = new Map<string, ListedMachine[]>();
    const context = { identity: session.identity, login: session.login, constants: this.#constants };
    for (const row of [...list.rows.values()].sort((left, right) => left.id - right.id)) {
      const ownership = whose(row, context);
      if (!('facts' in ownership)) continue;
      const machines = index.get(ownership.facts.uid);
      if (machines) machines.push({ row, ownership });
      else index.set(ownership.facts.uid, [{ row, ownership }]);
    }
    return index;
  }
}
