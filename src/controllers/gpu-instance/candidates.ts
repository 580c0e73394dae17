import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { RentalIntent } from '../../ownership/intent.ts';
import { decision } from './decision.ts';
import { attemptOf, type Facts } from './facts.ts';
import { goneProof } from './gone.ts';
import type { Confirmation } from './record-proof.ts';
import type { ListView, MemoryView, Step } from './types.ts';

/** Maximum number of remembered candidates; older ones are dropped. */
const MAX_CANDIDATES = 16;

type Candidates = MemoryView['candidates'];

export interface CandidatesInput {
  readonly known: Candidates;
  readonly view: ListView;
  readonly object: GpuInstance;
  /** The newest purchase; undefined before the first. */
  readonly newest: RentalIntent | undefined;
}

/**
 * Returns the unrecorded machines that this or an earlier list showed as the possible result of a purchase, by ID. A
 * later list that lacks one does not prove that the purchase failed.
 */
export function candidatesAfter({ known, view, object, newest }: CandidatesInput): Candidates {
  const shown = [...byLabel(view), ...(newest ? withoutLabel(view, newest) : [])];
  if (shown.length === 0 && known.size === 0) return known;
  const { instanceId, history = [] } = object.status ?? {};
  const recorded = new Set([instanceId, ...history.map((past) => past.instanceId)]);
  const unrecorded = new Map([...known, ...shown].filter(([id]) => !recorded.has(id)));
  return new Map([...unrecorded].slice(-MAX_CANDIDATES));
}

type Entry = readonly [id: string, label: string | undefined];

function byLabel({ labelled }: ListView): readonly Entry[] {
  const own = labelled.filter(({ ownership }) => attemptOf(ownership) !== undefined);
  return own.map(({ row: { id, label } }) => [id, label ?? undefined]);
}

/** Returns the new machines without an owner, if the market does not return labels. */
function withoutLabel({ unowned, doubtful }: ListView, { knownIds }: RentalIntent): readonly Entry[] {
  if (!knownIds) return [];
  const before = new Set(knownIds);
  const fresh = [...unowned, ...doubtful].filter(({ id }) => !before.has(id));
  return fresh.map(({ id }) => [id, undefined]);
}

/**
 * Returns a step that reads a remembered candidate, or waits for it, while it may be a machine of this object;
 * undefined if there is no such candidate. If lists no longer show it, it must be proven gone. If lists show it with
 * another label, a read must agree.
 */
export function awaitCandidates(facts: Pick<Facts, 'machine' | 'clock' | 'memory'>): Step | undefined {
  for (const [id, label] of openCandidates(facts)) {
    const isMissing = (facts.machine.absences.get(id)?.lists.length ?? 0) > 0;
    const confirmation = isMissing ? confirmGone(facts, id) : confirmForeign(facts, [id, label]);
    if (confirmation === 'unconfirmed') return decision({ requeue: { onList: true, afterMs: 30_000 } });
    if (confirmation !== 'confirmed') return confirmation;
  }
  return undefined;
}

/** Returns the candidates that the latest list does not show with their label, and that this object did not end. */
function openCandidates({
  machine: { list, endedIds },
  memory: { candidates },
}: Pick<Facts, 'machine' | 'memory'>): readonly Entry[] {
  const listed = new Set(list?.labelled.map(({ row }) => row.id));
  return [...candidates].filter(([id]) => !listed.has(id) && !endedIds.has(id));
}

function confirmGone(facts: Pick<Facts, 'machine' | 'clock' | 'memory'>, instanceId: string): Confirmation {
  const proof = goneProof(facts, instanceId);
  if (proof.type === 'needsRead') return { type: 'read', requests: [{ type: 'machine', instanceId }] };
  if (proof.type === 'needsLogin') return { type: 'read', requests: [{ type: 'loginProof' }] };
  return proof.type === 'gone' ? 'confirmed' : 'unconfirmed';
}

function confirmForeign(
  { machine: { labelReads } }: Pick<Facts, 'machine'>,
  [instanceId, label]: Entry,
): Confirmation {
  // Without labels only the lists can prove it, and they did.
  if (label === undefined) return 'confirmed';
  const read = labelReads.get(instanceId);
  if (read === undefined) return { type: 'read', requests: [{ type: 'confirmLabel', instanceId }] };
  return typeof read !== 'string' && read.label !== label ? 'confirmed' : 'unconfirmed';
}
