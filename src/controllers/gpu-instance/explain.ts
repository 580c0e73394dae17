import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';
import type { CompleteList } from '../../marketplace/feed/feed-state.ts';
import type { PurchaseConstants } from '../../ownership/constants.ts';
import type { Identity } from '../../ownership/identity.ts';
import { deriveFacts } from './facts.ts';
import { MachineIndex, ObjectMemory, SteadyClock } from './memory.ts';
import { type OtherObjects, observeSnapshot, type Snapshot } from './observe.ts';
import { decideWithReads, type Reader } from './reads.ts';
import { classify, type Stage } from './stage.ts';
import type { AccountFacts, Decision, Refusal } from './types.ts';

/** What the operator would do with an object now if it saw what was read here. */
export interface Explained {
  readonly stage: Stage;
  readonly decision: Decision;
  /** What the rules read on the way, e.g. `offers`. */
  readonly reads: readonly string[];
}

/** Why an account has no room for a purchase or start. */
interface AccountRefusal {
  readonly reason: Refusal['reason'];
  readonly message: string;
  readonly retryAfterMs: number;
}

/** What an explanation is made of, instead of the caches and the memory of the operator. */
export interface ExplainDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly identity: Identity;
  /** The times that the operator runs with. */
  readonly constants: PurchaseConstants;
  /** The account that the object names, and its only known list. */
  readonly account: AccountFacts;
  readonly list: CompleteList;
  /** Whether the object's namespace may use the account. */
  readonly isAllowed: boolean;
  readonly others: OtherObjects;
  /** Asks the cluster and the marketplace directly. */
  readonly reader: Reader;
  /** What the account answers to the purchase or start of a decision; undefined if it has room. */
  readonly refusalOf: (decision: Decision) => AccountRefusal | undefined;
}

/**
 * Runs the operator's own observe and decide on one object. Nothing is recorded and nothing is done. Rejects as the
 * reader does.
 */
export async function explainInstance(object: GpuInstance, deps: ExplainDeps): Promise<Explained> {
  const { clock, reader, refusalOf } = deps;
  const steady = new SteadyClock(clock);
  const memory = new ObjectMemory();
  const explain = async (): Promise<Explained> => {
    const first = observeSnapshot(object, snapshotOf(deps, steady), { memory, steady });
    const { observed, decision, reads } = await decideWithReads(first, {
      reader,
      clocks: { clock, steady, session: undefined },
      // The operator writes the children: here they count as written.
      publish: async (seen) => {
        const { metadata, status } = seen.object;
        const bindingName = status?.binding?.name ?? `${metadata.name}-connection`;
        return { ...seen, published: { type: 'done', bindingName } };
      },
    });
    return { stage: classify(deriveFacts(observed)), decision, reads };
  };
  const desired = await explain();
  const refusal = refusalOf(desired.decision);
  if (!refusal) return desired;
  const { reason, message: detail, retryAfterMs } = refusal;
  memory.refusedByAccount(steady.now(), retryAfterMs, { reason, detail });
  const refused = await explain();
  return { ...refused, reads: [...desired.reads, ...refused.reads] };
}

/** What the operator would see of the object if this one list were its only one. */
function snapshotOf(deps: ExplainDeps, steady: SteadyClock): Snapshot {
  const { clock, random, constants, identity, isAllowed, others, account, list } = deps;
  const index = new MachineIndex(constants);
  const begunSteady = steady.fromWall(list.begunAt);
  return {
    now: clock.now(),
    jitter: random.next(),
    leaseRemainingMs: Number.POSITIVE_INFINITY,
    constants,
    identity,
    account: {
      type: 'ready',
      session: {
        facts: account,
        list,
        begunSteady,
        listsBegun: [begunSteady],
        absences: (id) => (list.rows.has(id) ? [] : [begunSteady]),
        labelled: (uid) => index.labelled({ identity, login: account.login }, list, uid),
        place: undefined,
      },
    },
    isAllowed,
    others,
  };
}
