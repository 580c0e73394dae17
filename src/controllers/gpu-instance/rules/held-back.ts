import type { GpuInstanceSpec } from '../../../api/v1alpha1/gpu-instance.ts';
import { annotations } from '../../../api/v1alpha1/names.ts';
import { type Reason, reasons } from '../../../api/v1alpha1/reasons.ts';
import { type Finding, say } from '../conditions.ts';
import { decision } from '../decision.ts';
import type { Facts } from '../facts.ts';
import { carriedFields } from '../machine-fields.ts';
import type { Decision, Step, Verdict } from '../types.ts';
import { type EndWish, whyOf } from './end-wish.ts';
import { seenFields } from './machine-finding.ts';

/** What forbids to end a machine now, for people. */
export interface HeldBackBy {
  readonly reason: Reason;
  readonly detail?: string | undefined;
}

const says = (reason: Reason, detail?: string): HeldBackBy => ({ reason, detail });

/** How soon it is looked again whether the end is still held back. */
const LOOK_MS = 60_000;

/** The first thing that forbids to end this machine now. */
export function heldBackBy(facts: Facts, wish: EndWish): HeldBackBy | undefined {
  const { object, account } = facts;
  // A budget that an annotation lifts is none: to keep the machine, raise the limit in the spec.
  if (wish.kind === 'limit') return undefined;
  if (object.metadata.annotations?.[annotations.hold] !== undefined) return says('Held');
  if (object.spec.paused) return says('Paused');
  if (wish.kind === 'lost' && object.spec.replacement.policy === 'Never')
    return says('ReplacementOff', wish.detail);
  if (wish.kind === 'unwanted' && !canRent(object.spec)) return says('ReplacementOff', NOTHING_TO_RENT);
  if (wish.kind === 'unwanted' && account.outsider === 'refused') return says('NamespaceNotAllowed');
  return heldBackByAccount(facts, wish);
}

function heldBackByAccount({ account, uid }: Facts, { kind }: EndWish): HeldBackBy | undefined {
  if (account.state !== 'ready') return says('AccountNotReady');
  const { breaker } = account.facts;
  if (breaker.type === 'closed') return undefined;
  const hasTurn = breaker.type === 'slow' && breaker.turn === uid && kind === 'lost';
  return hasTurn ? undefined : says('BreakerOpen', breaker.message);
}

const NOTHING_TO_RENT = 'No other machine can be rented: spec.offers or spec.image is missing.';

/** A machine that was taken over may be all that its object can ever have. */
function canRent({ offers = [], image }: GpuInstanceSpec): boolean {
  return offers.length > 0 && image !== undefined;
}

/** What is shown of a machine that is of no use, or beyond a limit, while its end is held back. */
export function heldBack(facts: Facts, wish: EndWish): Decision | undefined {
  const by = heldBackBy(facts, wish);
  if (!by) return undefined;
  const row = facts.list?.recorded;
  return decision({
    fields: row ? seenFields(facts, row) : carriedFields(facts),
    finding: {
      ...by,
      phase: wish.kind === 'lost' ? 'Lost' : 'Running',
      machine: wish.finding,
      budget: excess(wish),
    },
    look: { afterMs: LOOK_MS },
  });
}

/** A machine that works stays as ready as it is and says what it waits for, or nobody would send it work meanwhile. */
export function sayingWhatWaits(facts: Facts, wish: EndWish, step: Step): Step {
  const by = heldBackBy(facts, wish);
  if (!by || step.type !== 'decision' || !step.status) return step;
  const { fields, verdict } = step.status;
  const afterMs = Math.min(LOOK_MS, step.look.afterMs ?? LOOK_MS);
  return {
    ...step,
    status: { fields, verdict: waiting(verdict, wish, by) },
    look: { ...step.look, afterMs },
  };
}

/** What a person has to see to stands alone, and what holds back the end of a lost machine is said already. */
function waiting(verdict: Verdict, wish: EndWish, { reason, detail }: HeldBackBy): Verdict {
  if (verdict.Stalled || verdict.Ready.reason === reason) return verdict;
  const exceeded = excess(wish);
  const common = {
    ...verdict,
    ...(exceeded && { WithinBudget: say('False', exceeded.reason, exceeded.detail) }),
  };
  const why = whyOf(wish);
  return verdict.Ready.status === 'True'
    ? { ...common, Ready: { ...verdict.Ready, message: `${why} ${say('True', reason, detail).message}` } }
    : { ...common, Reconciling: say('True', reason, `${why} ${detail ?? reasons[reason].sentence}`) };
}

/** The limit or price that the machine is to end for: it is exceeded, whatever holds the end back. */
function excess(wish: EndWish): Finding['budget'] {
  const { reason } = wish;
  return reason === 'LimitReached' || reason === 'PriceRaised' ? { reason, detail: whyOf(wish) } : undefined;
}
