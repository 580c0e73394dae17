import { type Reason, reasons } from '../../../api/v1alpha1/reasons.ts';
import { machineCost } from '../../../instance/cost.ts';
import { formatDollars } from '../../../lib/money.ts';
import type { Finding } from '../conditions.ts';
import { backoffMs, decision } from '../decision.ts';
import type { Facts } from '../facts.ts';
import { destroyRepeatsAt, goneProof } from '../gone.ts';
import { avoidTarget, endedFields } from '../history.ts';
import { carriedFields } from '../machine-fields.ts';
import type { Decision, Step } from '../types.ts';
import type { DestroyMark } from '../views.ts';
import { type EndWish, whyOf } from './end-wish.ts';
import { heldBack } from './held-back.ts';

/**
 * Ends a recorded machine: destroy, prove gone, then let go of it. Nothing of it begins while something holds
 * it back; once the destroy was answered it is carried through.
 */
export function endMachine(facts: Facts, wish: EndWish): Step {
  const mark = facts.memory.destroys.find((each) => each.instanceId === wish.machine.instanceId);
  if (mark) return awaitGone(facts, wish, mark);
  return heldBack(facts, wish) ?? destroy(facts, wish, 'Replacing');
}

function destroy(facts: Facts, wish: EndWish, reason: 'Replacing' | 'OldMachineNotGone'): Decision {
  const { machine } = wish;
  const wait = facts.memory.destroyNotBefore - facts.steadyNow;
  const failing = facts.memory.destroyFailures >= FAILURES_WORTH_SAYING;
  const atWork = failing ? 'DestroyFailing' : reason;
  const detail = failing
    ? failingDetail(facts, machine.instanceId)
    : `Machine ${machine.instanceId} goes first.`;
  return decision({
    fields: carriedFields(facts),
    finding: endingFinding(wish, atWork, detail),
    actions: wait > 0 ? [] : [{ type: 'destroy', instanceId: machine.instanceId, reason: wish.reason }],
    record: { type: 'status' },
    events:
      wait > 0 || facts.memory.destroyFailures > 0
        ? []
        : [
            {
              type: wish.kind === 'lost' ? 'Warning' : 'Normal',
              reason: wish.reason,
              action: 'Replacing',
              note: `${whyOf(wish)} Machine ${machine.instanceId} is being destroyed.`,
            },
          ],
    look: { afterMs: wait > 0 ? wait : 1000 },
  });
}

/** Why the machine ends stands at Ready: after a crash that is what its end is remembered by. */
function endingFinding(
  wish: EndWish,
  atWork: 'Replacing' | 'OldMachineNotGone' | 'DestroyFailing',
  detail: string,
): Finding {
  return {
    phase: 'Replacing',
    reason: wish.reason,
    detail: wish.detail,
    machine: wish.finding,
    atWork: { reason: atWork, detail },
  };
}

function isSaidToStay({ object }: Facts): boolean {
  return object.status?.conditions?.some(({ reason }) => reason === 'OldMachineNotGone') ?? false;
}

/** How many refused destroys in a row are no longer a hiccup. */
export const FAILURES_WORTH_SAYING = 3;

/** One destroy that does not succeed, with what it costs, and what is missing if that is known. */
export function failingDetail(facts: Facts, instanceId: number): string {
  const { account, object } = facts;
  const price = object.status?.cost?.pricePerHour;
  const lacksKey = facts.accountFacts?.mayDestroy === false && account.outsider === undefined;
  return `Machine ${instanceId} cannot be destroyed${price === undefined ? '' : ` and costs $${price}/h`}.${lacksKey ? NO_KEY : ''}`;
}

const NO_KEY =
  ' The key of its MarketplaceAccount may not destroy, and none that may is kept; keys of other accounts are not used. Put a key with the category instance_write into its Secret.';

function awaitGone(facts: Facts, wish: EndWish, mark: DestroyMark): Step {
  const { machine } = wish;
  const proof = goneProof(facts, machine.instanceId);
  switch (proof.type) {
    case 'gone':
      return ended(facts, wish, mark.endedAt);
    case 'needsRead':
      return { type: 'read', requests: [{ type: 'machine', instanceId: machine.instanceId }] };
    case 'needsLogin':
      return { type: 'read', requests: [{ type: 'loginProof' }] };
    case 'present':
    case 'waiting':
      return stillThere(facts, wish, mark);
  }
}

/** A destroyed machine may be listed for a while; then the destroy is repeated, and the old machine said to stay. */
function stillThere(facts: Facts, wish: EndWish, mark: DestroyMark): Decision {
  const overdueAt = destroyRepeatsAt(facts, mark);
  const isListed =
    facts.list !== undefined &&
    facts.list.begunSteady > overdueAt &&
    facts.list.ids.includes(wish.machine.instanceId);
  if (isListed) return destroy(facts, wish, 'OldMachineNotGone');
  return decision({
    fields: carriedFields(facts),
    finding: endingFinding(
      wish,
      isSaidToStay(facts) ? 'OldMachineNotGone' : 'Replacing',
      `Machine ${wish.machine.instanceId} goes first.`,
    ),
    look: { onList: true, afterMs: Math.max(1000, overdueAt - facts.steadyNow) },
  });
}

/** The machine is gone for certain: into the history with it. */
export function ended(facts: Facts, wish: Omit<EndWish, 'finding'>, endedAt: number): Decision {
  const { machine, reason } = wish;
  const target = avoidTarget(facts, reason);
  const cost = machineCost(facts.object.status, endedAt);
  return decision({
    fields: endedFields(facts, { machine, reason, endedAt }),
    finding: {
      phase: wish.kind === 'limit' ? 'Failed' : 'Replacing',
      reason,
      detail: wish.detail,
      machine: { type: 'none' },
    },
    record: { type: 'status' },
    events: [
      {
        type: 'Normal',
        reason: 'InstanceDestroyed',
        action: 'Destroying',
        note: `Machine ${machine.instanceId} is gone (${reason}); it cost $${formatDollars(cost)}.`,
      },
    ],
    avoid: target ? [{ target, reason }] : [],
    settled: [machine.instanceId],
    ended: { reason, cost },
    look: { afterMs: 0 },
  });
}

/**
 * Why this object itself began to end its machine, by what was recorded before the destroy. The answer to that
 * destroy may be lost with the process; that it was decided is not.
 */
export function reasonOfEnding({ object }: Facts): Reason | undefined {
  const { conditions = [] } = object.status ?? {};
  const atWork = conditions.find(({ type }) => type === 'Reconciling')?.reason;
  if (atWork === undefined || !ENDING.has(atWork)) return undefined;
  const why = conditions.find(({ type }) => type === 'Ready')?.reason;
  return isReason(why) ? why : 'Destroyed';
}

const ENDING: ReadonlySet<string> = new Set(['Replacing', 'OldMachineNotGone', 'DestroyFailing']);

function isReason(text: string | undefined): text is Reason {
  return text !== undefined && Object.hasOwn(reasons, text);
}

/** When a failed destroy is tried again. */
export function destroyRetryMs(facts: Facts): number {
  return Math.min(60_000, backoffMs(facts.memory.destroyFailures, facts.jitter));
}
